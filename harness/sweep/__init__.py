"""Sweeps: one run a cell of a grid of parameters, in parallel, kept by recipe, judged on two halves."""
