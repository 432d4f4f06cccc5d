"""A study in a file: encoding, the journal, export, and checking it by deciding again."""
