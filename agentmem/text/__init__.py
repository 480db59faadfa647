"""Words of a text: what the keyword index stores, what a query asks of it, and where a language has no blanks."""
