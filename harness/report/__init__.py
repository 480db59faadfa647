"""Reports of finished runs: tables, Markdown, plots."""
