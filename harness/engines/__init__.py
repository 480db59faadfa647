"""The arms: what may stand between an agent's history and the model. One engine a file, found by entry point."""
