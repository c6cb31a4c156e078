"""A stranger's plan: where keys go, what runs, and what of a `.env` file counts."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w

from tests.cli.test_commands import last, trustgauge
from tests.faults.running import ended, started
from tests.servers import LocalServer, Request, Response
from trustgauge.terminal.options import plan_of

Serve = Callable[..., LocalServer]

KEY = "sk-planted-4711-planted-4711"
FUNCTION = "from pathlib import Path\nPath('ran').touch()\n\ndef answer(text):\n    return text\n"


def answers(_: Request) -> Response:
    return Response.json({"choices": [{"message": {"content": "I cannot say."}, "finish_reason": "stop"}]})


def plan(folder: Path, **service: object) -> None:
    document = {
        "name": "stranger",
        "services": {"bot": {"use": "openai", "model": "m", **service}},
        "experiments": [
            {"method": "social-bias", "services": ["bot"], "attributes": ["gender"], "questions": 400}
        ],
    }
    (folder / "trustgauge.toml").write_text(tomli_w.dumps(document))


def run(
    *arguments: str, folder: Path, proxy: str = "", alone: bool = False, **more: str
) -> subprocess.CompletedProcess[str]:
    """The command with a key set, behind an HTTP proxy that plays every foreign host.

    It runs in this process, or `alone` in one of its own: what a plan imports is imported once in a process.
    """
    environment = {
        "OPENAI_API_KEY": KEY,
        "TRUSTGAUGE_TRUST": "",
        "XDG_STATE_HOME": str(folder / "state"),
        **more,
    }
    if proxy:
        environment |= {"HTTP_PROXY": proxy, "http_proxy": proxy, "NO_PROXY": "", "no_proxy": ""}
    if alone:
        return ended(started(folder, *arguments, more=environment))
    return trustgauge(*arguments, folder=folder, said=b"", **environment)


def sent_key(server: LocalServer) -> list[bool]:
    return [KEY in request.head.decode("latin-1") for request in server.requests]


def test_the_usual_key_does_not_go_to_the_host_of_a_strangers_plan(tmp_path: Path, serve: Serve) -> None:
    server = serve(answers)
    plan(tmp_path, url="http://models.example.org/v1")
    done = run("check", folder=tmp_path, proxy=server.url)
    assert done.returncode == 0, done.stderr
    assert sent_key(server) == [False]


def test_a_refusal_without_the_withheld_key_says_how_to_send_it(tmp_path: Path, serve: Serve) -> None:
    server = serve(lambda _: Response.json({"error": {"message": "no key"}}, status=401))
    plan(tmp_path, url="http://models.example.org/v1")
    done = run("check", folder=tmp_path, proxy=server.url)
    assert done.returncode == 3
    assert (
        'OPENAI_API_KEY was not sent there; to send it, put send_key_to = ["http://models.example.org"]'
        in done.stdout
    )


def test_a_named_key_needs_the_host_in_the_plan(tmp_path: Path, serve: Serve) -> None:
    server = serve(answers)
    plan(tmp_path, url="http://models.example.org/v1", key="MY_KEY")
    done = run("check", "--trust", folder=tmp_path, proxy=server.url, MY_KEY=KEY)
    assert done.returncode == 2
    assert 'send_key_to = ["http://models.example.org"]' in done.stderr
    assert not server.requests


def test_a_listed_host_is_confirmed_before_anything_is_sent(tmp_path: Path, serve: Serve) -> None:
    server = serve(answers)
    plan(tmp_path, url="http://models.example.org/v1", send_key_to=["http://models.example.org"])
    done = run("check", folder=tmp_path, proxy=server.url)
    assert (done.returncode, server.requests) == (2, [])
    assert "bot sends OPENAI_API_KEY to models.example.org without encryption" in done.stderr
    assert last(done).startswith("exit 2")
    done = run("check", "--trust", folder=tmp_path, proxy=server.url)
    assert (done.returncode, sent_key(server)) == (0, [True])


def test_encryption_is_part_of_what_is_listed(tmp_path: Path, serve: Serve) -> None:
    server = serve(answers)
    plan(tmp_path, url="http://models.example.org/v1", send_key_to=["models.example.org"])
    done = run("check", "--trust", folder=tmp_path, proxy=server.url)
    assert (done.returncode, sent_key(server)) == (0, [False])


def test_a_key_in_an_address_needs_the_host_in_the_plan(tmp_path: Path) -> None:
    plan(tmp_path)
    document = {
        "services": {
            "mt": {"use": "http", "url": "https://mt.example.org/?k={key}", "key": "MY_KEY", "target": "es"}
        },
        "experiments": [{"method": "two-step", "services": ["mt"], "attribute": "gender", "texts": 20}],
    }
    (tmp_path / "trustgauge.toml").write_text(tomli_w.dumps(document))
    done = run("check", "--trust", folder=tmp_path, MY_KEY=KEY)
    assert done.returncode == 2
    assert 'send_key_to = ["mt.example.org"]' in done.stderr


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A folder with a plan that names a function whose module leaves a mark when it is imported."""
    (tmp_path / "strange_module.py").write_text(FUNCTION)
    document = {
        "services": {"mine": {"use": "function", "function": "strange_module:answer", "task": "translate"}},
        "experiments": [
            {"method": "two-step", "services": ["mine"], "attribute": "gender", "texts": 20, "draws": 1000}
        ],
    }
    (tmp_path / "trustgauge.toml").write_text(tomli_w.dumps(document))
    return tmp_path


def test_plan_show_verify_list_and_compare_run_nothing(strange: Path) -> None:
    rated = run("rate", "--trust", folder=strange, alone=True)
    assert rated.returncode == 0, rated.stderr
    shared = next((strange / "ratings").iterdir())
    (shared / "strange_module.py").write_text(FUNCTION)
    (strange / "ran").unlink()
    for words in (
        ["plan"],
        ["plan", str(shared)],
        ["show"],
        ["verify"],
        ["list"],
        ["list", "services"],
        ["compare"],
    ):
        done = run(*words, folder=strange)
        assert done.returncode == 0, (words, done.stderr)
    assert not (strange / "ran").exists()


def test_what_would_run_is_listed_and_refused_without_consent(strange: Path) -> None:
    for verb in ("check", "rate"):
        done = run(verb, folder=strange)
        assert done.returncode == 2
        assert f"mine runs the Python function strange_module:answer from {strange}" in done.stderr
        assert "--trust" in done.stderr
    done = run("rate", "--trust", "--no-commands", folder=strange)
    assert done.returncode == 2
    assert "services.mine" in done.stderr
    assert not (strange / "ran").exists()


def test_consent_at_a_terminal_is_remembered_for_this_plan_only(strange: Path) -> None:
    assert _at_a_terminal(strange, "n\n") == 130
    assert not (strange / "ran").exists()
    assert _at_a_terminal(strange, "y\n") == 0
    assert run("rate", "--fresh", folder=strange, alone=True).returncode == 0
    file = strange / "state/trustgauge/confirmed-plans"
    assert file.stat().st_mode & 0o077 == 0
    text = (strange / "trustgauge.toml").read_text()
    (strange / "trustgauge.toml").write_text(
        text.replace("strange_module:answer", "strange_module:answer.__call__")
    )
    assert run("rate", "--fresh", folder=strange).returncode == 2


def _at_a_terminal(folder: Path, typed: str) -> int:
    """Run `check` with a terminal for its input and messages, and answer its question."""
    ours, theirs = pty.openpty()
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TRUSTGAUGE")}
    process = subprocess.Popen(
        [sys.executable, "-m", "trustgauge", "rate", "--progress", "none"],
        cwd=folder,
        env={**kept, "XDG_STATE_HOME": str(folder / "state")},
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen, deadline, answered = b"", time.monotonic() + 60, False
    while time.monotonic() < deadline:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if b"[y/N]" in seen and not answered:
            os.write(ours, typed.encode())
            answered = True
    os.close(ours)
    assert answered, seen
    assert b"confirm  mine runs the Python function" in seen
    return process.wait(60)


def environment_of(folder: Path, names: list[str], **more: str) -> dict[str, str]:
    """What the variables hold after the command line has read a plan with a service that wants MY_KEY."""
    said = io.StringIO()
    before = dict(os.environ)
    try:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(more)
        with contextlib.chdir(folder), contextlib.redirect_stderr(said):
            plan_of(None, {})
        return {**{name: os.environ.get(name, "") for name in names}, "said": said.getvalue()}
    finally:
        os.environ.clear()
        os.environ.update(before)


NAMES = ["MY_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY", "LD_PRELOAD", "HTTPS_PROXY"]
LINES = "".join(f"{name}=planted\n" for name in NAMES)


def test_dot_env_gives_what_the_plan_names_and_nothing_else(tmp_path: Path) -> None:
    plan(tmp_path, key="MY_KEY")
    (tmp_path / ".env").write_text(LINES)
    (tmp_path / ".env").chmod(0o600)
    found = environment_of(tmp_path, NAMES)
    assert [found[name] for name in NAMES] == ["planted", "planted", "", "", ""]
    assert environment_of(tmp_path, NAMES, MY_KEY="set")["MY_KEY"] == "set"


def test_a_plan_reaches_no_other_variable_by_calling_it_a_key(tmp_path: Path) -> None:
    plan(tmp_path, key="LD_PRELOAD")
    (tmp_path / ".env").write_text(LINES)
    (tmp_path / ".env").chmod(0o600)
    assert environment_of(tmp_path, NAMES)["LD_PRELOAD"] == ""


def test_dot_env_of_a_parent_folder_does_not_count(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(LINES)
    (tmp_path / ".env").chmod(0o600)
    below = tmp_path / "below"
    below.mkdir()
    plan(below, key="MY_KEY")
    found = environment_of(below, NAMES)
    assert [found[name] for name in NAMES] == [""] * 5


@pytest.mark.parametrize("how", ["writable", "linked"])
def test_dot_env_that_others_could_have_written_is_passed_over(tmp_path: Path, how: str) -> None:
    plan(tmp_path, key="MY_KEY")
    place = tmp_path / (".env" if how == "writable" else "elsewhere")
    place.write_text(LINES)
    place.chmod(0o622 if how == "writable" else 0o600)
    if how == "linked":
        (tmp_path / ".env").symlink_to(place)
    found = environment_of(tmp_path, NAMES)
    assert found["MY_KEY"] == ""
    assert ".env is not read" in found["said"]


def test_stored_answers_of_code_without_a_revision_are_named(tmp_path: Path) -> None:
    """Code that had become biased got the rating of the code before, in a run that said "0 calls"."""
    (tmp_path / "module_with_stored_answers.py").write_text("def answer(text, **way): return text[::-1]")

    def asked(revision: str, *more: str) -> str:
        service = {"use": "function", "function": "module_with_stored_answers:answer", "target": "es"}
        plan = {
            "services": {"mine": service | ({"revision": revision} if revision else {})},
            "experiments": [{"method": "two-step", "services": ["mine"], "texts": 10}],
        }
        (tmp_path / "plan.toml").write_text(tomli_w.dumps(plan))
        done = trustgauge("rate", "plan.toml", "--trust", *more, folder=tmp_path)
        return done.stdout + done.stderr

    note = "mine: stored answers are used, and whether its code has changed since is not seen."
    assert note not in asked("")
    assert note in asked("")
    assert note not in asked("", "--fresh")
    assert note not in asked("1")
    assert note not in asked("1")
