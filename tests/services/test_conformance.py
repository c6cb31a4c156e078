"""The kit finds what breaks the protocol, and lets pass what keeps it."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from trustgauge.errors import KeyMissingError, ServiceError
from trustgauge.kit_process import in_another_process
from trustgauge.records import Message, Reply, Task
from trustgauge.services import Service, ServiceSpec
from trustgauge.services.conformance import check_service

MESSAGES = [Message("one"), Message("two"), Message("three")]
ODD_REPLIES: Mapping[str, Any] = {"earns": {"usd": -0.1}, "trail of numbers": {"trail": (5,)}}
KEY = "planted-key-0123456789"


class Live:
    """Gives back what it is told, or what its flaw makes of it."""

    def __init__(self, flaw: str, key: str) -> None:
        self.flaw, self.key, self.asked, self.closed = flaw, key, 0, False

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        self.asked += 1
        texts = [message.text for message in messages]
        if self.flaw == "breaks on empty" and "" in texts:
            raise IndexError(texts)
        if self.flaw == "always fails":
            raise ServiceError("it is down")
        if self.flaw == "tells the key in errors" and "" in texts:
            raise ServiceError(f"empty, by {self.key}")
        if self.flaw == "drops one":
            return [Reply(text) for text in texts[1:]]
        if self.flaw == "merges equal texts":
            return [Reply(text) for text in dict.fromkeys(texts)]
        if self.flaw == "wrong order":
            return [Reply(text) for text in reversed(texts)]
        if self.flaw == "no replies":
            return texts  # type: ignore[return-value]
        odd = {**ODD_REPLIES, "tells the key in the trail": {"trail": (self.key,)}}.get(self.flaw, {})
        return self.listed(Reply(self.output(text), **odd) for text in texts)

    def listed(self, replies: Iterator[Reply]) -> list[Reply]:
        return replies if self.flaw == "a generator" else list(replies)  # type: ignore[return-value]

    def output(self, text: str) -> Any:
        outputs = {
            "varies": f"{text} {self.asked}",
            "not a text": 3.5,
            "infinite": float("inf"),
            "tells the key": f"{text} {self.key}",
            "half a character": "\ud83d",
        }
        return outputs.get(self.flaw, text)

    async def close(self) -> None:
        if self.flaw == "cannot close" or (self.flaw == "closes once" and self.closed):
            raise RuntimeError
        self.closed = True


class Mine(ServiceSpec):
    """A service of an outsider, with one flaw or none."""

    batch: ClassVar[int] = 3

    use: str = "mine"
    task: Task = "chat"
    deterministic: bool = True
    flaw: str = ""
    key: str = ""

    def check_requirements(self) -> None:
        if self.key and not os.environ.get(self.key):
            raise KeyMissingError("no key")

    def open(self) -> Service:
        return Live(self.flaw, os.environ.get(self.key, ""))


class Drifting(Mine):
    """Another process sees another fingerprint."""

    def identity(self) -> Mapping[str, Any]:
        return {"process": os.getpid()}


class Ending(Mine):
    """It ends the process in which it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (1,)


class Talkative(Mine):
    """Its fingerprint holds what changes no answer."""

    def identity(self) -> Mapping[str, Any]:
        return self.model_dump()


def test_a_service_without_flaw_passes() -> None:
    check_service(Mine(), MESSAGES)


@pytest.mark.parametrize(
    ("flaw", "said"),
    [
        ("breaks on empty", "'' raises IndexError"),
        ("always fails", "asking failed: ServiceError"),
        ("drops one", "2 replies to 3 messages"),
        ("merges equal texts", "replies to two equal texts in a call: 1"),
        ("wrong order", "another answer"),
        ("varies", "another answer"),
        ("no replies", "a str instead of a Reply"),
        ("not a text", "the output is a float"),
        ("half a character", "half a character"),
        ("a generator", "`ask` gives a generator instead of a list"),
        ("earns", "must be 0 or more; are 0 and -0.1"),
        ("trail of numbers", "the trail holds what is no text"),
        ("closes once", "closing twice raises RuntimeError"),
        ("cannot close", "closing raises RuntimeError"),
    ],
)
def test_each_flaw_is_found(flaw: str, said: str) -> None:
    with pytest.raises(AssertionError, match="breaks the protocol") as caught:
        check_service(Mine(flaw=flaw), MESSAGES)
    assert said in str(caught.value)


def test_a_score_must_be_a_finite_number() -> None:
    check_service(Mine(flaw="not a text", task="score"), MESSAGES)
    for flaw in ("infinite", ""):
        with pytest.raises(AssertionError, match="not a finite number"):
            check_service(Mine(flaw=flaw, task="score"), MESSAGES)


@pytest.mark.parametrize("flaw", ["tells the key", "tells the key in errors", "tells the key in the trail"])
def test_a_key_that_gets_out_is_found(flaw: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TG_TEST_KEY", KEY)
    with pytest.raises(AssertionError, match="the key") as caught:
        check_service(Mine(flaw=flaw, key="TG_TEST_KEY"), MESSAGES)
    assert KEY not in str(caught.value)
    check_service(Mine(key="TG_TEST_KEY"), MESSAGES)


def test_a_varying_service_need_not_repeat_itself() -> None:
    check_service(Mine(flaw="varies", deterministic=False), MESSAGES)


def test_rough_texts_can_be_left_out() -> None:
    check_service(Mine(flaw="breaks on empty"), MESSAGES, rough=False)


def test_a_fingerprint_must_be_the_same_everywhere() -> None:
    with pytest.raises(AssertionError, match="in another process"):
        check_service(Drifting(), MESSAGES)
    with pytest.raises(AssertionError, match="depends on concurrency") as caught:
        check_service(Talkative(), MESSAGES)
    assert "depends on timeout" in str(caught.value)
    assert "depends on key" in str(caught.value)


class Unnamed(Mine):
    """Its identity holds the name of its kind only."""

    loud: bool = False
    times: int = 1
    ending: str = ""
    manner: Literal["plain", "mirrored"] = "plain"
    left_out: tuple[str, ...] = ()
    label: str = ""  # in words; no answer depends on it

    NAMED: ClassVar[frozenset[str]] = frozenset()

    def identity(self) -> Mapping[str, Any]:
        return {"use": self.use, **{name: getattr(self, name) for name in sorted(self.NAMED)}}

    def open(self) -> Service:
        return LiveUnnamed(self)


class LiveUnnamed(Live):
    def __init__(self, description: Unnamed) -> None:
        super().__init__("", "")
        self.own = description

    def output(self, text: str) -> str:
        said = "" if text in self.own.left_out else text * self.own.times + self.own.ending
        said = said.upper() if self.own.loud else said
        return said[::-1] if self.own.manner == "mirrored" else said


class Named(Unnamed):
    NAMED = frozenset({"loud", "times", "ending", "manner", "left_out"})


def test_a_setting_that_changes_answers_must_be_part_of_the_identity() -> None:
    check_service(Named(), MESSAGES)
    with pytest.raises(AssertionError) as caught:
        check_service(Unnamed(), MESSAGES)
    found = re.findall(r"(\w+) changes answers, and the identity does not hold it", str(caught.value))
    assert found == ["ending", "left_out", "loud", "manner", "times"]


def test_what_cannot_be_pickled_is_found() -> None:
    class Local(Mine):
        pass

    with pytest.raises(AssertionError, match="cannot be pickled"):
        check_service(Local(), MESSAGES)


def test_what_ends_another_process_is_found_and_ends_no_later_check() -> None:
    with pytest.raises(AssertionError, match="cannot be unpickled in another process: the process ended"):
        check_service(Ending(), MESSAGES)
    check_service(Mine(), MESSAGES)


def test_another_process_seeks_modules_where_this_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_service(Mine(), MESSAGES)
    (tmp_path / "services_of_others.py").write_text("from tests.services.test_conformance import Mine")
    monkeypatch.syspath_prepend(tmp_path)
    packed = b"cservices_of_others\nMine\n."
    assert in_another_process(_name_of, packed) == ("Mine", "")


def _name_of(packed: bytes) -> str:
    name: str = pickle.loads(packed).__name__
    return name


def test_a_service_that_cannot_be_asked_here_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TG_TEST_KEY", raising=False)
    with pytest.raises(KeyMissingError):
        check_service(Mine(key="TG_TEST_KEY"), MESSAGES)
