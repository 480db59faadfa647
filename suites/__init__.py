"""One folder a benchmark: its tasks, the scorer, the judge contract."""
