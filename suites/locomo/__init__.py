"""LoCoMo: questions about long conversations, scored by token overlap."""
