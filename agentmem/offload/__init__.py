"""Short-term memory: evidence, summaries, task boundaries, canvas, compression, drill-down."""
