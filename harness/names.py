"""Names of ours as file names: legal everywhere, and different for different names."""

from __future__ import annotations

import hashlib
import re

LONGEST = 80
_ILLEGAL = re.compile(r"[^A-Za-z0-9._+@=-]+")


def slug(name: str) -> str:
    """A file name for ``name``; a short hash is added wherever it had to be changed."""
    kept = _ILLEGAL.sub("-", name).strip("-.")[:LONGEST]
    if kept == name:
        return name
    return f"{kept or 'name'}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"
