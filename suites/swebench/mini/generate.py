"""Plants bugs: ``generate(seed, count)`` gives that many tasks, the same bytes for the same arguments."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping

from harness.errors import DataError, UsageError
from suites.swebench.mini.domains import Bug, Domain, domains
from suites.swebench.mini.patches import make_patch
from suites.swebench.mini.render import Repository, render
from suites.swebench.mini.tasks import MiniTask


def generate(seed: int, count: int = 50) -> list[MiniTask]:
    """``count`` tasks. Neighbours come from different domains; a bug comes again only when all have been used."""
    if count < 0:
        raise UsageError(f"count must be 0 or more, got {count}")
    pairs = _pairs(random.Random(f"order/{seed}"))
    return [_task(seed, number, *next(pairs)) for number in range(count)]


def _pairs(rng: random.Random) -> Iterator[tuple[Domain, Bug]]:
    """Domains in rounds, each with its next bug, for ever."""
    stock: dict[str, list[Bug]] = {domain.name: [] for domain in domains()}
    order = list(domains())
    while True:
        last = order[-1]
        rng.shuffle(order)
        if order[0] is last:
            order.append(order.pop(0))
        for domain in order:
            if not stock[domain.name]:
                stock[domain.name] = rng.sample(domain.bugs, len(domain.bugs))
            yield domain, stock[domain.name].pop()


def _task(seed: int, number: int, domain: Domain, bug: Bug) -> MiniTask:
    repo = render(domain, random.Random(f"{seed}/{number}/{domain.name}/{bug.kind}"))
    path = repo.sources[bug.module]
    broken = {**repo.files, path: _plant(repo, bug)}
    tests = _test_ids(repo)
    fails = tuple(sorted(_fails(repo, bug)))
    if unknown := set(fails) - set(tests):
        raise DataError(f"embedded tasks: {domain.name}/{bug.kind} names tests that do not exist: {unknown}")
    return MiniTask(
        id=f"mini-{number:03d}-{bug.kind}",
        kind=bug.kind,
        domain=domain.name,
        repo=repo.package,
        problem_statement=f"{repo.fill(bug.title)}\n\n{repo.fill(bug.issue).strip()}\n",
        files=broken,
        gold_patch=make_patch(broken, repo.files),
        fail_to_pass=fails,
        pass_to_pass=tuple(name for name in tests if name not in fails),
        test_command=f"python -m unittest discover -s {repo.test_folder} -t .",
    )


def _plant(repo: Repository, bug: Bug) -> str:
    text = repo.files[repo.sources[bug.module]]
    correct, broken = repo.fill(bug.correct), repo.fill(bug.broken)
    if text.count(correct) != 1:
        raise DataError(
            f"embedded tasks: {bug.module}/{bug.kind}: the place to plant occurs {text.count(correct)} times"
        )
    return text.replace(correct, broken)


def _fails(repo: Repository, bug: Bug) -> Iterator[str]:
    for name in bug.fails:
        role, _, rest = name.partition(".")
        yield f"{_dotted(repo.tests[role])}.{repo.fill(rest)}"


def _test_ids(repo: Repository) -> list[str]:
    """Every test method of the repository, as ``unittest`` names it."""
    files: Mapping[str, str] = {path: repo.files[path] for path in repo.tests.values()}
    return sorted(f"{_dotted(path)}.{name}" for path, text in files.items() for name in _methods(text))


def _methods(text: str) -> Iterator[str]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name.startswith("test"):
                    yield f"{node.name}.{item.name}"


def _dotted(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")
