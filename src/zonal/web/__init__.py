"""The service of `zonal serve`, its page and the client of `zn.connect`."""
