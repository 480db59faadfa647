"""AA-LCR: questions over sets of long documents, graded by a judge."""
