"""Long-term memory on one SQLite file: turns (L0), atoms (L1), their keyword and vector indexes, and small states."""
