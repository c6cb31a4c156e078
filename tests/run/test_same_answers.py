"""One and the same answer to different questions is not rated until somebody says that it is meant."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.run.plans import but_for_times, faithful, translator_plan
from tests.servers import LocalServer, Request, Response
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.reports import sentences, views
from trustgauge.reports.label import label
from trustgauge.run.ask import FIRST
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import forecast, prepare
from trustgauge.run.run import RunResult, rate
from trustgauge.run.verify import verify
from trustgauge.terminal.output import exit_of

TODAY = date(2026, 1, 2)
REFUSAL = "I cannot judge whole groups of people."


def hello(_: Request) -> Response:
    return Response.json({"translatedText": "hello", "answer": "hello", "score": 0.25})


def refusing(_: Request) -> Response:
    return Response.json({"answer": REFUSAL})


def chat_plan(url: str, method: str, **experiment: Any) -> Any:
    request = {"text": "{text}", "draw": "{draw}"}
    service = {"use": "http", "url": url, "request": request}
    service |= {"task": "score", "response": "score"} if method == "causal" else {}
    service |= {"task": "chat", "response": "answer"} if method != "causal" else {}
    return {
        "services": {"bot": service},
        "experiments": [{"method": method, "services": ["bot"], **experiment}],
        "seed": 3,
    }


def done(plan: Any, folder: Path, **how: Any) -> RunResult:
    return rate(load_plan(plan), RunOptions(folder, **how))


def summary(finished: RunResult) -> tuple[str, str | None, list[str], int]:
    """State and level of the first rating, the codes of its reasons, and the exit code."""
    rating = finished.document["ratings"][0]
    codes = [reason["code"] for reason in rating["reasons"]]
    return rating["state"], rating["overall"]["level"], codes, exit_of(finished.document).code


REFUSED = ("incomplete", None, ["same-answer"], 4)


def test_an_api_that_always_says_hello_is_not_rated(tmp_path: Path) -> None:
    with LocalServer(hello) as server:
        plan = translator_plan(server.url, texts=200, service={"concurrency": 4})
        finished = done(plan, tmp_path)
        assert summary(finished) == REFUSED
        # Both ways of the first texts, and what was under way, of 1,200 calls.
        assert 2 * FIRST <= len(server.requests) <= 2 * FIRST + 2 * 300
        again = done(plan, tmp_path)
        calls = forecast(prepare(load_plan(plan), RunOptions(tmp_path)), RunOptions(tmp_path)).calls
    rating = finished.document["ratings"][0]
    (part,) = rating["parts"]
    assert (part["state"], part["level"], part["score"], part["certainty"]) == ("incomplete", None, None, {})
    (reason,) = rating["reasons"]
    said = sentences.reason(reason)
    assert "different questions got the same answer, “hello”" in said
    assert 'constant_services = ["mine"]' in said
    assert views.tiles(rating)[0][2].endswith(" questions not asked"), "nobody lost them"
    assert (again.asked.calls, calls) == (0, 0), "what is at fault is not asked on"
    first, second = (but_for_times(one.document)["ratings"] for one in (finished, again))
    assert first == second
    assert verify(finished.folder, TODAY).differences == ()


@pytest.mark.parametrize("output", ["", " \n"])
def test_an_api_that_answers_nothing_is_not_rated(output: str, tmp_path: Path) -> None:
    with LocalServer(lambda _: Response.json({"translatedText": output})) as server:
        finished = done(translator_plan(server.url, texts=200, service={"concurrency": 4}), tmp_path)
        assert FIRST <= len(server.requests) <= FIRST + 300
    assert summary(finished) == REFUSED
    (reason,) = finished.document["ratings"][0]["reasons"]
    said = sentences.reason(reason)
    assert said.startswith("Nothing was answered: ")
    assert 'constant_services = ["mine"]' in said
    assert verify(finished.folder, TODAY).differences == ()


def test_a_bot_that_says_nothing_is_not_asked_on_for_a_second_method(tmp_path: Path) -> None:
    with LocalServer(lambda _: Response.json({"answer": ""})) as server:
        few = {"resamples": 1000, "permutations": 199, "attributes": ["gender"], "questions": 200}
        plan = chat_plan(server.url, "trust", issues=["abuse"], profiles=["safe-language"], talks=20)
        plan["experiments"] += chat_plan(server.url, "social-bias", **few)["experiments"]
        plan["services"]["bot"]["concurrency"] = 4
        finished = done(plan, tmp_path)
        asked = len(server.requests)
        assert asked < 2 * FIRST
        again = done(plan, tmp_path)
        assert len(server.requests) == asked
    for one in (finished, again):
        reasons = [[reason["code"] for reason in rating["reasons"]] for rating in one.document["ratings"]]
        assert reasons == [["same-answer"]] * 2, "nobody is advised to go on who cannot"
    assert verify(finished.folder, TODAY).differences == ()


def test_a_fault_in_one_language_is_said_of_that_language(tmp_path: Path) -> None:
    def back(request: Request) -> Response:
        asked = json.loads(request.body)
        spanish = "es" in (asked["source"], asked["target"])
        text = asked["q"].removeprefix("~") if asked["target"] == "en" else f"~{asked['q']}"
        return Response.json({"translatedText": "" if spanish and asked["target"] == "en" else text})

    with LocalServer(back) as server:
        finished = done(translator_plan(server.url, texts=40, via=("es", "fr")), tmp_path)
    (rating,) = finished.document["ratings"]
    assert summary(finished) == REFUSED
    assert {part["key"]: part["level"] for part in rating["parts"]} == {"es": None, "fr": "DSBS"}
    said = "Not rated because of Spanish. Nothing was answered: "
    assert sentences.no_level(rating).startswith(said)
    shown = label(rating)
    assert "Not rated: fault in 1 of 2 languages" in shown
    assert "to everything" not in shown


def test_some_empty_answers_are_no_fault(tmp_path: Path) -> None:
    def answers_after_a_while(request: Request) -> Response:
        heard.append(request.body.decode())
        return Response.json({"translatedText": ""}) if len(heard) < 20 else faithful(request)

    heard: list[str] = []
    with LocalServer(answers_after_a_while) as server:
        finished = done(translator_plan(server.url, service={"concurrency": 1}), tmp_path)
    assert "same-answer" not in summary(finished)[2]
    assert finished.document["ratings"][0]["coverage"]["empty"] == 19


def test_one_language_of_two_is_at_fault(tmp_path: Path) -> None:
    def french_is_down(request: Request) -> Response:
        asked = request.json()
        return hello(request) if asked["source"] == "fr" else faithful(request)

    with LocalServer(french_is_down) as server:
        finished = done(translator_plan(server.url, via=("es", "fr")), tmp_path)
    assert summary(finished) == REFUSED
    rating = finished.document["ratings"][0]
    spanish, french = rating["parts"]
    assert (spanish["level"], french["level"]) == ("DSBS", None)
    assert sentences.notes(french, rating) == ["not rated: one answer to everything"]


def test_a_fault_that_cannot_change_the_worst_level_leaves_it(tmp_path: Path) -> None:
    def all_he(request: Request) -> Response:
        asked = request.json()
        if asked["source"] == "fr":
            return hello(request)
        text = asked["q"].removeprefix("~") if asked["target"] == "en" else f"~{asked['q']}"
        for she, he in (("She", "He"), ("she", "he"), ("herself", "himself"), ("her", "his")):
            text = text.replace(she, he) if asked["target"] == "en" else text
        return Response.json({"translatedText": text})

    with LocalServer(all_he) as server:
        plan = translator_plan(server.url, texts=40, via=("es", "fr"))
        finished = done(plan, tmp_path)
        assert summary(finished) == ("rated", "BS", ["fault-does-not-matter"], 0)
        rating = finished.document["ratings"][0]
        assert rating["overall"]["certainty"]["BS"] == rating["parts"][0]["certainty"]["BS"] >= 0.95
        assert (rating["overall"]["worst"], rating["parts"][1]["level"]) == (["es"], None)
        assert any("same answer" in line for _, lines in views.part_reasons(rating) for line in lines)
        assert verify(finished.folder, TODAY).differences == ()
        plan["experiments"][0]["aggregate"] = "vote"
        assert summary(done(plan, tmp_path)) == REFUSED


def test_what_is_meant_is_confirmed_by_the_plan(tmp_path: Path) -> None:
    with LocalServer(hello) as server:
        plan = translator_plan(server.url, experiment={"constant_services": ["mine"]})
        finished = done(plan, tmp_path)
    assert len(server.requests) == 240
    assert "same-answer" not in summary(finished)[2]
    with pytest.raises(PlanError, match=r'experiments\[0\].constant_services: no service "mien"'):
        load_plan(translator_plan("http://localhost", experiment={"constant_services": ["mien"]}))


@pytest.mark.parametrize("slice_rows", [30, 50_000])
def test_dialogs_whose_every_answer_is_good_day_are_not_rated(tmp_path: Path, slice_rows: int) -> None:
    lines = [
        {"dialog": f"d{number // 3}", "speaker": who, "text": said}
        for number in range(60)
        for who, said in (("user", f"What is on page {number}?"), ("bot", "Good day."))
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    few = {"profiles": ["safe-language"], "resamples": 1000}
    plan = {
        "services": {"log": {"use": "dialogs", "dialogs": {"file": str(tmp_path / "log.jsonl")}}},
        "experiments": [{"method": "trust", "services": ["log"], "issues": ["abuse", "complexity"], **few}],
    }
    finished = done(plan, tmp_path / "ratings", slice_rows=slice_rows)
    assert summary(finished) == REFUSED
    assert {part["level"] for part in finished.document["ratings"][0]["parts"]} == {None}
    assert verify(finished.folder, TODAY).differences == ()


def test_a_bot_that_always_refuses_is_rated_and_one_that_always_greets_is_not(tmp_path: Path) -> None:
    outcomes = []
    few = {"attributes": ["gender"], "questions": 200, "resamples": 1000, "permutations": 199}
    for handler in (refusing, hello):
        with LocalServer(handler) as server:
            finished = done(chat_plan(server.url, "social-bias", **few), tmp_path)
            outcomes.append((summary(finished)[2] == ["same-answer"], len(server.requests)))
    planned = finished.ask_plan.probes[0, "chat"].height
    (refuser_fails, refuser_calls), (greeter_fails, greeter_calls) = outcomes
    assert (refuser_fails, refuser_calls) == (False, planned)
    assert greeter_fails
    assert greeter_calls < planned


def test_a_scorer_that_gives_everything_one_score_is_rated(tmp_path: Path) -> None:
    small = {"groups": [1, 2], "frames": 2, "persons": 2, "resamples": 1000, "permutations": 999}
    with LocalServer(hello) as server:
        finished = done(chat_plan(server.url, "causal", **small), tmp_path)
    assert "same-answer" not in summary(finished)[2]
    gender, *_ = finished.document["ratings"][0]["parts"]
    assert gender["level"] == "1"
    assert "causal.constant-scores" in [reason["code"] for reason in gender["reasons"]]


def test_two_answers_or_few_questions_are_no_fault(tmp_path: Path) -> None:
    heard: list[str] = []

    def hello_but_once(request: Request) -> Response:
        heard.append(request.body.decode())
        return hello(request) if len(heard) != 20 else Response.json({"translatedText": "Hi."})

    with LocalServer(hello_but_once) as server:
        service = {"concurrency": 1}
        assert "same-answer" not in summary(done(translator_plan(server.url, service=service), tmp_path))[2]
    with LocalServer(hello) as server:
        few = translator_plan(server.url, texts=3)
        assert "same-answer" not in summary(done(few, tmp_path))[2]
