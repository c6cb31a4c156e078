"""The engine from end to end, in virtual time: order, statuses, chains, sessions, sharing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from math import ceil

import pytest

from tests.engine.virtual import Batched, Composite, Scripted, Sure, VirtualTime, echo, scripted, units
from trustgauge.engine.local import BudgetLimits, EngineOutcome, Job, LocalEngine, run
from trustgauge.errors import (
    GarbledError,
    KeyMissingError,
    RefusedError,
    RejectedError,
    SameAnswerError,
    UnavailableError,
)
from trustgauge.records import Answer, Message, Reply, digest


class Run:
    """Runs jobs and holds what came of it."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.answers: list[Answer] = []
        self.events: list[dict[str, object]] = []

    def keep(self, *answers: Answer) -> None:
        self.answers.extend(answers)

    def __call__(self, *jobs: Job, limits: BudgetLimits | None = None) -> EngineOutcome:
        return run(jobs, self.keep, limits, self.events.append, engine=LocalEngine(clock=self.time.clock))

    def kinds(self) -> list[object]:
        return [event["event"] for event in self.events]

    def by_text(self) -> dict[str, Answer]:
        return {answer.text: answer for answer in self.answers}


def test_every_message_is_answered_once() -> None:
    live = scripted("one", echo)
    ask = Run()
    outcome = ask(Job("one", Scripted(name="one"), units(300)))
    assert outcome.stopped is None
    assert outcome.calls == len(live.messages) == len(ask.answers) == 300
    assert sorted(live.messages) == sorted(text for text in ask.by_text())
    assert outcome.tallies["one"].done == 300
    assert outcome.tallies["one"].latency_median_ms == pytest.approx(20.0)
    assert live.closed
    answer = ask.by_text()["text 7"]
    assert (answer.output, answer.status, answer.attempts) == ("TEXT 7", "answered", 1)
    assert answer.message == digest("message", "text 7")
    assert answer.fingerprint == Scripted(name="one").fingerprint
    assert answer.at.startswith("2026-11-22T12:00:00")


def test_concurrency_grows_to_its_limit_and_not_further() -> None:
    live = scripted("one", echo)
    ask = Run()
    ask(Job("one", Scripted(name="one", concurrency=40), units(1000)))
    assert live.most == 40
    assert ask.time.seconds < 1.5 * 1000 / 40 * 0.02


def test_nothing_to_ask_is_no_run() -> None:
    outcome = Run()(Job("one", Scripted(name="nobody"), []))
    assert (outcome.stopped, outcome.calls, outcome.tallies["one"].total) == (None, 0, 0)


def test_statuses_are_told_apart() -> None:
    async def answer(messages: Sequence[Message]) -> list[Reply]:
        text = messages[0].text
        if text == "text 1":
            return [Reply("I would rather not say.", refused=True)]
        if text == "text 2":
            return [Reply(" \n")]
        if text == "text 3":
            raise GarbledError("not JSON")
        if text == "text 4":
            raise RejectedError("too long")
        if text == "text 5":
            return [Reply(0.1 + 0.2)]
        if text == "text 6":
            return [Reply(float("nan"))]
        if text == "text 7":
            return [Reply("half a pair: \ud83d.")]
        return [Reply("fine", tokens=3, usd=0.01)]

    live = scripted("odd", answer)
    ask = Run()
    outcome = ask(Job("odd", Scripted(name="odd"), units(8)))
    found = ask.by_text()
    statuses = [found[f"text {number}"].status for number in range(8)]
    assert statuses == [
        *("answered", "refused", "empty", "unreadable"),
        *("failed", "answered", "unreadable", "answered"),
    ]
    assert found["text 3"].error == ""
    assert "not JSON" in found["text 3"].detail
    assert found["text 4"].error == "service.rejected"
    assert found["text 4"].output is None
    assert live.messages.count("text 4") == 1  # a rejected message is not sent again
    assert live.messages.count("text 3") == 3
    assert found["text 5"].output == repr(0.1 + 0.2)
    assert found["text 7"].output == "half a pair: \ufffd."
    assert found["text 0"].tokens == 3
    assert outcome.tallies["odd"].failed == 1
    assert outcome.tallies["odd"].retries == 4
    assert outcome.tokens == 3 + 6 * 3  # what nobody could read may be billed like the dearest answer


def test_an_adapter_that_breaks_does_not_break_the_run_nor_tell_its_text() -> None:
    async def answer(messages: Sequence[Message]) -> list[Reply]:
        if messages[0].text == "text 1":
            raise ValueError("secret-key-123")
        if messages[0].text == "text 2":
            return []
        return [Reply("fine")]

    scripted("broken", answer)
    ask = Run()
    ask(Job("broken", Scripted(name="broken"), units(4)))
    found = ask.by_text()
    assert found["text 1"].status == "failed"
    assert "ValueError" in found["text 1"].detail
    assert found["text 2"].status == "unreadable"
    assert "secret-key-123" not in json.dumps([str(answer) for answer in ask.answers] + ask.events)


def test_a_chain_is_asked_leg_by_leg_with_its_trail() -> None:
    async def mark(messages: Sequence[Message]) -> list[Reply]:
        return [Reply(message.text + "!", trail=("inside",)) for message in messages]

    scripted("first", echo)
    scripted("second", mark)
    ask = Run()
    outcome = ask(Job("chain", Composite(names=("first", "second")), units(40)))
    answer = ask.by_text()["text 3"]
    assert answer.output == "TEXT 3!"
    assert answer.trail == ("TEXT 3", "inside")
    assert answer.attempts == 2
    assert answer.fingerprint == Composite(names=("first", "second")).fingerprint
    assert outcome.calls == 80


def test_an_empty_text_in_the_middle_ends_the_chain() -> None:
    async def nothing(messages: Sequence[Message]) -> list[Reply]:
        return [Reply("") for _ in messages]

    scripted("first", nothing)
    second = scripted("second", echo)
    ask = Run()
    ask(Job("chain", Composite(names=("first", "second")), units(5)))
    assert {answer.status for answer in ask.answers} == {"empty"}
    assert second.asked == []


def test_equal_texts_of_a_sure_leg_are_asked_once_but_other_draws_again() -> None:
    async def same(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.02)
        return [Reply("always the same") for _ in messages]

    first, second = scripted("first", same), scripted("second", echo)
    ask = Run()
    outcome = ask(
        Job("chain", Composite(names=("first", "second"), sure=True), units(50)),
        Job("sure", Sure(name="second"), [(Message("a", 0),), (Message("a", 1),), (Message("a", 0),)]),
    )
    assert len(first.messages) == 50
    assert sorted(second.messages) == ["a", "a", "always the same"]
    assert outcome.calls == 53
    assert sum(answer.attempts for answer in ask.answers) == 53  # what was shared cost nothing
    assert len(ask.answers) == 53


def test_a_varying_leg_is_asked_anew_for_equal_texts() -> None:
    async def same(messages: Sequence[Message]) -> list[Reply]:
        return [Reply("always the same") for _ in messages]

    scripted("first", same)
    second = scripted("second", echo)
    Run()(Job("chain", Composite(names=("first", "second")), units(20)))
    assert len(second.messages) == 20


def test_the_same_planned_question_of_two_jobs_is_asked_once() -> None:
    live = scripted("one", echo)
    ask = Run()
    outcome = ask(Job("a", Scripted(name="one"), units(20)), Job("b", Scripted(name="one"), units(30)))
    assert len(live.messages) == outcome.calls == 30
    assert (outcome.tallies["a"].done, outcome.tallies["b"].done) == (20, 30)


def test_messages_travel_in_batches_and_singly_after_a_failed_batch() -> None:
    async def picky(messages: Sequence[Message]) -> list[Reply]:
        if any(message.text == "text 13" for message in messages):
            raise RejectedError("one of them is bad")
        return [Reply(message.text) for message in messages]

    live = scripted("many", picky)
    ask = Run()
    ask(Job("many", Batched(name="many"), units(40)))
    sizes = [len(batch) for _, batch in live.asked]
    assert sizes.count(10) == 4
    assert sizes.count(1) == 10
    statuses = {answer.text: answer.status for answer in ask.answers}
    assert [text for text, status in statuses.items() if status != "answered"] == ["text 13"]


def test_a_refused_key_stops_its_service_only() -> None:
    async def refuse(messages: Sequence[Message]) -> list[Reply]:
        raise RefusedError("HTTP 401")

    closed = scripted("closed", refuse)
    scripted("open", echo)
    ask = Run()
    outcome = ask(
        Job("closed", Scripted(name="closed"), units(500)), Job("open", Scripted(name="open"), units(50))
    )
    assert len(closed.asked) <= 16
    assert outcome.stopped is None
    assert list(outcome.refused) == ["closed"]
    assert isinstance(outcome.refused["closed"], RefusedError)
    assert outcome.tallies["closed"].pending == 500
    assert outcome.tallies["open"].done == 50
    assert {answer.fingerprint for answer in ask.answers} == {Scripted(name="open").fingerprint}


class Keyless(Scripted):
    """A service whose key is not set."""

    def open(self) -> object:  # type: ignore[override]
        raise KeyMissingError("the variable NO_SUCH_KEY is empty")


def test_a_missing_key_sends_nothing() -> None:
    ask = Run()
    outcome = ask(Job("keyless", Keyless(name="none"), units(5)))
    assert outcome.calls == 0
    assert isinstance(outcome.refused["keyless"], KeyMissingError)
    assert ask.answers == []


def session(name: str, turns: int, draw: int = 0) -> tuple[Message, ...]:
    script = tuple(f"{name} says {turn}" for turn in range(turns))
    return tuple(Message(text, draw, name, script=script, turn=turn) for turn, text in enumerate(script))


def test_turns_of_a_session_go_in_order_with_what_was_said() -> None:
    live = scripted("bot", echo)
    kept: list[tuple[Answer, ...]] = []
    time = VirtualTime()
    jobs = [Job("bot", Scripted(name="bot"), [session("ann", 3), session("bob", 3)])]
    run(jobs, lambda *answers: kept.append(answers), engine=LocalEngine(clock=time.clock))
    on_the_way, kept = [one for one in kept if len(one) == 1], [one for one in kept if len(one) > 1]
    assert [len(group) for group in kept] == [3, 3]  # a session counts as a whole
    assert [(one.status, one.error, one.output) for (one,) in on_the_way[:2]] == [
        ("failed", "unfinished", "ANN SAYS 0"),  # until it is whole, its turns are evidence only
        ("failed", "unfinished", "BOB SAYS 0"),
    ]
    assert sum(one.attempts for group in (*on_the_way, *kept) for one in group) == 6  # each counted once
    last = next(batch[0] for _, batch in live.asked if batch[0].text == "ann says 2")
    assert last.turns == (("ann says 0", "ANN SAYS 0"), ("ann says 1", "ANN SAYS 1"))
    assert live.most == 2  # sessions in parallel, turns not
    for group in kept:
        for turn, answer in enumerate(group):
            assert answer.message == digest("turn", json.loads(answer.script))
            assert json.loads(answer.script)[2] == turn


@pytest.mark.parametrize("batch", [1, 10])
def test_conversations_that_are_under_way_go_on_before_others_begin(batch: int) -> None:
    """What a kill loses are those under way: no more than are asked at once, while every slot is in use."""
    turns, talks, at_once = 5, 100, 4
    kind = Batched if batch > 1 else Scripted
    live = scripted("bot", echo)
    ask = Run()
    ask(Job("bot", kind(name="bot", concurrency=at_once), [session(f"{n}", turns) for n in range(talks)]))
    left: dict[str, int] = {}
    for text in live.messages:
        name, _, turn = text.split()
        left[name] = turns - 1 - int(turn)
        assert sum(count > 0 for count in left.values()) <= at_once * batch
    assert list(left) == [f"{n}" for n in range(talks)], "they begin in the order of the design"
    assert ask.time.seconds == pytest.approx(0.02 * turns * ceil(talks / (at_once * batch)), rel=0.05)


def test_a_conversation_that_waits_keeps_no_slot_from_others() -> None:
    """One that is to be asked again after a wait; as many as may be are under way meanwhile."""

    async def falters(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.02)
        if messages[0].text == "0 says 1" and live.messages.count("0 says 1") < 4:
            raise UnavailableError("not now")
        return [Reply("fine")]

    live = scripted("bot", falters)
    ask = Run()
    ask(Job("bot", Scripted(name="bot", concurrency=2), [session(f"{n}", 3) for n in range(50)]))
    others = [moment for moment, batch in live.asked if not batch[0].text.startswith("0 ")]
    assert max(others) < 0.02 * 150 / 2 * 1.1
    assert live.messages.count("0 says 2") == 1
    assert {one.status for one in ask.answers[-3:]} == {"answered"}


def test_a_session_broken_off_is_pending_as_a_whole() -> None:
    async def leaves(messages: Sequence[Message]) -> list[Reply]:
        if messages[0].text == "ann says 1":
            raise RejectedError("no")
        return [Reply("yes")]

    scripted("bot", leaves)
    ask = Run()
    outcome = ask(Job("bot", Scripted(name="bot"), [session("ann", 3), session("bob", 3)]))
    by_status: dict[str, list[str]] = {}
    for answer in ask.answers:
        by_status.setdefault(answer.status, []).append(answer.text)
        assert answer.message == digest("turn", json.loads(answer.script))
    broken = {one.text: one for one in ask.answers if one.error not in ("", "unfinished")}
    assert sorted(broken) == [f"ann says {turn}" for turn in range(3)]
    assert (broken["ann says 0"].output, broken["ann says 1"].output) == ("yes", None)
    assert sorted(by_status["answered"]) == [f"bob says {turn}" for turn in range(3)]
    assert "broken" in ask.kinds()
    assert (outcome.tallies["bot"].done, outcome.tallies["bot"].failed) == (1, 1)
    assert sum(answer.attempts for answer in ask.answers) == outcome.calls == 5


def test_what_keep_raises_ends_the_run_and_is_raised() -> None:
    scripted("one", echo)

    def full(*answers: Answer) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run(
            [Job("one", Scripted(name="one"), units(500))],
            full,
            engine=LocalEngine(clock=VirtualTime().clock),
        )


def test_a_part_whose_answers_are_at_fault_is_stopped_alone_and_they_are_kept() -> None:
    scripted("one", echo)
    live = scripted("two", echo)
    ask = Run()
    mark = Scripted(name="one").fingerprint

    def watchful(*answers: Answer) -> None:
        ask.answers.extend(answers)
        if sum(answer.fingerprint == mark for answer in ask.answers) >= 10 and answers[0].fingerprint == mark:
            raise SameAnswerError(mark, "hello", 10)

    jobs = [Job("one", Scripted(name="one"), units(500)), Job("two", Scripted(name="two"), units(500))]
    outcome = run(jobs, watchful, None, ask.events.append, engine=LocalEngine(clock=ask.time.clock))
    assert outcome.stopped is None
    assert isinstance(outcome.refused["one"], SameAnswerError)
    mine = sum(answer.fingerprint == mark for answer in ask.answers)
    assert 10 <= mine < 10 + Scripted(name="one").concurrency, "but for calls under way"
    assert mine + outcome.tallies["one"].pending == 500
    assert len(live.messages) == 500
    assert ask.kinds().count("stopped") == 1


def test_what_the_watcher_raises_ends_the_run_and_is_raised() -> None:
    scripted("one", echo)

    def broken(event: dict[str, object]) -> None:
        if event["event"] == "answer":
            raise OSError("the event log is full")

    job = Job("one", Scripted(name="one"), units(50))
    with pytest.raises(OSError, match="event log"):
        run([job], lambda *answers: None, watch=broken, engine=LocalEngine(clock=VirtualTime().clock))


def test_who_waited_for_the_answer_of_a_stopped_job_asks_for_itself() -> None:
    async def refuse(messages: Sequence[Message]) -> list[Reply]:
        raise RefusedError("HTTP 401")

    first = scripted("first", echo)
    scripted("closed", refuse)
    ask = Run()
    outcome = ask(
        Job("stops", Composite(names=("first", "closed"), sure=True), units(100)),
        Job("goes on", Sure(name="first", concurrency=1), units(100)),
    )
    assert outcome.tallies["goes on"].done == 100
    assert len(first.messages) <= 101
    assert outcome.tallies["stops"].pending == 100


def test_events_tell_the_whole_story() -> None:
    scripted("one", echo)
    ask = Run()
    ask(Job("one", Scripted(name="one"), units(40)))
    kinds = ask.kinds()
    assert kinds[0] == "plan"
    assert kinds.count("answer") == 40
    assert kinds[-2:] == ["part-done", "done"]
    assert ask.events[-1]["calls"] == 40
    json.dumps(ask.events)


def test_limits_hold_over_all_runs_of_one_engine() -> None:
    scripted("one", echo)
    engine = LocalEngine(clock=VirtualTime().clock)
    kept: list[Answer] = []
    engine.start(lambda *answers: kept.extend(answers), BudgetLimits(calls=50), None)
    first = engine.run([Job("one", Scripted(name="one"), units(30))])
    second = engine.run([Job("one", Scripted(name="one"), units(30, "more"))])
    engine.stop()
    assert (first.stopped, first.calls) == (None, 30)
    assert (second.stopped, second.calls) == ("limit reached: calls 50", 20)
    assert len(kept) == 50
