"""Tables: input from files and data frames, and output for people."""

from zonal.io.tables import Table, parse_table, read_table

__all__ = ["Table", "parse_table", "read_table"]
