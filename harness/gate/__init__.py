"""Stops a change that makes runs worse: `limits`, the `baseline`, the `checks` that decide, `outputs` that tell."""
