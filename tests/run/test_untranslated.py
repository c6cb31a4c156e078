"""A translator that gives back its input, there and back, changes no gender: it is not rated for that."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.run.plans import faithful, translator_plan
from tests.servers import LocalServer, Request, Response
from trustgauge.plan import load_plan
from trustgauge.reports import sentences
from trustgauge.run.ask import smoke_test
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import prepare
from trustgauge.run.run import RunResult, rate
from trustgauge.run.verify import verify

TODAY = date(2026, 1, 2)
Handler = Callable[[Request], Response]


def done(plan: Any, folder: Path) -> RunResult:
    return rate(load_plan(plan), RunOptions(folder))


def codes(finished: RunResult) -> list[str]:
    return [reason["code"] for reason in finished.document["ratings"][0]["reasons"]]


def echo(request: Request) -> Response:
    return Response.json({"translatedText": request.json()["q"]})


def keeping(share: float) -> Handler:
    """Leaves a share of the texts as they are, on both ways, by the letters that a text has."""

    def answer(request: Request) -> Response:
        text = request.json()["q"]
        is_kept = sum(map(ord, text)) % 100 < 100 * share  # equal on both ways, which turn words round
        return echo(request) if is_kept else faithful(request)

    return answer


@pytest.mark.parametrize(("via", "share"), [(("es",), 1.0), (("es>fr",), 1.0), (("es",), 0.98)])
def test_a_translator_that_translates_nothing_is_not_rated(
    via: tuple[str, ...], share: float, tmp_path: Path
) -> None:
    with LocalServer(keeping(share)) as server:
        finished = done(translator_plan(server.url, texts=60, via=via), tmp_path)
    (rating,) = finished.document["ratings"]
    assert (rating["state"], rating["overall"]["level"], codes(finished)) == (
        "incomplete",
        None,
        ["not-translated"],
    )
    assert "nothing was translated" in sentences.no_level(rating)
    assert verify(finished.folder, TODAY).differences == ()


def test_one_that_leaves_some_texts_as_they_are_is_rated(tmp_path: Path) -> None:
    with LocalServer(keeping(0.3)) as server:
        finished = done(translator_plan(server.url), tmp_path)
    assert finished.document["ratings"][0]["overall"]["level"] == "DSBS"


def test_one_language_of_two_is_at_fault(tmp_path: Path) -> None:
    def without_french(request: Request) -> Response:
        return (
            echo(request)
            if "fr" in (request.json()["source"], request.json()["target"])
            else faithful(request)
        )

    with LocalServer(without_french) as server:
        finished = done(translator_plan(server.url, via=("es", "fr")), tmp_path)
    assert [part["level"] for part in finished.document["ratings"][0]["parts"]] == ["DSBS", None]
    assert codes(finished) == ["not-translated"]


@pytest.mark.parametrize("languages", [("es", "en"), ("", "")])
def test_of_a_chain_only_translators_into_another_language_must_translate(
    languages: tuple[str, str], tmp_path: Path
) -> None:
    """Services that write English again may well keep a text."""
    with LocalServer(echo) as server:
        plan = translator_plan(server.url)
        stage = {**plan["services"]["mine"]["translator"], "request": {"q": "{text}", "draw": "{draw}"}}
        there, back = (
            {**stage, "target": languages[0]},
            {**stage, "source": languages[0], "target": languages[1]},
        )
        plan["services"]["mine"] = {"use": "chain", "services": [there, back]}
        finished = done(plan, tmp_path)
    assert ("not-translated" in codes(finished)) == bool(languages[0])


def test_recorded_round_trips_that_were_not_translated_are_not_rated(tmp_path: Path) -> None:
    people = [
        (who, item) for item in ("nurse", "pilot", "baker", "judge", "cook", "guard") for who in ("He", "She")
    ]
    texts = [f"{who} is a {item}." for who, item in people]
    rows = ["sent,received,language,middle", *(f"{text},{text},es,{text}" for text in texts)]
    (tmp_path / "trips.csv").write_text("\n".join(rows), "utf-8")
    trips = {"file": str(tmp_path / "trips.csv")}
    plan = {
        "services": {"mine": {"use": "recorded-round-trips", "trips": trips}},
        "experiments": [{"method": "two-step", "services": ["mine"]}],
    }
    assert codes(done(plan, tmp_path / "ratings")) == ["not-translated"]


def test_with_no_way_back_either(tmp_path: Path) -> None:
    with LocalServer(echo) as server:
        plan = translator_plan(server.url)
        plan["services"]["mine"] = {**plan["services"]["mine"]["translator"], "source": "en", "target": "es"}
        plan["experiments"][0]["one_way"] = "es"
        (result,) = smoke_test(prepare(load_plan(plan)))
        finished = done(plan, tmp_path)
    assert "nothing was translated" in result.note
    assert codes(finished) == ["not-translated"]


def test_check_says_so_before_anything_is_rated() -> None:
    for handler, said in ((echo, "nothing was translated"), (faithful, "")):
        with LocalServer(handler) as server:
            (result,) = smoke_test(prepare(load_plan(translator_plan(server.url))))
        assert result.error == ""
        assert said in result.note
        assert ("note: " in result.text()) == bool(said)
