"""What a report says of services whose level alone would mislead."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
