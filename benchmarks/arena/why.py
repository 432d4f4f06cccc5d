"""Why Zonal loses where it does, by problem or group: the only words of the page that a person writes per result.

The page prints an entry only where the numbers show a loss, and says so where a loss has no entry yet.
"""

WHY: dict[str, str] = {}  # of a key of `problems.GROUPS` or `problems.CASES`
