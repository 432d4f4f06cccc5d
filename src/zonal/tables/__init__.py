"""Tables: of files and data frames on the way in, and for people on the way out."""

from zonal.tables.reading import Table, parse_table, read_table

__all__ = ["Table", "parse_table", "read_table"]
