"""The few properties of upstream's language that its results depend on: JSON text, lengths, truth, blanks."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from agentmem.llm.jsonrepair import JS_BLANKS

_INDEX = re.compile(r"0|[1-9]\d{0,9}")
_MAX_INDEX = 2**32 - 2


def stringify(value: Any) -> str:
    """The compact JSON text of a value: non-ASCII as it is, lone surrogates as escapes, index-like keys first."""
    if isinstance(value, dict):
        pairs = (f"{_quoted(key)}:{stringify(inner)}" for key, inner in ordered(value))
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(stringify, value)) + "]"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return number_text(value)


def ordered(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """The items of an object in the order its keys are enumerated: indices ascending, then the rest as written."""
    index = sorted((int(key), key) for key in value if _INDEX.fullmatch(key) and int(key) <= _MAX_INDEX)
    first = [key for _, key in index]
    return [(key, value[key]) for key in first] + [(k, v) for k, v in value.items() if k not in set(first)]


def number_text(value: float) -> str:
    """A number as it is written in JSON: a double in shortest form."""
    number = float(value)
    if not math.isfinite(number):
        return "null"
    if number == 0:
        return "0"
    if number == int(number) and abs(number) < 1e21:
        return str(int(number)) if abs(number) < 2**53 else _digits(number)
    text = repr(number)
    mantissa, _, exponent = text.partition("e")
    if exponent:
        power = int(exponent)
        if -7 < power < 0:
            return f"{number:.{-power + len(mantissa.replace('-', '').replace('.', '')) - 1}f}"
        return f"{mantissa}e{'+' if power > 0 else '-'}{abs(power)}"
    return text


def _digits(number: float) -> str:
    mantissa, _, exponent = repr(number).partition("e")
    if not exponent:
        return mantissa.removesuffix(".0")
    whole, _, part = mantissa.partition(".")
    return whole + part.ljust(int(exponent), "0")


def units(text: str) -> int:
    """Length in UTF-16 code units."""
    return len(text) + sum(char > "\uffff" for char in text)


def cut(text: str, length: int) -> str:
    """The first ``length`` UTF-16 code units; a negative length counts from the end."""
    if text.isascii() or max(text, default="") <= "\uffff":
        return text[:length]
    data = text.encode("utf-16-le", "surrogatepass")
    stop = 2 * length if length >= 0 else max(0, len(data) + 2 * length)
    return data[:stop].decode("utf-16-le", "surrogatepass")


def trim(text: str) -> str:
    """Without blanks at both ends, a byte order mark being one."""
    return text.strip(JS_BLANKS)


def truthy(value: Any) -> bool:
    """Truth as upstream tests it: empty lists and objects are true, NaN, 0 and empty texts are not."""
    if isinstance(value, list | dict):
        return True
    return bool(value) and value == value


def parse(text: str) -> Any:
    """Strict JSON. Raises ``ValueError``."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _refuse(literal: str) -> Any:
    raise ValueError(f"{literal} is not JSON")


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    try:
        quoted.encode()
    except UnicodeEncodeError:  # lone surrogates
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        quoted = json.dumps(joined, ensure_ascii=False)
        return re.sub(r"[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", quoted)
    return quoted
