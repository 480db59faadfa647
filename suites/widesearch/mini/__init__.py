"""Embedded edition of WideSearch: generated pages behind a frozen index, and the table that they add up to."""
