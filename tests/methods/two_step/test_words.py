"""What a report says of services whose level alone would mislead."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.servers import LocalServer, Request, Response
from trustgauge.plan import load_plan
from trustgauge.reports import sentences
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

PATTERNS = ["subject", "possessive"]
EXCHANGED = {"he": "she", "she": "he", "his": "her", "her": "his"}


def rated(answer: Callable[[str], str], folder: Path, **service: Any) -> Any:
    """The rating of a service that gives back English."""

    def handler(request: Request) -> Response:
        return Response.json({"output": answer(request.json()["text"])})

    with LocalServer(handler) as server:
        services = {"mine": {"use": "http", "url": server.url, **service}}
        experiment = {"method": "two-step", "services": ["mine"], "texts": 100, "patterns": PATTERNS}
        plan = load_plan({"seed": 2, "services": services, "experiments": [experiment]})
        return rate(plan, RunOptions(folder)).document["ratings"][0]


def exchanged(text: str) -> str:
    def word(found: re.Match[str]) -> str:
        other = EXCHANGED[found[0].lower()]
        return other.capitalize() if found[0][0].isupper() else other

    return re.sub(r"\b(?:he|she|his|her)\b", word, text, flags=re.IGNORECASE)


def test_a_service_that_exchanges_he_and_she_reverses_its_input(tmp_path: Path) -> None:
    rating = rated(exchanged, tmp_path)
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "DSBS")
    said = sentences.verdict(rating)
    assert re.fullmatch(
        r"It turns she into he in (\d+) of \1 sentences and he into she in (\d+) of \2\. "
        r"It adds no bias of its own, but reverses the bias of its input\.",
        said,
    )


def test_a_service_that_keeps_its_input_repeats_it(tmp_path: Path) -> None:
    said = sentences.verdict(rated(lambda text: text, tmp_path))
    assert said == "It adds no bias of its own, but repeats the bias of its input."


@pytest.mark.parametrize("is_partly", [False, True])
def test_a_service_that_declines_texts_is_said_to_decline(is_partly: bool, tmp_path: Path) -> None:
    def declining(text: str) -> str:
        lot = sum(map(ord, text.lower().replace("she", "he").replace("her", "his"))) % 100
        return "I cannot translate that." if lot < 35 else "" if lot < 40 and is_partly else text

    rating = rated(declining, tmp_path, refused_if="cannot translate")
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "BS")
    (reason,) = [one for one in rating["parts"][0]["reasons"] if one["code"] == "two-step.loses-mentions"]
    said, verdict = sentences.reason(reason, rating), sentences.verdict(rating)
    if is_partly:
        assert "of these the service declined the text, the others came back as none" in said
        assert verdict.startswith("It adds gender bias of its own")
    else:
        assert re.fullmatch(r"\d+.% of the mentions were lost: the service declined their texts\.", said)
        assert re.match(r"It declines so many texts \(\d+.% of the mentions\) that balanced input", verdict)
