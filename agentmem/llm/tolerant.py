"""Reads one JSON value as language models write it; says whether it was whole.

Accepted beyond RFC 8259: control characters and unescaped quotes inside strings, single-quoted strings, trailing
commas, comments, Python's True/False/None, bare words as object values, and a text that ends too early.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

BLANKS = " \t\n\r"
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_WORD = re.compile(r"[^\s,:{}\[\]\"'`]+")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NAMES: dict[str, Any] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
MAX_DEPTH = 100


class Broken(ValueError):
    """The text is no JSON value, not even a damaged one."""


class _Ended(Exception):
    """The text ended inside a value that cannot be used in part."""


@dataclass(frozen=True, slots=True)
class Value:
    """A value, the index behind its last character, and whether the text held all of it."""

    value: Any
    end: int
    whole: bool


def read_value(text: str, start: int) -> Value:
    """The object or list that begins at ``start``. Strict JSON is read as such.

    A text that ends inside a container gives the elements that were complete, with ``whole`` False.
    Raises ``Broken`` when there is no value there.
    """
    try:
        value, end = STRICT.raw_decode(text, start)
        return Value(value, end, True)
    except (ValueError, RecursionError):
        pass
    reader = _Reader(text, start)
    try:
        value = reader.value(0)
    except _Ended:
        raise Broken("the text ends before its first element") from None
    return Value(value, reader.at, not reader.ended)


def finite(literal: str) -> float:
    """Refuse NaN and Infinity, which Python's reader takes and JSON does not know."""
    raise ValueError(f"{literal} is not JSON")


def _float(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise ValueError(f"{literal} is out of range")
    return number


STRICT = json.JSONDecoder(parse_constant=finite, parse_float=_float)


class _Reader:
    """A recursive descent reader over one text; ``at`` is where it stands."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.ended = False

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise Broken(f"nested deeper than {MAX_DEPTH}")
        self._skip()
        char = self._peek()
        if char == "{":
            return self._object(depth)
        if char == "[":
            return self._list(depth)
        if char in "\"'":
            return self._string(char)
        return self._scalar()

    def _object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}

        def member() -> None:
            quote = self._peek()
            if quote not in "\"'":
                raise Broken(f"no key at {self.at}")
            key = self._string(quote)
            self._skip()
            if self._peek() != ":":
                raise Broken(f"no colon at {self.at}")
            self.at += 1
            self._skip()
            found[key] = self._loose_value(depth)

        self._members("}", member)
        return found

    def _list(self, depth: int) -> list[Any]:
        found: list[Any] = []

        def member() -> None:
            value = self.value(depth + 1)
            if self.ended:
                raise _Ended  # half an element is left out; half a value under a key is kept
            found.append(value)

        self._members("]", member)
        return found

    def _members(self, closer: str, member: Callable[[], None]) -> None:
        """Read members up to the closer; at the end of the text keep what is complete."""
        self.at += 1
        try:
            while True:
                self._skip()
                char = self._peek()
                if char == closer:
                    self.at += 1
                    return
                if char == ",":
                    self.at += 1
                    continue
                member()
                self._skip()
                if self._peek() not in (",", closer):
                    raise Broken(f"neither a comma nor {closer} at {self.at}")
                if self.ended:
                    raise _Ended
        except _Ended:
            self.ended = True
            self.at = len(self.text)

    def _loose_value(self, depth: int) -> Any:
        if self._peek() in ",}":
            return None  # a key without a value
        if self._peek() in "{[\"'":
            return self.value(depth + 1)
        word = _WORD.match(self.text, self.at)
        if word and not _is_scalar(word.group()):
            return self._bare_words()
        return self._scalar()

    def _bare_words(self) -> str:
        start = self.at
        while self._peek() not in ",}]\n":
            self.at += 1
        return self.text[start : self.at].strip()

    def _scalar(self) -> Any:
        word = _WORD.match(self.text, self.at)
        name = word.group() if word else ""
        self.at += len(name)
        if name and self.at == len(self.text) and (_is_scalar(name) or _begins_scalar(name)):
            raise _Ended  # it may go on
        if not _is_scalar(name):
            raise Broken(f"no value at {self.at}")
        if name in _NAMES:
            return _NAMES[name]
        try:
            return STRICT.decode(name)
        except ValueError as error:  # out of range, or thousands of digits
            raise Broken(str(error)) from error

    def _string(self, quote: str) -> str:
        self.at += 1
        out: list[str] = []
        while True:
            char = self._peek()
            if char == "\\":
                out.append(self._escape())
                continue
            self.at += 1
            if char == quote and self._closes():
                return _joined("".join(out))
            out.append(char)

    def _escape(self) -> str:
        self.at += 1
        char = self._peek()
        self.at += 1
        if char == "u":
            digits = self.text[self.at : self.at + 4]
            if re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                self.at += 4
                return chr(int(digits, 16))
            return "\\u"
        if char in "\"'\\/":
            return char
        return _ESCAPES.get(char, "\\" + char)

    def _closes(self) -> bool:
        """A quote ends a string when what follows could stand behind a string."""
        rest = self.at
        while rest < len(self.text) and self.text[rest] in BLANKS:
            rest += 1
        return rest == len(self.text) or self.text[rest] in ",:}]/"

    def _skip(self) -> None:
        while self.at < len(self.text):
            if self.text[self.at] in BLANKS:
                self.at += 1
            elif self.text.startswith("//", self.at):
                line = self.text.find("\n", self.at)
                self.at = len(self.text) if line < 0 else line
            elif self.text.startswith("/*", self.at):
                close = self.text.find("*/", self.at)
                self.at = len(self.text) if close < 0 else close + 2
            else:
                return

    def _peek(self) -> str:
        if self.at >= len(self.text):
            raise _Ended
        return self.text[self.at]


def _is_scalar(word: str) -> bool:
    return word in _NAMES or _NUMBER.fullmatch(word) is not None


def _begins_scalar(word: str) -> bool:
    return any(name.startswith(word) for name in _NAMES) or re.fullmatch(r"-|[-\d.]+[eE]?[-+]?", word) is not None


def _joined(text: str) -> str:
    """Join surrogate pairs that were written as two escapes."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _has_surrogate(text) else text


def _has_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)
