"""Builds the environment of an instance once: interpreter, packages and the repository as a git commit.

Needs a network (package registry). What it leaves in the cache folder is read-only for everybody after that.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import EnvironmentFailed
from suites.swebench.sdist.instances import Instance

LAYOUT = 1  # part of the folder name; raise it when what is built changes
SECONDS = 1_800.0
OLD_PIP = {"3.6": "21.3.1", "3.7": "24.0"}  # the last release for that interpreter
IDENTITY = ("-c", "user.name=builder", "-c", "user.email=builder@localhost", "-c", "commit.gpgsign=false")
KEPT = (
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
)


@dataclass(frozen=True, slots=True)
class Built:
    """A finished environment: ``repo`` (git tree at the base), ``venv``, and the seconds its build took."""

    repo: Path
    venv: Path
    python_root: Path
    seconds: float


def build(instance: Instance, cache: Path) -> Built:
    """The environment of the instance, built when it is not in the cache yet.

    Raises ``EnvironmentFailed`` with the end of the output of the step that failed.
    """
    folder = cache / "swebench-sdist" / f"v{LAYOUT}" / instance.build_key
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "lock"):
        done = folder / "done.json"
        if not done.exists():
            begun = time.monotonic()
            root = _build(instance, folder)
            facts = {"seconds": round(time.monotonic() - begun, 1), "python_root": str(root)}
            done.write_text(json.dumps(facts) + "\n", encoding="utf-8")
        facts = json.loads(done.read_text(encoding="utf-8"))
    return Built(folder / "repo", folder / "venv", Path(facts["python_root"]), facts["seconds"])


def find_python(version: str) -> Path:
    """The interpreter of that minor version: on the path, or known to pyenv. Raises ``EnvironmentFailed``."""
    candidates = [found] if (found := shutil.which(f"python{version}")) else []
    if pyenv := shutil.which("pyenv"):
        listed = subprocess.run([pyenv, "prefix", version], capture_output=True, text=True)  # 3.9 -> its newest 3.9.x
        if listed.returncode == 0:
            candidates.append(f"{listed.stdout.strip()}/bin/python{version}")
        root = subprocess.run([pyenv, "root"], capture_output=True, text=True).stdout.strip()
        candidates += sorted(map(str, Path(root, "versions").glob(f"{version}.*/bin/python{version}")))
    for candidate in candidates:
        asked = [candidate, "-c", "import sys; print(sys.executable, '%d.%d' % sys.version_info[:2])"]
        answer = subprocess.run(asked, capture_output=True, text=True)
        if answer.returncode == 0 and answer.stdout.split()[-1] == version:
            return Path(answer.stdout.split()[0])
    raise EnvironmentFailed(f"no Python {version} on the path or in pyenv; `pyenv install {version}` adds it")


def _build(instance: Instance, folder: Path) -> Path:
    for leftover in ("repo", "venv", "download"):  # of a build that was killed
        shutil.rmtree(folder / leftover, ignore_errors=True)
    python = find_python(instance.python)
    _run([str(python), "-m", "venv", str(folder / "venv")], folder, {})
    pip = [str(folder / "venv/bin/python"), "-m", "pip", "--disable-pip-version-check", "--no-input"]
    scm = {"SETUPTOOLS_SCM_PRETEND_VERSION": instance.release}
    if instance.python in OLD_PIP:  # the pip that comes with it gives up at the first release that is too new
        _run([*pip, "install", "-q", f"pip=={OLD_PIP[instance.python]}"], folder, scm)
    for wanted in (instance.extra, instance.packages):  # what the instance pins comes second and wins
        if wanted:
            _run([*pip, "install", "-q", *wanted], folder, scm)
    release = f"{instance.sdist}=={instance.release}"
    # by name: with ":all:" pip would build setuptools and the other build requirements from source too
    _run([*pip, "download", "-q", "--no-deps", "--no-binary", instance.sdist, "-d", "download", release], folder, scm)
    _unpack(next((folder / "download").iterdir()), folder / "repo")
    _commit(folder / "repo", "release")
    _run([*pip, "install", "-q", "-e", "repo"], folder, scm)
    if instance.pins:
        _run([*pip, "install", "-q", *instance.pins], folder, scm)
    _commit(folder / "repo", "installed")  # the install writes into tracked egg-info
    answer = subprocess.run([str(python), "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True)
    return Path(answer.stdout.strip())


def _unpack(archive: Path, target: Path) -> None:
    inner = target.with_name("unpacked")
    shutil.rmtree(inner, ignore_errors=True)
    with tarfile.open(archive) as packed:
        packed.extractall(inner, filter="data")
    (only,) = inner.iterdir()
    only.rename(target)
    inner.rmdir()


def _commit(repo: Path, message: str) -> None:
    if not (repo / ".git").exists():
        _run(["git", "init", "-q", "-b", "main"], repo, {})
    _run(["git", *IDENTITY, "add", "-A", "-f"], repo, {})
    _run(["git", *IDENTITY, "commit", "-q", "--allow-empty", "-m", message], repo, {})


def _run(command: Sequence[str], folder: Path, more: Mapping[str, str]) -> None:
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith("PIP_")}
    try:
        ran = subprocess.run(
            command,
            cwd=folder,
            env={**kept, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise EnvironmentFailed(f"{' '.join(command)} took longer than {SECONDS:.0f} s") from None
    if ran.returncode:
        end = ran.stdout.decode(errors="backslashreplace")[-1_500:]
        raise EnvironmentFailed(f"{' '.join(command)} failed with exit code {ran.returncode}:\n{end}")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)  # two runs must not build the same environment
        yield
