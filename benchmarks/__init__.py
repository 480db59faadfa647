"""Measured promises. A package, so that a benchmark may use the made runs of the tests."""
