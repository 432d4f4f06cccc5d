"""The service of `zonal serve`, its page, the report of `zonal report`, and the client of `zn.connect`."""
