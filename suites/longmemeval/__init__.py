"""LongMemEval: questions about a long chat history, graded by a judge."""
