"""A memory core for agents: short-term evidence and canvases, long-term atoms, scenes and a persona."""

__version__ = "0.1.0"
