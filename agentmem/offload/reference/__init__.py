"""The upstream decisions as pure functions over upstream's own message dictionaries, one stage a file.

Quirks are kept; nothing a caller passes in is changed. The parity tests and the ``published`` policy run on these.
What upstream does wrong, our own stages in ``agentmem.offload`` do otherwise.
"""
