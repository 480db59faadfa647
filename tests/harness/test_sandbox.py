"""Sandboxes with real processes: what is limited, what is invisible, what dies."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from harness.errors import EnvironmentFailed, UnknownName
from harness.protocols import Sandbox
from harness.sandbox import available, opener
from harness.sandbox.docker import Docker
from harness.sandbox.process import run_limited
from harness.types import SandboxSpec

WORKING = [name for name, works in available().items() if works and name != "docker"]
needs_bubblewrap = pytest.mark.skipif(not available()["bubblewrap"], reason="bubblewrap does not work here")


def sandbox(tmp_path: Path, isolation: str, **more: object) -> Sandbox:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    given = {"seconds": 20.0, **more}
    return opener(isolation)(SandboxSpec(work=str(work), inside="/inside/work", **given))  # type: ignore[arg-type]


@pytest.mark.parametrize("isolation", WORKING)
def test_files_last_between_commands_and_nothing_else(tmp_path: Path, isolation: str) -> None:
    box = sandbox(tmp_path, isolation)
    assert box.run("echo kept > note; cd /tmp; export HERE=1").code == 0
    ran = box.run("cat note; pwd; echo ${HERE:-gone}; exit 3")
    assert (ran.code, ran.output, ran.cut) == (3, f"kept\n{box.root}\ngone\n", 0)
    assert (tmp_path / "work" / "note").read_text() == "kept\n"
    box.close()


@pytest.mark.parametrize("isolation", WORKING)
def test_stdin_is_empty_and_output_comes_in_order(tmp_path: Path, isolation: str) -> None:
    ran = sandbox(tmp_path, isolation).run("cat; echo one; echo two >&2; echo three")
    assert ran.output == "one\ntwo\nthree\n"


@pytest.mark.parametrize("isolation", WORKING)
def test_time_that_is_up_kills_the_whole_group(tmp_path: Path, isolation: str) -> None:
    box = sandbox(tmp_path, isolation)
    begun = time.monotonic()
    ran = box.run("(sleep 3; touch survivor) & echo begun; sleep 30", seconds=0.7)
    assert ran.code is None and ran.output == "begun\n" and time.monotonic() - begun < 5
    time.sleep(3)
    assert not (tmp_path / "work" / "survivor").exists()


@pytest.mark.parametrize("isolation", WORKING)
def test_what_a_command_leaves_in_the_background_dies_with_it(tmp_path: Path, isolation: str) -> None:
    box = sandbox(tmp_path, isolation)
    begun = time.monotonic()
    assert box.run("(sleep 2; touch survivor) & echo done").output == "done\n"
    assert time.monotonic() - begun < 1.9
    time.sleep(2.2)
    assert not (tmp_path / "work" / "survivor").exists()


@pytest.mark.parametrize("isolation", WORKING)
def test_a_long_output_keeps_its_ends(tmp_path: Path, isolation: str) -> None:
    ran = sandbox(tmp_path, isolation, output=1_000).run("echo first; yes | head -c 3000000; echo last")
    assert ran.output.startswith("first\n") and ran.output.endswith("last\n")
    assert ran.cut == 3_000_000 + 11 - 1_000 and len(ran.output) < 1_100
    assert f"{ran.cut} bytes of output left out" in ran.output


@pytest.mark.parametrize("isolation", WORKING)
def test_bytes_that_are_no_text_are_shown(tmp_path: Path, isolation: str) -> None:
    assert sandbox(tmp_path, isolation).run(r"printf 'a\xffb'").output == r"a\xffb"


@pytest.mark.parametrize("isolation", WORKING)
def test_no_variable_of_ours_is_visible(tmp_path: Path, isolation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    ran = sandbox(tmp_path, isolation, environment={"GIVEN": "yes"}).run("env")
    assert "sk-canary" not in ran.output and "GIVEN=yes" in ran.output
    assert {line.partition("=")[0] for line in ran.output.splitlines()} <= {
        "GIVEN",
        "PATH",
        "HOME",
        "PWD",
        "SHLVL",
        "_",
        "TMPDIR",
        "OLDPWD",
    }


@needs_bubblewrap
def test_bubblewrap_hides_the_host_and_the_network(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    box = sandbox(tmp_path, "bubblewrap")
    assert box.run(f"ls {secret} /root /home /etc/shadow").code != 0
    assert "lo" in box.run("ls /sys/class/net 2>/dev/null; cat /proc/net/dev").output
    connect = "import socket; socket.create_connection(('1.1.1.1', 53), 2)"
    assert box.run(f'python3 -c "{connect}" || exec 3<>/dev/tcp/1.1.1.1/53').code != 0
    assert box.run("touch /usr/mine").code != 0
    assert box.run("touch /tmp/mine && ls /tmp").output == "home\nmine\n"
    assert box.run("ls /tmp").output == "home\n"  # private to each command


@needs_bubblewrap
def test_bubblewrap_lets_no_double_fork_escape(tmp_path: Path) -> None:
    box = sandbox(tmp_path, "bubblewrap")
    box.run("setsid bash -c '(sleep 1; touch survivor) & disown' ; echo done")
    time.sleep(1.5)
    assert not (tmp_path / "work" / "survivor").exists()


@needs_bubblewrap
def test_a_path_that_is_not_there_is_a_failure_of_the_sandbox(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailed, match="did not start"):
        sandbox(tmp_path, "bubblewrap", read_only=("/no/such/path",)).run("true")


def test_a_plain_subprocess_is_never_chosen_by_accident(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.sandbox.bubblewrap.works", lambda: False)
    monkeypatch.setattr("harness.sandbox.docker.works", lambda: False)
    with pytest.raises(EnvironmentFailed, match="--isolation none"):
        opener("auto")
    with pytest.raises(UnknownName, match="bubblewrap"):
        opener("bubblewarp")
    assert opener("none")(SandboxSpec(work="/tmp", inside="/x")).isolation == "none"


def test_what_cannot_be_started_is_named() -> None:
    with pytest.raises(EnvironmentFailed, match="no-such-program"):
        run_limited(["no-such-program"], folder="/", environment={}, seconds=1, output=10)


def test_docker_needs_an_image() -> None:
    with pytest.raises(EnvironmentFailed, match="image"):
        Docker(SandboxSpec(work="", inside="/testbed"))


IMAGE = os.environ.get("AGENTMEM_TEST_IMAGE")


@pytest.mark.slow
@pytest.mark.skipif(not (IMAGE and available()["docker"]), reason="needs a docker engine and AGENTMEM_TEST_IMAGE")
def test_docker_runs_without_network_and_leaves_nothing(tmp_path: Path) -> None:
    box = Docker(SandboxSpec(work=str(tmp_path), inside="/work", image=IMAGE, seconds=10))
    assert box.run("echo kept > note").code == 0 and (tmp_path / "note").read_text() == "kept\n"
    assert box.run("sleep 30", seconds=0.5).code is None
    assert box.run("exec 3<>/dev/tcp/1.1.1.1/53").code != 0
    box.close()
    listed = subprocess.run(["docker", "ps", "-aq", "--filter", "name=agentmem-"], capture_output=True, text=True)
    assert listed.stdout == ""
