"""Zonal inside the engines of others: each module speaks the interface of one of them, and is imported by name."""
