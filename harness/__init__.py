"""Plays long consecutive sessions through context engines and reports what each of them costs and loses."""
