"""Reads a test log into a map from test id to status, by the rules of the parser each repository is graded with.

Written from the rules of ``swebench`` (MIT), for the twelve Python projects of Verified and their neighbours:
``parse("parse_log_pytest", log, version)``. What a rule looks odd for is kept: the published lists of expected
tests were made with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from harness.errors import UnknownName, UnreadableInput
from suites.swebench.versions import DEFAULT, Version, is_5

StatusMap = dict[str, str]
Parser = Callable[[str, Version], StatusMap]

PASSED, FAILED, ERROR, SKIPPED, XFAIL = "PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL"
STATUSES = (FAILED, PASSED, SKIPPED, ERROR, XFAIL)

_SKIP_COUNT = re.compile(r"\[\d+\]$")
_OPTION = re.compile(r"(.*?)\[(.*)\]")
_COLOUR = re.compile(r"\[(\d+)m")
_CONTROL = dict.fromkeys(range(1, 32))
_SYMPY_HEADER = re.compile(r"_* (.*)\.py:(.*) _*")

_DJANGO_PASS = (" ... ok", " ... OK", " ...  OK")
_DJANGO_VERSION_TEST = "--version is equivalent to version"
_DJANGO_MIGRATION = "Applying sites.0002_alter_domain_unique...test_no_migrations"
_DJANGO_INTERRUPTED = (  # the result of a test whose line another message got into
    re.compile(r"^(.*?)\s\.\.\.\sTesting against Django installed in (?s:.*?) silenced\)\.\nok$", re.MULTILINE),
    re.compile(r"^(.*?)\s\.\.\.\sInternal Server Error: /.*/\nok$", re.MULTILINE),
    re.compile(r"^(.*?)\s\.\.\.\sSystem check identified no issues \(0 silenced\)\nok$", re.MULTILINE),
)


def parse(parser: str, log: str, version: Version = DEFAULT) -> StatusMap:
    """Test id -> status. Raises ``UnknownName`` for a parser this port does not have.

    Raises ``UnreadableInput`` where the parser of that version crashes on a line.
    """
    if parser not in PARSERS:
        raise UnknownName("log parser", parser, PARSERS)
    return PARSERS[parser](log, version)


def parser_for(repo: str) -> str:
    """The parser a repository is graded with. Raises ``UnknownName``."""
    if repo not in PARSER_BY_REPO:
        raise UnknownName("repository", repo, PARSER_BY_REPO)
    return PARSER_BY_REPO[repo]


def _summary_lines(log: str, version: Version) -> Iterator[tuple[str, str]]:
    """(status, id) of every line that begins with a status; an id ends at its first space.

    From 5.x on, ``SKIPPED [3] file:line`` is a count and no test; ``PASSED [100%]`` stays one, since expected
    tests of that name exist.
    """
    for line in log.split("\n"):
        if not line.startswith(STATUSES):
            continue
        words = (line.replace(" - ", " ") if line.startswith(FAILED) else line).split()
        if len(words) > 1 and not _is_skip_count(words[0], words[1], version):
            yield words[0], words[1]


def _is_skip_count(status: str, name: str, version: Version) -> bool:
    return is_5(version) and status == SKIPPED and _SKIP_COUNT.match(name) is not None


def _pytest(log: str, version: Version) -> StatusMap:
    return {name: status for status, name in _summary_lines(log, version)}


def _pytest_options(log: str, version: Version) -> StatusMap:
    """As pytest, and an option that is an absolute path is cut to its last part."""
    found: StatusMap = {}
    for status, name in _summary_lines(log, version):
        match = _OPTION.search(name)
        if match is not None:
            main, option = match.groups()
            if option.startswith("/") and not option.startswith("//") and "*" not in option:
                option = "/" + option.rpartition("/")[2]
            name = f"{main}[{option}]"
        found[name] = status
    return found


def _pytest_v2(log: str, version: Version) -> StatusMap:
    """As pytest without colours, and also ``id STATUS``; from 5.x on an id may hold spaces."""
    found: StatusMap = {}
    for raw in log.split("\n"):
        line = _COLOUR.sub("", raw).translate(_CONTROL)
        if line.startswith(STATUSES):
            if line.startswith(FAILED):
                line = line.split(" - ", 1)[0] if is_5(version) else line.replace(" - ", " ")
            words = line.split()
            if len(words) > 1 and not _is_skip_count(words[0], words[1], version):
                found[" ".join(words[1:]) if is_5(version) else words[1]] = words[0]
        elif line.endswith(STATUSES):
            words = line.split()
            if len(words) > 1:
                name, status = (" ".join(words[:-1]), words[-1]) if is_5(version) else (words[0], words[1])
                found[name] = status
    return found


def _matplotlib(log: str, version: Version) -> StatusMap:
    """As pytest, with the numbers that stand for two mouse buttons."""
    return _pytest(log.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3"), version)


def _seaborn(log: str, version: Version) -> StatusMap:
    """``FAILED id``, ``PASSED id`` or ``id PASSED``; skipped tests are not read."""
    found: StatusMap = {}
    for line in log.split("\n"):
        words = line.split()
        if len(words) < 2:
            if not is_5(version) and (line.startswith((FAILED, PASSED)) or f" {PASSED} " in line):
                raise UnreadableInput(f"parse_log_seaborn of {version} crashes on the line {line!r}")
            continue
        if line.startswith(FAILED):
            found[words[1]] = FAILED
        elif f" {PASSED} " in line:
            if words[1] == PASSED:
                found[words[0]] = PASSED
        elif line.startswith(PASSED):
            found[words[1]] = PASSED
    return found


def _sympy(log: str, version: Version) -> StatusMap:
    """``test_name ok``, ``F`` or ``E``, and the headers above failures."""
    del version  # the same in all of them
    found: StatusMap = {}
    lines = log.split("\n")
    for line in lines:
        if ".py:" in line:
            found |= {f"{file}.py:{name}": FAILED for file, name in _SYMPY_HEADER.findall(line)}
    for line in (line.strip() for line in lines):
        if not line.startswith("test_"):
            continue
        for ending, status in ((" E", ERROR), (" F", FAILED), (" ok", PASSED)):
            if line.endswith(ending):
                found[line.split()[0]] = status
    return found


def _django(log: str, version: Version) -> StatusMap:
    """``name ... ok`` and its relatives; a docstring line replaces the name, headers add a short one."""
    found: StatusMap = {}
    open_test: str | None = None
    for raw in log.split("\n"):
        line = raw.strip()
        if _DJANGO_VERSION_TEST in line:
            found[_DJANGO_VERSION_TEST] = PASSED
        if " ... " in line:
            open_test = line.split(" ... ")[0]
        ending = next((ending for ending in _DJANGO_PASS if line.endswith(ending)), None)
        if ending is not None:
            if line.startswith(_DJANGO_MIGRATION):
                line = line.split("...", 1)[1].strip()
            found[line.rsplit(ending, 1)[0]] = PASSED
        found |= _django_other(line, version)
        if line.startswith("ok") and open_test is not None:
            found[open_test] = PASSED
    for pattern in _DJANGO_INTERRUPTED:
        found |= {match.group(1): PASSED for match in pattern.finditer(log)}
    return found


def _django_other(line: str, version: Version) -> StatusMap:
    """What one line says of a test that did not simply pass."""
    found: StatusMap = {}
    if " ... skipped" in line:
        found[line.split(" ... skipped")[0]] = SKIPPED
    for word, status in (("FAIL", FAILED), ("ERROR", ERROR)):
        if line.endswith(f" ... {word}"):
            found[line.split(f" ... {word}")[0]] = status
        if line.startswith(f"{word}:"):
            words = line.split()
            if len(words) < 2:
                raise UnreadableInput(f"parse_log_django of {version} crashes on the line {line!r}")
            found[words[1]] = status
    return found


PARSERS: dict[str, Parser] = {
    "parse_log_pytest": _pytest,
    "parse_log_pytest_options": _pytest_options,
    "parse_log_pytest_v2": _pytest_v2,
    "parse_log_django": _django,
    "parse_log_seaborn": _seaborn,
    "parse_log_sympy": _sympy,
    "parse_log_matplotlib": _matplotlib,
    **{
        f"parse_log_{name}": _pytest
        for name in ("astroid", "flask", "marshmallow", "pvlib", "pyvista", "sqlfluff", "xarray")
    },
    **{f"parse_log_{name}": _pytest_options for name in ("pydicom", "requests", "pylint")},
    **{f"parse_log_{name}": _pytest_v2 for name in ("astropy", "scikit", "sphinx")},
}
PARSER_BY_REPO = {
    "astropy/astropy": "parse_log_pytest_v2",
    "django/django": "parse_log_django",
    "marshmallow-code/marshmallow": "parse_log_pytest",
    "matplotlib/matplotlib": "parse_log_matplotlib",
    "mwaskom/seaborn": "parse_log_seaborn",
    "pallets/flask": "parse_log_pytest",
    "psf/requests": "parse_log_pytest_options",
    "pvlib/pvlib-python": "parse_log_pytest",
    "pydata/xarray": "parse_log_pytest",
    "pydicom/pydicom": "parse_log_pytest_options",
    "pylint-dev/astroid": "parse_log_pytest",
    "pylint-dev/pylint": "parse_log_pytest_options",
    "pytest-dev/pytest": "parse_log_pytest",
    "pyvista/pyvista": "parse_log_pytest",
    "scikit-learn/scikit-learn": "parse_log_pytest_v2",
    "sphinx-doc/sphinx": "parse_log_pytest_v2",
    "sqlfluff/sqlfluff": "parse_log_pytest",
    "sympy/sympy": "parse_log_sympy",
}
