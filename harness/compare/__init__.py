"""Compare two arms task by task: `pairs` joins them, `comparison` computes everything, `render` prints it."""
