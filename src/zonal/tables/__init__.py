"""Tables: of files and data frames on the way in, and for people on the way out."""

from zonal.tables.reading import Table, read_table

__all__ = ["Table", "read_table"]
