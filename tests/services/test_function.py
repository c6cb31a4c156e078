"""Python functions as services."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.services.asking import outputs, replies, replies_to
from trustgauge.errors import (
    GarbledError,
    MissingPartError,
    RejectedError,
    ServiceError,
    UnavailableError,
)
from trustgauge.records import Message
from trustgauge.services.function import Function

MODULE = """
import asyncio, threading, time
from trustgauge.errors import BusyError
from trustgauge.records import Reply

calls = []

def shout(text): return text.upper()
async def later(text):
    await asyncio.sleep(0)
    return text + "!"
def many(texts):
    calls.append(len(texts))
    return [text[::-1] for text in texts]
def too_few(texts): return texts[:1]
def length_of(texts): return len(texts)
def translate(text, source, target): return f"{source}>{target}: {text}"
def whole(message): return f"{message.text} {message.draw} {message.session} {list(message.turns)}"
def score(text): return len(text) / 10
def reply(text): return Reply(text, tokens=2, usd=0.1)
def bad_reply(text): return Reply(3.0)
def decline(text): return Reply("", refused=True)
def thinks(text): return f"<think>What an idiot.</think> {text}"
def nothing(text): return None
def in_thread(text): return threading.current_thread().name
def slow(text): time.sleep(5)
async def slowly(text): await asyncio.sleep(60)
def busy(text): raise BusyError("wait", retry_after=2.0)
def broken(text): raise ValueError("cannot read " + text)
def lost(text): raise ConnectionResetError("line dropped")
def leak(text): raise RuntimeError("token hunter2-4711 refused")
def stop(text): raise StopIteration
def leave(text): raise SystemExit(3)
def returns_awaitable(text): return later(text)

class Model:
    def __call__(self, text): return "model " + text
    async def aask(self, text): return "async " + text
model = Model()
number = 3
"""
NAME = "functions_of_test_function"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / f"{NAME}.py").write_text(MODULE)
    return tmp_path


def function(folder: Path, name: str, **settings: Any) -> Function:
    return Function.model_validate({"function": f"{NAME}:{name}", "folder": folder, **settings})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shout", "HE\n\0"),
        ("later", "he\n\0!"),
        ("model", "model he\n\0"),
        ("model.aask", "async he\n\0"),
        ("returns_awaitable", "he\n\0!"),
        ("in_thread", "trustgauge function"),
    ],
)
def test_sync_and_async_and_objects(folder: Path, name: str, expected: str) -> None:
    assert outputs(function(folder, name), "he\n\0") == [expected]


def test_batches_go_as_lists(folder: Path) -> None:
    service = function(folder, "many", batch=2)
    assert outputs(service, "ab", "cd", "ef") == ["ba", "dc", "fe"]
    with pytest.raises(GarbledError, match="a list of 2"):
        outputs(function(folder, "too_few", batch=2), "ab", "cd")
    with pytest.raises(GarbledError, match="a list of 1"):
        outputs(function(folder, "length_of", batch=2), "ab")


def test_directions_and_messages(folder: Path) -> None:
    assert outputs(function(folder, "translate", target="es"), "x") == ["en>es: x"]
    message = Message("x", 3, session="s", turns=(("a", "b"),))
    reply = asyncio.run(replies_to(function(folder, "whole", takes="message"), [message]))[0]
    assert reply.output == "x 3 s [('a', 'b')]"


def test_scores_and_replies(folder: Path) -> None:
    assert outputs(function(folder, "score", task="score"), "abc") == [0.3]
    assert replies(function(folder, "reply"), "x")[0].usd == 0.1
    assert replies(function(folder, "decline"), "x")[0].refused


def test_what_a_chatbot_thinks_is_no_answer_and_a_translation_stays_whole(folder: Path) -> None:
    assert outputs(function(folder, "thinks", task="chat"), "Hello.") == ["Hello."]
    assert outputs(function(folder, "thinks"), "Hello.") == ["<think>What an idiot.</think> Hello."]


@pytest.mark.parametrize(
    ("name", "task"), [("nothing", "chat"), ("score", "chat"), ("shout", "score"), ("bad_reply", "translate")]
)
def test_what_is_no_answer_is_garbled(folder: Path, name: str, task: str) -> None:
    with pytest.raises(GarbledError):
        replies(function(folder, name, task=task), "x")


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("broken", RejectedError, "ValueError: cannot read x"),
        ("lost", UnavailableError, "line dropped"),
        ("stop", UnavailableError, "StopIteration"),
        ("leave", UnavailableError, "SystemExit"),
        ("busy", ServiceError, "wait"),
    ],
)
def test_exceptions_become_errors_of_the_service(
    folder: Path, name: str, error: type[ServiceError], says: str
) -> None:
    with pytest.raises(error, match=says):
        replies(function(folder, name), "x")


def test_secrets_in_exceptions_are_not_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODEL_TOKEN", "hunter2-4711")
    with pytest.raises(UnavailableError, match=r"token \*\*\*\* refused"):
        replies(function(folder, "leak"), "x")


@pytest.mark.parametrize("name", ["slow", "slowly"])
def test_the_time_out_holds(folder: Path, name: str) -> None:
    began = time.monotonic()
    with pytest.raises(UnavailableError, match=r"within 0\.2 s") as result:
        replies(function(folder, name, timeout=0.2), "x")
    assert result.value.timed_out
    assert time.monotonic() - began < 3  # the thread goes on, and nobody waits for it
    assert all(one.daemon for one in threading.enumerate() if one.name == "trustgauge function")


@pytest.mark.parametrize("name", [f"{NAME}:gone", "no_such_module_here:x", f"{NAME}:number"])
def test_what_cannot_be_called_is_a_missing_part(folder: Path, name: str) -> None:
    service = Function.model_validate({"function": name, "folder": folder})
    with pytest.raises(MissingPartError, match=name):
        service.open()


def test_what_a_function_needs_is_said_without_running_its_module(tmp_path: Path) -> None:
    (tmp_path / "leaves_a_mark.py").write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\ndef answer(text): return text\n"
    )
    service = Function.model_validate({"function": "leaves_a_mark:answer", "folder": tmp_path})
    service.check_requirements()
    with pytest.raises(MissingPartError, match="no_such_module_here"):
        Function.model_validate(
            {"function": "no_such_module_here:x", "folder": tmp_path}
        ).check_requirements()
    assert not (tmp_path / "ran").exists()
    service.open()
    assert (tmp_path / "ran").exists()


def test_the_name_has_two_parts() -> None:
    with pytest.raises(ValidationError, match="module:callable"):
        Function(function="module.function")


def test_fingerprint(folder: Path) -> None:
    one = function(folder, "shout")
    assert f"{NAME}:shout" in str(one.identity())
    assert (
        one.fingerprint
        == function(Path("/elsewhere"), "shout", batch=9, timeout=1, concurrency=3).fingerprint
    )
    assert one.fingerprint != function(folder, "shout", revision="2").fingerprint
    assert one.fingerprint != function(folder, "later").fingerprint
    assert pickle.loads(pickle.dumps(one)) == one


def test_the_plans_folder_is_searched(folder: Path) -> None:
    service = Function.model_validate({"function": f"{NAME}:shout"}, context={"folder": folder})
    assert service.folder == folder
    assert outputs(service, "x") == ["X"]


def test_modules_of_one_name_in_two_folders_are_two_modules(tmp_path: Path) -> None:
    """The second service was asked through the module of the first, and rated as it."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "namesake.py").write_text(
            "from namesake_words import WORD\ndef say(text): return WORD"
        )
        (tmp_path / name / "namesake_words.py").write_text(f"WORD = '{name}'")
    first, second = (
        Function.model_validate({"function": "namesake:say", "folder": tmp_path / name})
        for name in ("one", "two")
    )
    opened = first.open()
    assert outputs(second, "x") == ["two"]
    assert asyncio.run(opened.ask([Message("x")]))[0].output == "one"
    assert outputs(first, "x") == ["one"]


def test_a_module_that_hides_the_one_of_the_folder_is_not_asked_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where Python is started in one of the two folders, which then comes first on its path."""
    for name in ("here", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "twin.py").write_text(f"def say(text): return '{name}'")
    monkeypatch.syspath_prepend(str(tmp_path / "here"))
    here, other = (
        Function.model_validate({"function": "twin:say", "folder": tmp_path / name})
        for name in ("here", "other")
    )
    assert outputs(here, "x") == ["here"]
    with pytest.raises(MissingPartError, match="which hides it"):
        other.open()
    assert outputs(here, "x") == ["here"]


def test_no_installed_module_is_hidden_by_the_folder(tmp_path: Path) -> None:
    (tmp_path / "textwrap.py").write_text("def dedent(text): return 'hidden'")
    service = Function.model_validate({"function": "textwrap:dedent", "folder": tmp_path})
    assert outputs(service, " x") == ["x"]
