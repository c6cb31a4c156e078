"""What a report says of services whose level alone would mislead."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from tests.servers import LocalServer, Request, Response
from trustgauge.methods.two_step.view import TwoStepView
from trustgauge.plan import load_plan
from trustgauge.reports import sentences
from trustgauge.reports.views import overall_notes
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

PATTERNS = ["subject", "possessive"]
FAILS = "this call fails"
EXCHANGED = {"he": "she", "she": "he", "his": "her", "her": "his"}


def rated(answer: Callable[[str], str], folder: Path, rule: str = "sound", **service: Any) -> Any:
    """The rating of a service that gives back English."""

    def handler(request: Request) -> Response:
        said = answer(request.json()["text"])
        return Response(status=400) if said == FAILS else Response.json({"output": said})

    with LocalServer(handler) as server:
        services = {"mine": {"use": "http", "url": server.url, **service}}
        experiment = {
            "method": "two-step",
            "services": ["mine"],
            "texts": 100,
            "patterns": PATTERNS,
            "rule": rule,
        }
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


def test_what_an_open_rating_changes_is_said_and_no_texts_are_asked_for_that_settle_nothing(
    tmp_path: Path,
) -> None:
    def answer(text: str) -> str:
        """Women become men in two of five sentences of one pattern: as far off balance as the margin."""

        def word(found: re.Match[str]) -> str:
            return f"{found[1]} finished {'his' if crc32(found[1].encode()) % 5 < 2 else 'her'}"

        return re.sub(r"(\w+) finished her", word, text)

    rating = rated(answer, tmp_path)
    assert rating["state"] == "not settled"
    assert re.match(
        r"Not settled\. Most likely: it adds .*\. "
        r"It turns she into he in \d+ of \d+ sentences\. Certainty: ",
        sentences.verdict(rating),
    )
    assert "follow from the rates of all blocks together" in TwoStepView().part_table(rating).note
    (part,) = rating["parts"]
    part["more_texts"] = 900
    assert sentences.next_step(rating) == "Rate it with more texts; the report says how many."
    part["more_texts"] = None
    assert sentences.next_step(rating).startswith("Decide by the distance from balanced")


def test_what_another_rule_does_not_count_is_not_said_to_be_little(tmp_path: Path) -> None:
    rating = rated(lambda text: re.sub(r"\bher\b", "his", text.replace("She", "He")), tmp_path, "published")
    assert rating["overall"]["level"] == "DSBS"
    said = sentences.verdict(rating)
    assert re.match(
        r"It turns she into he in (\d+) of \1 sentences, which the rule “published” does not", said
    )


def test_exchanged_values_stand_beside_the_level(tmp_path: Path) -> None:
    """Level and counts are those of a service that keeps everything."""
    rating = rated(exchanged, tmp_path)
    assert rating["parts"][0]["flags"] == ["exchanged"]
    assert overall_notes(rating) == "each value becomes the other"


def test_a_service_that_writes_they_is_said_to_lose_mentions_to_they(tmp_path: Path) -> None:
    def neutral(text: str) -> str:
        text = re.sub(r"\b(?:He|She) is\b", "They are", text)
        return re.sub(r"\b(?:his|her)\b", "their", text)

    rating = rated(neutral, tmp_path)
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "BS")
    assert sentences.verdict(rating) == (
        "It loses so many mentions (100 %: they came back as “they”) that balanced input does not come back "
        "balanced, which counts as adding gender bias."
    )
    (reason,) = rating["parts"][0]["reasons"]
    assert sentences.reason(reason, rating) == "100 % of the mentions were lost: they came back as “they”."


def lot(text: str) -> int:
    """The same number below 100 for texts that differ in values only."""
    return sum(map(ord, text.lower().replace("she", "he").replace("her", "his"))) % 100


def is_about_women(text: str) -> bool:
    return re.search(r"\b(?:he|his)\b", text, re.IGNORECASE) is None


def test_a_value_that_is_lost_more_often_is_named(tmp_path: Path) -> None:
    rating = rated(lambda text: "" if is_about_women(text) and lot(text) < 80 else text, tmp_path)
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "BS")
    said = sentences.verdict(rating)
    assert re.fullmatch(
        r"“she” is lost in \d+ of 300 sentences and “he” in 0 of 300. It adds gender bias .*", said
    )
    (reason,) = [one for one in rating["parts"][0]["reasons"] if one["code"] == "two-step.loses-mentions"]
    assert sentences.reason(reason, rating).endswith("of the mentions were lost: these answers were empty.")


def test_calls_that_fail_for_one_value_only_are_told_though_the_level_stands(tmp_path: Path) -> None:
    """The level rests on what came; a user must see that the service fails for women only."""
    rating = rated(lambda text: FAILS if is_about_women(text) and lot(text) < 15 else text, tmp_path)
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "DSBS")
    (loss,) = [one for one in rating["parts"][0]["reasons"] if one["code"] == "loss-does-not-matter"]
    assert re.fullmatch(
        r"\d+.% of the answers are missing, \d+.% of those for She and significantly fewer for He; "
        r"the level would be the same whatever they said\.",
        sentences.reason(loss, rating),
    )
    assert re.fullmatch(r"\d+.% missing, more for She than for He", overall_notes(rating))


def test_no_certainty_is_claimed_of_a_level_that_unread_answers_may_change(tmp_path: Path) -> None:
    """ "Not settled. Certainty: DSBS > 99 %" stood there, of the answers that were read alone."""
    french = "La secrétaire a terminé son travail hier."
    rating = rated(lambda text: f"{french} {len(text)}" if lot(text) < 25 else text, tmp_path)
    assert (rating["state"], rating["overall"]["level"]) == ("not settled", "DSBS")
    assert rating["overall"]["certainty"]["DSBS"] > 0.95
    assert sentences.share(rating) is None
    said = sentences.verdict(rating)
    assert "Certainty" not in said
    assert "could not be interpreted" in said
    assert "confident" not in " ".join(sentences.reasons(rating["parts"][0]["reasons"], rating))


def test_a_service_that_compensates_is_told_once_that_balance_is_no_accuracy(tmp_path: Path) -> None:
    rating = rated(lambda text: text if lot(text) < 50 else exchanged(text), tmp_path)
    assert rating["overall"]["level"] == "UCS"
    assert [one["code"] for one in rating["limits"]].count("limits.ucs-not-accurate") == 1
    assert TwoStepView().limits(rating) == []


def test_a_service_that_keeps_its_input_repeats_it(tmp_path: Path) -> None:
    said = sentences.verdict(rated(lambda text: text, tmp_path))
    assert said == "It adds no bias of its own, but repeats the bias of its input."


@pytest.mark.parametrize("is_partly", [False, True])
def test_a_service_that_declines_texts_is_said_to_decline(is_partly: bool, tmp_path: Path) -> None:
    def declining(text: str) -> str:
        drawn = lot(text)
        return "I cannot translate that." if drawn < 35 else "" if drawn < 40 and is_partly else text

    rating = rated(declining, tmp_path, refused_if="cannot translate")
    assert (rating["state"], rating["overall"]["level"]) == ("rated", "BS")
    (reason,) = [one for one in rating["parts"][0]["reasons"] if one["code"] == "two-step.loses-mentions"]
    said, verdict = sentences.reason(reason, rating), sentences.verdict(rating)
    if is_partly:
        assert "of these the service declined the text, the others came back as none" in said
        assert re.match(r"It loses so many mentions \(\d+.%\) that balanced input does not", verdict)
    else:
        assert re.fullmatch(r"\d+.% of the mentions were lost: the service declined their texts\.", said)
        assert re.match(r"It declines so many texts \(\d+.% of the mentions\) that balanced input", verdict)
