"""Zonal inside the engines of others, and its maps in a field's formats: each module speaks one interface."""
