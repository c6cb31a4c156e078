"""The user's program that is told of a change: real programs, and their faults."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from trustgauge.apps.watch.notify import notify, split_command
from trustgauge.errors import PlanError

EVENT = {"event": "change", "service": "Bot; rm -rf $HOME", "words": ["Low risk", "High risk"]}


def program(folder: Path, code: str) -> list[str]:
    file = folder / "hook.py"
    file.write_text(code)
    return [sys.executable, str(file)]


def test_the_event_stands_on_its_input(tmp_path: Path) -> None:
    code = f"import sys\nopen({str(tmp_path / 'got.json')!r}, 'w').write(sys.stdin.read())"
    assert notify(program(tmp_path, code), EVENT) == ""
    assert json.loads((tmp_path / "got.json").read_text()) == EVENT


def test_a_program_that_does_not_read_is_no_fault(tmp_path: Path) -> None:
    event = {"event": "x" * 1_000_000}
    assert notify(program(tmp_path, "pass"), event) == ""


def test_why_it_failed_is_told_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_API_KEY", "sesame-open-123")
    words = program(tmp_path, "import sys\nsys.exit('no mail: sesame-open-123')")
    result = notify(words, EVENT)
    assert "ended with code 1: no mail" in result
    assert "sesame" not in result
    assert "cannot be started" in notify([str(tmp_path / "none")], EVENT)


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    child = f"import time; time.sleep(3); open({str(mark)!r}, 'w').close()"
    code = (
        f"import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {child!r}])\ntime.sleep(60)"
    )
    began = time.monotonic()
    assert "did not end within 1.5 s" in notify(program(tmp_path, code), EVENT, 1.5)
    assert time.monotonic() - began < 10
    time.sleep(2.5)
    assert not mark.exists()


def test_no_shell_reads_the_command() -> None:
    assert split_command("mail -s 'a b' me; ls") == ["mail", "-s", "a b", "me;", "ls"]
    for wrong in ("", "  ", "mail 'open"):
        with pytest.raises(PlanError, match="--notify"):
            split_command(wrong)
