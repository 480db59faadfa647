"""What can go wrong while a table is read or graded. Both are a reason to score zero in ``reference`` mode."""

from __future__ import annotations


class TableError(ValueError):
    """A text that should be a table cannot be read as one."""


class EmptyTable(TableError):
    """There is no header to read columns from."""


class GradingError(ValueError):
    """The grading rules of a task cannot be applied: an unknown metric, a missing rule, a bad criterion."""
