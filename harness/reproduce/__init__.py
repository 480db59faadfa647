"""The published table, row by row: as stated, as recomputed, and as measured here under stated settings."""
