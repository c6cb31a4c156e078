"""Several workers, without the network between them: who gets what, and what comes of it."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.apps.distributed.pools import Shared, Threads
from tests.engine.shouting import asked, http, upper
from tests.engine.virtual import Composite, Scripted, Sure, echo, scripted, units
from tests.servers import LocalServer, Request, Response
from tests.store.rows import answer
from trustgauge.apps.distributed import worker as batches
from trustgauge.apps.distributed.worker import BatchReport, WorkBatch
from trustgauge.engine import KINDS, RetryPolicy
from trustgauge.engine.local import BudgetLimits, Interruption, Job
from trustgauge.engine.progress import Progress
from trustgauge.errors import DiskFullError, RefusedError, SameAnswerError, ServiceError, StoreError
from trustgauge.records import Answer, Cost, Message, Reply
from trustgauge.store.folder import WORKER_LOGS
from trustgauge.store.worker_log import WorkerLog

Serve = Callable[..., LocalServer]


def test_every_message_of_every_service_is_answered_once(tmp_path: Path, serve: Serve) -> None:
    servers = [serve(upper), serve(upper), serve(upper)]
    crew = Threads()
    shared = Shared(tmp_path, crew)
    jobs = [Job(f"part {n}", http(one), units(220, f"p{n}")) for n, one in enumerate(servers)]
    outcome = shared(*jobs)
    assert outcome.stopped is None
    assert outcome.calls == 660
    for number, server in enumerate(servers):
        assert asked(server) == Counter({f"p{number} {n}": 1 for n in range(220)})
    assert len(shared.answers) == 660
    assert {answer.output for answer in shared.answers} == {answer.text.upper() for answer in shared.answers}
    for number in range(3):
        tally = outcome.tallies[f"part {number}"]
        assert (tally.total, tally.done, tally.failed, tally.calls, tally.pending) == (220, 220, 0, 220, 0)
        assert tally.latency_median_ms is not None
        assert tally.latency_median_ms > 0
    sizes = {sum(len(job.units) for job in batch.jobs) for batch, _ in crew.given}
    assert sizes == {50, 20}
    assert crew.closed == [True]
    assert shared.commits == 1
    assert not (tmp_path / WORKER_LOGS).exists()


def test_events_tell_of_the_run_and_not_of_its_batches(tmp_path: Path, serve: Serve) -> None:
    shared = Shared(tmp_path, Threads())
    shared(Job("a", http(serve(upper)), units(120)), Job("b", http(serve(upper)), units(30)))
    kinds = Counter(shared.kinds())
    assert kinds == {"plan": 2, "answer": 150, "part-done": 2, "done": 1}
    assert set(kinds) <= set(KINDS)
    assert shared.kinds()[:2] == ["plan", "plan"]
    assert shared.kinds()[-1] == "done"
    progress = Progress()
    for event in shared.events:
        progress.feed(event)
    assert (progress.done, progress.total, progress.over) == (150, 150, True)
    assert all(part.over for part in progress.parts.values())


def test_one_provider_is_never_with_two_workers_at_once(tmp_path: Path, serve: Serve) -> None:
    server = serve(upper, 0.005)
    crew = Threads(4)
    there = [http(server, source="en", target=code, concurrency=3) for code in ("es", "fr", "de")]
    jobs = [Job(code.target, code, units(60, code.target)) for code in there]
    outcome = Shared(tmp_path, crew, batch=20)(*jobs)
    assert outcome.calls == 180
    assert server.most_under_way <= 3  # the directions of one service share its limit
    assert len({worker for _, worker in crew.given}) == 1  # who knows its pace is given it again


def test_a_chain_joins_the_lanes_of_its_services(tmp_path: Path) -> None:
    first, second, third = scripted("x1", echo), scripted("x2", echo), scripted("x3", echo)
    crew = Threads()
    shared = Shared(tmp_path, crew, batch=10)
    outcome = shared(
        Job("one", Scripted(name="x1"), units(20, "one")),
        Job("two", Scripted(name="x3"), units(20, "two")),
        Job("both", Composite(names=("x1", "x2")), units(20, "both")),
        Job("all", Composite(names=("x2", "x3")), units(20, "all")),
    )
    assert {batch.lane for batch, _ in crew.given} == {crew.given[0][0].lane}
    assert outcome.calls == len(first.messages) + len(second.messages) + len(third.messages) == 120


def test_the_pace_of_a_batch_is_that_of_the_one_before(tmp_path: Path, serve: Serve) -> None:
    server = serve(upper)
    Shared(tmp_path, Threads(), batch=20)(Job("slow", http(server, rate=50.0), units(60)))
    times = [request.at for request in server.requests]
    assert len(times) == 60
    for start, end in zip(times, times[10:], strict=False):
        assert end - start > 10 / 50 - 0.06  # the gate catches up 10 ms, a thread is some ms late
    assert times[-1] - times[0] > 59 / 50 - 0.06


def test_the_pace_of_a_run_is_that_of_the_one_before(tmp_path: Path, serve: Serve) -> None:
    """A run is a slice of a plan: whoever knows the pace of a service is given it again, and not too soon."""
    server, crew = serve(upper), Threads()
    shared = Shared(tmp_path, crew)
    slow = http(server, rate=2.0)
    shared.engine.start(shared.keep, BudgetLimits(), None)
    shared.engine.run([Job("other", http(serve(upper)), units(1)), Job("slow", slow, units(1))])
    knows = crew.given[-1][1]
    crew.names.insert(0, "a worker that came later")
    shared.engine.run([Job("slow", slow, units(1, "next"))])
    shared.engine.stop()
    assert crew.given[-1][1] == knows
    first, second = (request.at for request in server.requests)
    assert second - first > 0.5 - 0.05
    assert shared.answers[-1].millis < 250  # it was the coordinator that waited


def test_answers_of_a_sure_leg_are_remembered_from_batch_to_batch(tmp_path: Path) -> None:
    async def same(messages: Sequence[Message]) -> list[Reply]:
        return [Reply("always the same") for _ in messages]

    scripted("first", same)
    second = scripted("second", echo)
    outcome = Shared(tmp_path, Threads(), batch=10)(
        Job("chain", Composite(names=("first", "second"), sure=True), units(40))
    )
    assert second.messages == ["always the same"]
    assert outcome.calls == 41


def test_what_runs_on_the_machine_itself_is_split_over_all_workers(tmp_path: Path) -> None:
    live = scripted("model", echo)
    crew = Threads(2)
    outcome = Shared(tmp_path, crew, batch=40)(Job("model", Sure(name="model"), units(200)))
    assert outcome.calls == 200
    assert sorted(live.messages) == sorted(f"text {number}" for number in range(200))
    by_worker = Counter(worker for batch, worker in crew.given for job in batch.jobs for _ in job.units)
    lanes = {batch.lane: worker for batch, worker in crew.given}
    assert len(lanes) == 2
    assert set(lanes.values()) == set(crew.names)
    assert len(by_worker) == 2


@pytest.mark.parametrize("calls", [1, 7, 100, 333])
def test_the_calls_of_all_workers_stay_within_the_budget(tmp_path: Path, serve: Serve, calls: int) -> None:
    servers = [serve(upper), serve(upper)]
    shared = Shared(tmp_path, Threads(), batch=30)
    jobs = [Job(f"{n}", http(one), units(300, f"p{n}")) for n, one in enumerate(servers)]
    outcome = shared(*jobs, limits=BudgetLimits(calls=calls + 5, before=Cost(calls=5)))
    made = sum(len(server.requests) for server in servers)
    assert made == outcome.calls == calls
    assert outcome.stopped == f"limit reached: calls {calls + 5}"
    assert shared.kinds()[-2:] == ["limit", "done"]
    assert len(shared.answers) == calls


def test_retries_count_and_what_they_leave_is_asked_later(tmp_path: Path, serve: Serve) -> None:
    seen: Counter[str] = Counter()

    def often_busy(request: Request) -> Response:
        text = request.json()["text"]
        seen[text] += 1
        return upper(request) if seen[text] > 2 else Response(503, b"")

    shared = Shared(tmp_path, Threads(), batch=20, retry=RetryPolicy(first=0.001, most=0.002))
    flaky = http(serve(often_busy), concurrency=2)
    outcome = shared(Job("flaky", flaky, units(40)), limits=BudgetLimits(calls=500))
    assert outcome.stopped is None
    assert set(seen.values()) == {3}
    assert outcome.calls == 120
    assert outcome.tallies["flaky"].done == 40
    assert sum(answer.attempts for answer in shared.answers) <= 120  # those cut short told nothing


def test_money_of_all_workers_stays_within_the_budget(tmp_path: Path, serve: Serve) -> None:
    servers = [serve(upper), serve(upper)]
    jobs = [Job(f"{n}", http(one, usd_per_call=0.01), units(200, f"p{n}")) for n, one in enumerate(servers)]
    outcome = Shared(tmp_path, Threads(), batch=25)(*jobs, limits=BudgetLimits(usd=1.005))
    assert sum(len(server.requests) for server in servers) == outcome.calls == 100
    assert outcome.usd == pytest.approx(1.0)
    assert outcome.stopped == "limit reached: usd 1.00"  # as the local engine says it


def test_a_reply_that_costs_more_than_the_limit_is_the_last(tmp_path: Path) -> None:
    async def dear(messages: Sequence[Message]) -> list[Reply]:
        return [Reply("fine", usd=0.06) for _ in messages]

    names = [f"dear {number}" for number in range(5)]
    lives = [scripted(name, dear) for name in names]
    jobs = [Job(name, Scripted(name=name), units(20, name)) for name in names]
    outcome = Shared(tmp_path, Threads(1), batch=10)(*jobs, limits=BudgetLimits(usd=0.05))
    assert sum(len(live.messages) for live in lives) == outcome.calls == 1
    assert outcome.stopped == "limit reached: usd 0.05"


def test_tokens_of_all_workers_stay_within_the_budget(tmp_path: Path) -> None:
    async def costly(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.001)
        return [Reply("fine", tokens=10) for _ in messages]

    lives = [scripted(name, costly) for name in ("t1", "t2")]
    jobs = [Job(name, Scripted(name=name), units(100, name)) for name in ("t1", "t2")]
    outcome = Shared(tmp_path, Threads(), batch=10)(*jobs, limits=BudgetLimits(tokens=500))
    assert outcome.tokens <= 500
    assert outcome.tokens == 10 * sum(len(live.messages) for live in lives)
    assert outcome.tokens > 400
    assert outcome.stopped == "limit reached: tokens 500"


def test_a_unit_that_the_budget_cannot_finish_is_not_begun(tmp_path: Path) -> None:
    live = scripted("talk", echo)
    script = tuple(f"line {turn}" for turn in range(4))
    sessions = [
        tuple(Message(text, 0, f"s{n}", script=script, turn=turn) for turn, text in enumerate(script))
        for n in range(5)
    ]
    outcome = Shared(tmp_path, Threads(), batch=4)(
        Job("talk", Scripted(name="talk"), sessions), limits=BudgetLimits(calls=10)
    )
    assert outcome.calls == len(live.messages) == 8
    assert outcome.tallies["talk"].done == 2
    assert outcome.stopped == "limit reached: calls 10"


def test_the_limits_hold_over_all_runs_of_an_engine(tmp_path: Path, serve: Serve) -> None:
    server = serve(upper)
    shared = Shared(tmp_path, Threads(), batch=10)
    shared.engine.start(shared.keep, BudgetLimits(calls=50), None)
    first = shared.engine.run([Job("a", http(server), units(30, "a"))])
    second = shared.engine.run([Job("b", http(server), units(30, "b"))])
    shared.engine.stop()
    assert (first.calls, first.stopped) == (30, None)
    assert (second.calls, second.stopped) == (20, "limit reached: calls 50")
    assert len(server.requests) == 50


def test_a_limit_of_time_ends_the_run_and_keeps_what_came(tmp_path: Path, serve: Serve) -> None:
    server = serve(upper, 0.05)
    shared = Shared(tmp_path, Threads(), batch=100)
    began = time.monotonic()
    outcome = shared(Job("slow", http(server, concurrency=2), units(1000)), limits=BudgetLimits(seconds=0.6))
    assert outcome.stopped == "limit reached: seconds 0.6"
    assert time.monotonic() - began < 20
    assert 0 < len(shared.answers) <= len(server.requests) < 1000


def test_a_refused_service_stops_alone_and_is_not_asked_for_its_other_parts(
    tmp_path: Path, serve: Serve
) -> None:
    def refuse(request: Request) -> Response:
        return Response(403, b"no")

    closed, fine = serve(refuse), serve(upper)
    there = http(closed, source="en", target="es", concurrency=4)
    shared = Shared(tmp_path, Threads(), batch=20)
    outcome = shared(
        Job("closed", there, units(100, "a")),
        Job("also closed", there, units(100, "b")),
        Job("open", http(fine), units(100, "c")),
    )
    assert outcome.stopped is None
    assert sorted(outcome.refused) == ["also closed", "closed"]
    assert all(isinstance(error, RefusedError) for error in outcome.refused.values())
    assert len(closed.requests) <= 4
    assert outcome.tallies["closed"].pending == outcome.tallies["also closed"].pending == 100
    assert outcome.tallies["open"].done == 100
    assert shared.kinds().count("stopped") == 1
    assert shared.kinds().count("part-done") == 3


def test_a_part_whose_answers_are_at_fault_gets_no_further_batch(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike, fine = serve(upper), serve(upper)
    shared = Shared(tmp_path, Threads(), batch=20)
    mark = http(alike).fingerprint

    def watchful(*answers: Answer) -> None:
        shared.answers.extend(answers)
        if mark in {answer.fingerprint for answer in answers}:  # both services may be in one group
            raise SameAnswerError(mark, "hello", 10)

    monkeypatch.setattr(shared, "keep", watchful)
    outcome = shared(Job("alike", http(alike), units(100, "a")), Job("fine", http(fine), units(100, "b")))
    assert outcome.stopped is None
    assert isinstance(outcome.refused["alike"], SameAnswerError)
    assert len(alike.requests) <= 40
    assert len(fine.requests) == 100
    assert outcome.tallies["alike"].pending == 100 - len(alike.requests)


class HandedOutTwice(Threads):
    """A library that gives each batch to two workers, as one may that took the first for dead."""

    def work(self, batch: WorkBatch) -> None:
        first, again = batches.ask(batch), batches.ask(batch)
        assert again == BatchReport(batch.name)  # lost: it was begun before
        self.back(first)


def test_a_batch_that_is_handed_out_twice_is_asked_once(tmp_path: Path, serve: Serve) -> None:
    server = serve(upper)
    outcome = Shared(tmp_path, HandedOutTwice())(Job("a", http(server), units(100)))
    assert outcome.calls == 100
    assert max(asked(server).values()) == 1


class Loses(Threads):
    """Loses batches: some after they were asked, some before."""

    def __init__(self, lost: set[int], *, asked: bool) -> None:
        super().__init__()
        self.lost, self.asked = lost, asked

    def work(self, batch: WorkBatch) -> None:
        number = int(batch.name.rpartition("-")[2])
        if number not in self.lost:
            super().work(batch)
            return
        if self.asked:
            batches.ask(batch)
        self.back(BatchReport(batch.name))


@pytest.mark.parametrize("was_asked", [True, False])
def test_of_a_lost_batch_only_what_was_not_answered_is_asked_again(
    tmp_path: Path, serve: Serve, was_asked: bool
) -> None:
    server = serve(upper)
    shared = Shared(tmp_path, Loses({1, 3}, asked=was_asked))
    outcome = shared(Job("a", http(server), units(200)), limits=BudgetLimits(calls=400))
    assert outcome.stopped is None
    assert asked(server) == Counter({f"text {number}": 1 for number in range(200)})
    assert (outcome.tallies["a"].done, outcome.calls) == (200, 200)
    assert len(shared.answers) == 200
    assert shared.kinds().count("lost") == 2


def test_what_a_lost_worker_may_have_spent_counts_as_spent(tmp_path: Path, serve: Serve) -> None:
    server = serve(upper)
    shared = Shared(tmp_path, Loses({1}, asked=False), batch=40)
    outcome = shared(Job("a", http(server), units(100)), limits=BudgetLimits(calls=120))
    assert outcome.stopped == "limit reached: calls 120"
    assert len(server.requests) == 60  # 60 were its slice: 40 calls, and half of that for retries
    assert outcome.calls == 60


def test_a_service_whose_workers_always_die_is_given_up(tmp_path: Path, serve: Serve) -> None:
    class Poisoned(Threads):
        def work(self, batch: WorkBatch) -> None:
            if batch.jobs[0].part == "deadly":
                self.back(BatchReport(batch.name))
            else:
                super().work(batch)

    fine, deadly = serve(upper), serve(upper)
    shared = Shared(tmp_path, Poisoned())
    outcome = shared(Job("deadly", http(deadly), units(100)), Job("fine", http(fine), units(100)))
    assert outcome.stopped is None
    assert list(outcome.refused) == ["deadly"]
    assert isinstance(outcome.refused["deadly"], ServiceError)
    assert "die" in str(outcome.refused["deadly"])
    assert outcome.tallies["deadly"].pending == 100
    assert outcome.tallies["fine"].done == 100
    assert shared.kinds().count("lost") == 3


def test_what_breaks_on_a_worker_ends_the_run_and_the_logs_stay(tmp_path: Path, serve: Serve) -> None:
    class FullDisk(Threads):
        def work(self, batch: WorkBatch) -> None:
            report = batches.ask(batch)
            if batch.jobs[0].part == "b":
                report = BatchReport(batch.name, fault=DiskFullError("no space left"))
            self.back(report)

    shared = Shared(tmp_path, FullDisk(), batch=50)
    with pytest.raises(DiskFullError, match="no space left"):
        shared(Job("a", http(serve(upper)), units(100)), Job("b", http(serve(upper)), units(100)))
    assert shared.crew.closed == [False]
    assert shared.commits == 0
    assert list((tmp_path / WORKER_LOGS).glob("*.answers"))


def test_a_keeper_that_fails_ends_the_run_and_the_logs_stay(tmp_path: Path, serve: Serve) -> None:
    shared = Shared(tmp_path, Threads(), batch=10)

    def full(*answers: Answer) -> None:
        raise DiskFullError("the store is full")

    shared.engine.start(full, BudgetLimits(), None)
    with pytest.raises(DiskFullError, match="store is full"):
        shared.engine.run([Job("a", http(serve(upper)), units(100))])
    shared.engine.stop()
    assert shared.commits == 0
    assert list((tmp_path / WORKER_LOGS).glob("*.answers"))


def test_a_run_without_any_worker_waits_and_then_ends(tmp_path: Path, serve: Serve) -> None:
    class Empty(Threads):
        now = 0.0

        def workers(self) -> dict[str, int]:
            self.now += 25.0
            return {}

    crew = Empty()
    shared = Shared(tmp_path, crew, seconds=lambda: crew.now)
    outcome = shared(Job("a", http(serve(upper)), units(10)))
    assert outcome.stopped == "no worker for 60 s: start some, then run the same command to continue"
    assert outcome.tallies["a"].pending == 10
    assert crew.now > 60


def test_a_crew_that_is_gone_for_good_ends_the_run_in_words(tmp_path: Path, serve: Serve) -> None:
    class Gone(Threads):
        dead = False

        def work(self, batch: WorkBatch) -> None:
            self.dead = len(self.given) > 2
            self.back(BatchReport(batch.name) if self.dead else batches.ask(batch))

        def workers(self) -> Mapping[str, int]:
            return {} if self.dead else super().workers()

        def why_unreachable(self) -> str:
            return "the foreman is gone" if self.dead else ""

    shared = Shared(tmp_path, Gone(1), batch=10)
    outcome = shared(Job("a", http(serve(upper)), units(50)))
    assert outcome.stopped == "the foreman is gone: start it again, then run the same command to continue"
    assert (outcome.tallies["a"].done, outcome.tallies["a"].pending) == (20, 30)
    halted = [event["reason"] for event in shared.events if event["event"] == "halted"]
    assert halted == [outcome.stopped]


def test_an_interrupt_keeps_what_is_under_way(tmp_path: Path, serve: Serve) -> None:
    server = serve(upper, 0.05)
    shared = Shared(tmp_path, Threads(), batch=200)
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(Interruption) as caught:
        shared(Job("a", http(server, concurrency=4), units(1000)))
    timer.join()
    assert caught.value.outcome.stopped == "interrupted"
    assert {answer.text for answer in shared.answers} == set(asked(server))
    assert 0 < len(shared.answers) < 1000
    assert caught.value.outcome.calls == len(shared.answers)
    assert not (tmp_path / WORKER_LOGS).exists()


def test_what_a_worker_of_an_earlier_sitting_holds_is_not_counted_again(tmp_path: Path, serve: Serve) -> None:
    """On a cluster that goes on, a worker keeps the log of a run whose process was killed."""
    log = WorkerLog(tmp_path / WORKER_LOGS, "earlier")
    job = Job("a", http(serve(upper)), units(20))
    failed = answer(1, fingerprint=job.description.fingerprint, status="failed", output=None, attempts=6)
    log.add([failed])
    log.tell({"event": "answer", "at": failed.at, "part": "a", "status": "failed"})
    log.flush()
    shared = Shared(tmp_path, Threads())
    outcome = shared(job)
    log.close()
    assert failed not in shared.answers
    assert (outcome.calls, len(shared.answers)) == (20, 20)
    assert shared.kinds().count("answer") == 20
    assert (tmp_path / WORKER_LOGS / "earlier.answers").exists()


def test_an_engine_that_was_not_started_says_so(tmp_path: Path) -> None:
    shared = Shared(tmp_path, Threads())
    with pytest.raises(RuntimeError, match="not started"):
        shared.engine.run([])


def test_a_worker_that_cannot_write_the_folder_says_so(tmp_path: Path, serve: Serve) -> None:
    nowhere = WorkBatch(
        run="r",
        name="b",
        lane="l",
        logs=tmp_path / "not here",
        jobs=(Job("a", http(serve(upper)), units(1)),),
        limits=BudgetLimits(),
        retry=RetryPolicy(),
    )
    report = batches.ask(nowhere)
    assert isinstance(report.fault, StoreError)
    assert "not here" in str(report.fault)
    assert str(pickle.loads(pickle.dumps(report)).fault) == str(report.fault)
