"""Agents: what joins model, engine and environment for the length of a task."""
