"""Retrieval benches: how often a memory finds the evidence of a question. No language model takes part."""
