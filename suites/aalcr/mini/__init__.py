"""Embedded edition of AA-LCR: generated documents, questions whose figures stand in several of them."""
