"""Scripted agents of the embedded suites: no model, fixed policies that act only on the text of the prompt."""
