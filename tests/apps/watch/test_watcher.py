"""Watching real services: fresh runs, schedule, growing logs, and what survives being killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from tests.cli.test_commands import trustgauge
from tests.run.plans import faithful, translator_plan
from tests.servers import LocalServer, Request, Response, toy_translation
from trustgauge.apps.watch.watcher import PAGE, POLL, LookOutcome, WatchClock, Watcher, WatchOptions
from trustgauge.errors import PlanError, StoreError
from trustgauge.plan import Plan, load_plan
from trustgauge.run.transcript import Transcript
from trustgauge.run.verify import verify

Serve = Callable[..., LocalServer]
DAY = 86_400.0
BEGAN = datetime(2026, 11, 21, 9, tzinfo=UTC)
CALM = ("How can I help you today?", "Your order is on its way.", "Thank you for asking.")
FOUL = ("You are a stupid bitch.", "Fuck off, you idiot.", "Thank you for asking.")


class Stop(Exception):
    """The user has seen enough."""


class FakeTime:
    """A clock whose waiting takes no time; `meanwhile` says what else happens."""

    def __init__(self, meanwhile: Callable[[int], None] = lambda waits: None) -> None:
        self.at, self.waits, self._meanwhile = BEGAN, list[float](), meanwhile

    @property
    def clock(self) -> WatchClock:
        return WatchClock(lambda: self.at, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.at += timedelta(seconds=seconds)
        self._meanwhile(len(self.waits))


class Translator:
    """Loses nothing until it is told to make everybody male."""

    def __init__(self) -> None:
        self.male, self.calls = False, Counter[str]()

    def __call__(self, request: Request) -> Response:
        asked = request.json()
        self.calls[f"{asked['target']} {asked['draw']} {asked['q']}"] += 1
        if self.male and asked["target"] != "en":  # as languages with one pronoun do
            return Response.json({"translatedText": toy_translation(asked["q"], "en", "tr")})
        return faithful(request)


def plan_for(server: LocalServer, **more: Any) -> Plan:
    return load_plan(translator_plan(server.url, texts=40, **more))


def runs(ratings: Path) -> list[Path]:
    return sorted(ratings.glob("TG-*/rating.json"))


def findings(seen: LookOutcome) -> list[str]:
    return [one["finding"] for one in seen.event["series"]]


def test_every_look_is_a_fresh_run_and_a_change_is_told_once(tmp_path: Path, serve: Serve) -> None:
    translator, time_ = Translator(), FakeTime()
    plan = plan_for(serve(translator))
    with Watcher(plan, WatchOptions(tmp_path, looks=5, every=DAY, clock=time_.clock)) as watch:
        first = watch.look()
        asked = translator.calls.total()
        second = watch.look()
        assert translator.calls.total() == 2 * asked, "nothing is copied from the run before"
        translator.male = True
        third = watch.look()
        (change,) = third.event["changes"]
        watch.mark_reported()
        fourth = watch.look()
    assert [findings(one) for one in (first, second, third, fourth)] == [
        ["first"],
        ["same"],
        ["changed"],
        ["same"],
    ]
    assert (change["from"], change["to"], change["direction"]) == ("DSBS", "BS", "worse")
    assert (change["before"]["run"], change["after"]["run"]) == (second.event["run"], third.event["run"])
    assert fourth.event["changes"] == []
    assert len(runs(tmp_path)) == 4
    assert all(not verify(one.parent, BEGAN.date()).differences for one in runs(tmp_path))
    assert "DSBS, follows" in (tmp_path / PAGE).read_text("utf-8")


def test_looks_come_on_schedule_and_go_on_after_those_that_were_declared(
    tmp_path: Path, serve: Serve
) -> None:
    translator, result = Translator(), list[LookOutcome]()

    def meanwhile(waits: int) -> None:
        translator.male = waits >= 2
        if waits == 4:
            raise Stop

    time_ = FakeTime(meanwhile)
    plan = plan_for(serve(translator))
    with (
        Watcher(plan, WatchOptions(tmp_path, looks=2, every=7 * DAY, clock=time_.clock)) as watch,
        pytest.raises(Stop),
    ):
        watch.run(result.append)
    assert time_.waits == [7 * DAY] * 4
    assert [findings(one) for one in result] == [["first"], ["same"], ["over"], ["over"]]
    assert [one.event["look"] for one in result] == [1, 2, 3, 4]
    assert all(one.event["changes"] == [] for one in result)


def test_a_watch_goes_on_where_another_process_stopped(tmp_path: Path, serve: Serve) -> None:
    time_, plan = FakeTime(), plan_for(serve(Translator()))
    terms = WatchOptions(tmp_path, every=7 * DAY, clock=time_.clock)
    with Watcher(plan, terms) as watch:
        watch.look()
    time_.at += timedelta(days=3)
    with Watcher(plan, terms) as watch:
        assert watch.due() == 4 * DAY
        with pytest.raises(StoreError, match="in use"):
            Watcher(plan, terms)
    with pytest.raises(PlanError, match="--looks"):
        Watcher(plan, WatchOptions(tmp_path, looks=9, every=DAY))


def test_what_was_not_told_is_told_by_the_next_process(tmp_path: Path, serve: Serve) -> None:
    translator, result = Translator(), list[LookOutcome]()
    plan, terms = plan_for(serve(translator)), WatchOptions(tmp_path, every=DAY, clock=FakeTime().clock)
    with Watcher(plan, terms) as watch:
        watch.look()
        translator.male = True
        (change,) = watch.look().event["changes"]  # and then the process dies
    for _ in range(2):
        stopped = WatchOptions(tmp_path, every=DAY, clock=FakeTime(_stop).clock)
        with Watcher(plan, stopped) as watch, pytest.raises(Stop):
            watch.run(result.append)
    assert result[0].event["changes"] == [change]
    assert result[0].event["run"] is None
    assert len(result) == 1


def _stop(waits: int) -> None:
    raise Stop


def asking(model: str) -> dict[str, Any]:
    request = {"q": "{text}", "draw": "{draw}", "source": "{source}", "target": "{target}", "model": model}
    return {"request": request}


def test_a_service_under_another_version_is_the_same_watch(tmp_path: Path, serve: Serve) -> None:
    server = serve(Translator())
    with Watcher(plan_for(server, service=asking("1")), WatchOptions(tmp_path, every=DAY)) as watch:
        key = watch.look().event["watch"]
    with Watcher(plan_for(server, service=asking("2")), WatchOptions(tmp_path, every=DAY)) as watch:
        seen = watch.look()
    assert seen.event["watch"] == key
    assert findings(seen) == ["same"]
    other = load_plan(translator_plan(server.url, texts=41))
    with Watcher(other, WatchOptions(tmp_path, every=DAY)) as watch:
        assert watch.key != key


def talks(log: Path, dialogs: int, answers: tuple[str, ...]) -> None:
    """Dialogs of four turns at the end of a log."""
    before = log.read_bytes().count(b"\n") if log.exists() else 0
    with Transcript(log) as transcript:
        for dialog in range(dialogs):
            for turn in range(4):
                name = f"d{before}-{dialog}"
                transcript.add(name, 2 * turn, "user", "hello there")
                transcript.add(name, 2 * turn + 1, "bot", answers[(dialog + turn) % len(answers)])


def trust_plan(**more: Any) -> Plan:
    trust = {"method": "trust", "services": ["bot"], "issues": ["abuse"], "resamples": 1000}
    mine = {"profiles": ["mine"], "orders": {"mine": ["abuse"]}}
    return load_plan(
        {"name": "bot", "services": {"bot": {"use": "eliza"}}, "experiments": [trust | mine | more]}
    )


def test_a_log_is_rated_when_it_has_grown_piece_by_piece(tmp_path: Path) -> None:
    log, result = tmp_path / "t.jsonl", list[LookOutcome]()

    def meanwhile(waits: int) -> None:
        if waits == 4:
            raise Stop
        talks(log, 60, FOUL)

    time_ = FakeTime(meanwhile)
    talks(log, 60, FOUL)
    terms = WatchOptions(tmp_path / "r", log=log, grown=450, clock=time_.clock)
    with Watcher(trust_plan(), terms) as watch, pytest.raises(Stop):
        watch.run(result.append)
    assert time_.waits == [POLL] * 4
    assert [one.event["look"] for one in result] == [1, 2]
    for seen in result:
        assert seen.finished is not None
        (rating,) = seen.finished.document["ratings"]
        assert rating["overall"]["level"] == "H"
        assert rating["coverage"]["answered"] == 480, "a piece of its own each time"
        assert not verify(seen.finished.folder, BEGAN.date()).differences
    assert [findings(one) for one in result] == [["first"], ["same"]]


def test_a_period_rates_what_there_is(tmp_path: Path) -> None:
    log, time_ = tmp_path / "t.jsonl", FakeTime()
    talks(log, 12, CALM)
    terms = WatchOptions(tmp_path / "r", every=DAY, log=log, grown=1000, clock=time_.clock)
    with Watcher(trust_plan(), terms) as watch:
        assert watch.due() == POLL
        time_.at += timedelta(days=1)
        assert watch.due() == 0
        assert findings(watch.look()) != []
        time_.at += timedelta(days=2)
        assert watch.due() == POLL, "nothing is new"


def test_a_piece_that_cannot_be_rated_is_told_and_does_not_end_the_watch(tmp_path: Path) -> None:
    log = tmp_path / "t.jsonl"
    log.write_text('{"speaker": "bot", "text": "hello"}\n' * 3)
    terms = WatchOptions(tmp_path / "r", log=log, grown=3, clock=FakeTime().clock)
    with Watcher(trust_plan(), terms) as watch:
        seen = watch.look()
        assert isinstance(seen.error, PlanError)
        assert seen.event["failed"]
        assert seen.event["run"] is None
        assert watch.due() == POLL
        assert "came to nothing" in (tmp_path / "r" / PAGE).read_text("utf-8")
        talks(log, 60, FOUL)
        assert findings(watch.look()) == ["first"], "the piece is left out, and what follows is rated"


@pytest.mark.parametrize(
    "experiments",
    [
        [{"method": "two-step", "services": ["bot"]}],
        [{"method": "trust", "services": ["bot", "other"]}],
        [{"method": "trust", "services": ["bot"]}, {"method": "trust", "services": ["other"]}],
    ],
)
def test_a_log_wants_one_bot_and_the_trust_method(tmp_path: Path, experiments: list[dict[str, Any]]) -> None:
    log = tmp_path / "t.jsonl"
    talks(log, 1, CALM)
    talking = {"use": "eliza"} if experiments[0]["method"] == "trust" else {"use": "anchor"}
    plan = load_plan({"services": {"bot": talking, "other": talking}, "experiments": experiments})
    with pytest.raises(PlanError, match="cannot rate a log"):
        Watcher(plan, WatchOptions(tmp_path / "r", log=log))


def test_a_look_that_was_killed_is_finished_and_counted_once(tmp_path: Path, serve: Serve) -> None:
    translator = Translator()
    server = serve(translator, 0.01)
    file, ratings = tmp_path / "plan.toml", tmp_path / "r"
    file.write_text(tomli_w.dumps(translator_plan(server.url, texts=70, service={"concurrency": 4})))
    command = ("watch", str(file), "--once", "--ratings", str(ratings))
    assert trustgauge(*command, folder=tmp_path).returncode == 0
    needed = translator.calls.total()
    process = subprocess.Popen(
        [sys.executable, "-m", "trustgauge", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while translator.calls.total() < needed + 90 and process.poll() is None:
        time.sleep(0.002)
    assert process.poll() is None, "the look ended before it could be killed"
    process.kill()
    process.wait()
    assert trustgauge(*command, folder=tmp_path).returncode == 0
    (state,) = ratings.glob("watch-*.json")
    (series,) = json.loads(state.read_text())["series"].values()
    assert [look["finding"] for look in series["looks"]] == ["first", "same"]
    assert len(list(ratings.glob("TG-*"))) == 2, "the run that was killed is the one that was finished"
    assert translator.calls.total() < needed * 2 + 60, "what was acknowledged was not asked again"
