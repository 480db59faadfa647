"""The scripted agent's words: for every kind of step a thought and a shell command, in the style drawn for a task."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from suites.swebench.mini.view import Frame, Place

Answer = tuple[str, str]

_SEARCHED = re.compile(r"^grep -rnw?E? '(?:\(def\|class\) )?(\w+)'")
_EXPLORES = ("grep -rn", "nl -ba", "cat -n")


def searched_name(command: str) -> str | None:
    """The name a search command looks for; None for other commands."""
    match = _SEARCHED.match(command)
    return match[1] if match else None


def explores(command: str) -> bool:
    """True for commands that show or search source files."""
    return command.startswith(_EXPLORES)


@dataclass(frozen=True)
class Style:
    """How one task is worked on: which of several usual commands is taken for each step."""

    how_list: int
    how_orient: int
    how_run: int
    how_read: int
    how_search: int
    how_edit: int
    how_check: int

    @classmethod
    def draw(cls, rng: random.Random) -> Style:
        """A style at random; some habits are more usual than others."""
        return cls(
            how_list=rng.randrange(3),
            how_orient=rng.choice((0, 1, 2, 3, 4)),
            how_run=rng.choice((0, 0, 1, 2)),
            how_read=rng.choice((0, 1, 2, 3, 3)),
            how_search=rng.choice((0, 1, 2, 2, 2)),
            how_edit=rng.randrange(2),
            how_check=rng.randrange(3),
        )

    def look(self) -> Answer:
        """List the files."""
        return "I start with an overview of the repository.", (
            "find . -type f -name '*.py' -not -name '__init__.py' | sort",
            "find . -type f | sort",
            "find . -name 'test_*.py' | sort",
        )[self.how_list]

    def orientation(self, tests: str) -> Answer:
        """A short look at something that is not code."""
        return (
            ("", ""),
            ("Before I touch anything I read what the project says about itself.", "cat README.md"),
            ("Let me see how the project is set up.", "cat pyproject.toml"),
            ("Something may have changed lately.", "head -n 8 CHANGELOG.md"),
            ("Is there anything in the tests that needs preparation?", f"ls {tests} && cat {tests}/__init__.py"),
        )[self.how_orient]

    def run_tests(self, tests: str) -> Answer:
        """Run the whole suite."""
        extra = ("", " -v", " -f")[self.how_run]
        return (
            f"The tests are in {tests}. I run them all to see whether they show what the report describes.",
            f"python -m unittest discover -s {tests} -t .{extra}",
        )

    def read_test(self, frame: Frame, test: str) -> Answer:
        """Read the imports of the test and what stands around the line that failed."""
        say = f"{test} fails in line {frame.line} of {frame.path}. I read what it does before that."
        if self.how_read in (1, 3):
            return say, f"cat -n {frame.path}"
        return say, f"nl -ba {frame.path} | sed -n '1,9p;{max(10, frame.line - 11)},{frame.line + 2}p'"

    def search(self, name: str) -> Answer:
        """Find a name."""
        return (
            f"`{name}` takes part in this. Where is it defined, and who else uses it?",
            (
                f"grep -rn '{name}' --include='*.py' . | sort | head -n 60",
                f"grep -rn '{name}' . | sort | head -n 60",
                f"grep -rnE '(def|class) {name}' --include='*.py' . | sort",
            )[self.how_search],
        )

    def read_source(self, name: str, path: str, line: int) -> Answer:
        """Read a definition, or the place in a traceback."""
        say = f"`{name}` is in {path}, around line {max(1, line)}. I read that part."
        if self.how_read in (2, 3):
            return say, f"cat -n {path}"
        return say, _window(path, line - 2, line + 24)

    def read_whole(self, path: str) -> Answer:
        """Read a file from beginning to end."""
        return f"The cause must be elsewhere. I read the rest of {path}.", f"cat -n {path}"

    def edit(self, place: Place, new: Sequence[str], test: str) -> Answer:
        """Replace the faulty lines."""
        old = "\n".join(place.lines)
        say = (
            f"Line {place.line} of {place.path} explains why {test} fails:\n\n"
            f"{_quoted(place.lines)}\n\nThat is not what the report expects. I change it to:\n\n{_quoted(new)}"
        )
        if self.how_edit and len(place.lines) == len(new) == 1 and not set(old + new[0]) & set("'|"):
            return say, f"sed -i.bak 's|^{_pattern(old)}$|{_replacement(new[0])}|' {place.path} && rm {place.path}.bak"
        return say, _python_edit(place.path, old, "\n".join(new))

    def check(self, place: Place, new: Sequence[str]) -> Answer:
        """See that the edit is what was meant."""
        around = 0 if self.how_check else 3
        command = _window(place.path, place.line - around, place.line + len(new) - 1 + around)
        return f"I make sure that {place.path} is as I meant it.", command

    def syntax(self, path: str) -> Answer:
        """See that the file can still be read by the interpreter."""
        return "Does it still compile?", (
            f"python -c \"import ast; ast.parse(open('{path}').read()); print('syntax ok')\""
        )

    def retest(self, tests: Sequence[str]) -> Answer:
        """Run only what failed."""
        return "First only what failed before.", f"python -m unittest {' '.join(tests[:3])} 2>&1 | tail -n 4"

    def final_run(self, tests: str) -> Answer:
        """Run everything, and look only at the end."""
        return "Now everything, in case something else depended on it.", (
            f"python -m unittest discover -s {tests} -t . 2>&1 | tail -n 4"
        )


def _window(path: str, first: int, last: int) -> str:
    return f"nl -ba {path} | sed -n '{max(1, first)},{last}p'"


def _quoted(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}".rstrip() for line in lines)


def _pattern(text: str) -> str:
    """A basic regular expression for exactly this text."""
    return re.sub(r"([\\.*\[^$])", r"\\\1", text)


def _replacement(text: str) -> str:
    return re.sub(r"([\\&])", r"\\\1", text)


def _python_edit(path: str, old: str, new: str) -> str:
    return (
        "python - <<'EOF'\n"
        "from pathlib import Path\n\n"
        f'path = Path("{path}")\n'
        f"old = {_literal(old)}\n"
        f"new = {_literal(new)}\n"
        "text = path.read_text()\n"
        'assert text.count(old) == 1, "the lines to replace are not there exactly once"\n'
        "path.write_text(text.replace(old, new))\n"
        'print("replaced in", path)\n'
        "EOF"
    )


def _literal(text: str) -> str:
    """A raw triple-quoted literal where the text allows it, as people write them."""
    for quotes in ("'''", '"""'):
        if quotes not in text and not text.endswith((quotes[0], "\\")):
            return f"r{quotes}{text}{quotes}"
    return repr(text)
