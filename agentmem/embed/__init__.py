"""Vectors for texts: an OpenAI-compatible endpoint, a local model, or hashing as the last resort."""
