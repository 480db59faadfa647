"""WideSearch: one table per question, scored by rows and cells against a gold table."""
