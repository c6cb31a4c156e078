"""A service without an API: described and fingerprinted as any other, and never asked by a program."""

from __future__ import annotations

import pickle

import pytest
from pydantic import ValidationError

from trustgauge import plugins
from trustgauge.errors import ServiceError
from trustgauge.services.by_hand import ByHand


def test_it_is_registered_and_needs_nothing() -> None:
    assert plugins.load("services", "by-hand") is ByHand
    service = ByHand(name="Example", edition="2026-03", provider="Maker")
    service.check_requirements()
    assert (service.task, service.kind, service.provider) == ("chat", "service asked by hand", "Maker")
    assert service.version() == "2026-03"
    assert pickle.loads(pickle.dumps(service)).fingerprint == service.fingerprint


def test_what_may_change_an_answer_changes_the_fingerprint_and_nothing_else() -> None:
    one = ByHand(name="Example")
    same = (ByHand(name="Example", provider="Maker"), ByHand(name="Example", timeout=3, usd_per_call=1))
    assert {each.fingerprint for each in same} == {one.fingerprint}
    others = (
        ByHand(name="Example 2"),
        ByHand(name="Example", edition="2"),
        ByHand(name="Example", language="zh"),
        ByHand(name="Example", task="score"),
        ByHand(name="Example", deterministic=True),
    )
    assert len({one.fingerprint, *(each.fingerprint for each in others)}) == 6


def test_opening_it_says_how_answers_are_brought_in() -> None:
    with pytest.raises(ServiceError, match="Example cannot be asked by a program") as caught:
        ByHand(name="Example").open()
    assert "trustgauge ask PLAN SERVICE --export FILE" in str(caught.value)
    assert not caught.value.retry


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(ValidationError):
        ByHand.model_validate({"use": "by-hand", "url": "http://example.org"})
