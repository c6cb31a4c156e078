"""One run over several workers: who is given what, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from trustgauge.apps.distributed.shards import PendingJob, Shard, Unit, calls_of, need, shards_of
from trustgauge.apps.distributed.worker import BatchReport, WorkBatch
from trustgauge.apps.distributed.workers import CoordinatorContext, Key, Lease
from trustgauge.engine import BudgetLimits
from trustgauge.engine.local import GRACE, EngineOutcome, Job, JobTally
from trustgauge.errors import ServiceError
from trustgauge.records import Answer, Cost

PACE = 0.1
"""Seconds between two looks at what the workers wrote."""

LOSSES = 3
"""Batches of one lane that may be lost one after the other without an answer, before it is given up."""

ALONE = 60.0
"""Seconds without any worker after which a run ends."""

_INTERRUPTED = "interrupted"


class Coordinator:
    """Hands out batches until everything is asked, a limit is reached, or it is interrupted."""

    def __init__(self, office: CoordinatorContext, jobs: Sequence[Job]) -> None:
        self.office = office
        self.tallies: dict[str, JobTally] = {}
        self.halted = ""
        self.interrupted = False  # set by whoever wants the run to end soon
        self.fault: Exception | None = None
        self._jobs = [job for job in jobs if job.units]
        self._services = {job.part: job.service or job.part for job in jobs}
        self._lanes: list[Shard] = []
        self._given: dict[str, Lease] = {}
        self._asked: dict[Key, Lease] = {}
        self._spent = Cost()
        self._over: set[str] = set()
        self._first: dict[str, float] = {}  # part -> when its first batch that came back was given
        self._deadline = self._patience = math.inf
        self._alone: float | None = None  # since when there is no worker
        for job in jobs:
            self.tallies.setdefault(job.part, JobTally()).total += len(job.units)

    def run(self) -> EngineOutcome:
        """Blocks. Raises what broke on our own side, here or on a worker."""
        office = self.office
        began = office.seconds()
        if (left := office.slices.seconds) is not None:
            self._deadline = began + left
        for part, tally in self.tallies.items():
            office.emit("plan", part=part, service=self._services[part], total=tally.total)
        self._lanes = shards_of(self._jobs, max(1, sum(office.crew.workers().values())))
        for lane in self._lanes:
            lane.worker, lane.not_before = office.lanes.get(lane.name, (lane.worker, lane.not_before))
        while not self._is_over():
            self._take_over()
            if self.interrupted:
                self.halt(_INTERRUPTED)
            if gone := office.crew.why_unreachable():
                self.halt(f"{gone}: start it again, then run the same command to continue")
            if office.seconds() >= self._deadline:
                self.halt(f"limit reached: seconds {office.slices.limits.seconds:g}")
            self._hand_out()
            for report in office.crew.wait(PACE):
                self._came_back(report)
        self._take_over()
        seconds = office.seconds() - began
        office.slices.add_seconds(seconds)
        if self.fault is not None:
            raise self.fault
        spent = self._spent
        stopped = self.halted or None
        office.emit("done", stopped=stopped, calls=spent.calls, usd=spent.usd, tokens=spent.tokens)
        return EngineOutcome(stopped, self.tallies, spent.calls, spent.usd, spent.tokens, seconds)

    def halt(self, reason: str) -> None:
        """Send nothing more; batches under way end soon. The first reason stands."""
        if self.halted:
            return
        self.halted = reason
        self._patience = self.office.seconds() + 2 * GRACE
        self.office.emit("limit" if reason.startswith("limit") else "halted", reason=reason)
        if self._given:
            self.office.crew.halt(self.office.run)

    def cut(self) -> None:
        """Do not wait for batches under way; what they answered so far is kept."""
        self._patience = -math.inf

    @property
    def left_behind(self) -> bool:
        """Whether workers were not waited for."""
        return bool(self._given)

    def _is_over(self) -> bool:
        if self._given:
            return bool(self.halted) and self.office.seconds() > self._patience
        return bool(self.halted) or not any(lane.more for lane in self._lanes)

    def _take_over(self) -> None:
        answers = self.office.take_over()
        at_fault = self.office.at_fault
        self._stop(lambda work: at_fault.get(work.description.fingerprint))
        for answer in answers:
            key = (answer.fingerprint, answer.message, answer.draw)
            given = self._asked.get(key)
            if given is not None:
                given.take(key, answer)

    # -- what goes out

    def _hand_out(self) -> None:
        """Give every lane that is free its next batch, if a worker and the budget have room."""
        now = self.office.seconds()
        ready = [lane for lane in self._lanes if lane.more and not lane.busy]
        if self.halted or not ready:
            return
        workers = self.office.crew.workers()
        if not workers:
            self._wait_for_workers(now)
            return
        self._alone = None
        soon = [lane for lane in ready if lane.not_before <= now]
        for number, lane in enumerate(soon):
            self._give(lane, workers, len(soon) - number)
        # Nobody has a slice that could come back: one lane may have all, and if that is too little, it ends.
        if not self._given and not any(self._give(lane, workers, 1) for lane in soon) and soon == ready:
            self.halt(self.office.slices.reason())

    def _wait_for_workers(self, now: float) -> None:
        self._alone = now if self._alone is None else self._alone
        if not self._given and now - self._alone >= ALONE:
            self.halt(f"no worker for {ALONE:g} s: start some, then run the same command to continue")

    def _give(self, lane: Shard, workers: Mapping[str, int], among: int) -> bool:
        """Give a lane a batch with its slice; `among` is how many lanes the budget is for."""
        office = self.office
        if lane.busy or not (worker := self._worker_for(lane, workers)):
            return False
        units = lane.take(office.batch)
        left = None if self._deadline == math.inf else max(0.0, self._deadline - office.seconds())
        needed = need(units, office.dearest)
        slice_ = office.slices.cut(needed, among, left)
        if slice_ is None or (lane.starved is not None and not _is_more(slice_, lane.starved)):
            if slice_ is not None:
                office.slices.back(slice_, Cost(), needed.calls)
            lane.put_back(units)
            return False
        units, rest = _within(units, slice_)
        lane.put_back(rest)
        self._begin(lane, units, worker, slice_, needed.calls)
        return True

    def _begin(
        self,
        lane: Shard,
        units: list[tuple[PendingJob, Unit]],
        worker: str,
        slice_: BudgetLimits,
        needed: int,
    ) -> None:
        office = self.office
        office.batches += 1
        jobs = tuple(
            Job(work.part, work.description, [unit for other, unit in units if other is work])
            for work in dict.fromkeys(work for work, _ in units)
        )
        marks = {mark for work, _ in units for mark in work.marks}
        dearest = {mark: price for mark, price in office.dearest.items() if mark in marks}
        batch = WorkBatch(
            run=office.run,
            name=f"{office.run}-{office.batches}",
            lane=lane.name,
            logs=office.site.logs,
            jobs=jobs,
            limits=slice_,
            retry=office.retry,
            dearest=dearest,
        )
        given = self._given[batch.name] = Lease(batch, lane, units, worker, office.seconds(), needed)
        for unit in units:
            self._asked.update(dict.fromkeys(given.keys(unit), given))
        lane.busy, lane.worker = True, worker
        office.crew.give(batch, worker)

    def _worker_for(self, lane: Shard, workers: Mapping[str, int]) -> str:
        """The worker that knows the lane, else the one with the fewest; "" if none has room.

        Lanes that compute are given to a worker up to what it can compute at once.
        """
        under_way = [(one.worker, one.lane.waits) for one in self._given.values()]
        room = {
            name: threads - sum(1 for one, waits in under_way if one == name and not waits)
            for name, threads in workers.items()
        }
        free = [name for name in workers if lane.waits or room[name] > 0]
        if lane.worker in free or not free:
            return lane.worker if free else ""
        homes = [other.worker for other in self._lanes if other.more or other.busy]
        return min(free, key=lambda name: (homes.count(name) / max(1, workers[name]), name))

    # -- what comes back

    def _came_back(self, report: BatchReport) -> None:
        self._take_over()
        given = self._given.pop(report.name, None)
        if given is None:
            return
        for unit in given.units:
            for key in given.keys(unit):
                self._asked.pop(key, None)
        lane = given.lane
        lane.busy = False
        if lane.rate:  # whoever asks next knows nothing of when the last call went out
            lane.not_before = self.office.seconds() + 1.0 / lane.rate
        if report.fault is not None:
            self.fault = self.fault or report.fault
            self.halt("error")
        if report.outcome is None:
            self._lost(given)
        else:
            self._done(given, report, report.outcome)
        office = self.office
        office.lanes[lane.name] = lane.worker, lane.not_before
        for part in dict.fromkeys(work.part for work, _ in given.units):
            self.tallies[part].seconds = office.seconds() - self._first.setdefault(part, given.since)
            self._say_done(part)

    def _done(self, given: Lease, report: BatchReport, outcome: EngineOutcome) -> None:
        """A worker finished a batch: add it up, and see what is left."""
        lane, office = given.lane, self.office
        spent = Cost(outcome.calls, outcome.usd, outcome.tokens)
        office.slices.back(given.batch.limits, spent, given.needed)
        self._spend(spent)
        for mark, price in report.dearest.items():
            before = office.dearest.get(mark, (0.0, 0))
            office.dearest[mark] = (max(before[0], price[0]), max(before[1], price[1]))
        for part, tally in outcome.tallies.items():
            _add(self.tallies[part], tally)
        if outcome.stopped or report.stopped:
            lane.put_back(given.split_units()[1])
        limited = bool(outcome.stopped) and outcome.stopped != _INTERRUPTED and not _late(outcome)
        lane.starved = given.batch.limits if limited and not outcome.calls else None
        lane.losses = 0
        stopped = report.stopped
        self._stop(lambda work: next((stopped[mark] for mark in stopped if mark in work.marks), None))

    def _stop(self, why: Callable[[PendingJob], ServiceError | None]) -> None:
        """Ask some works no more, those of which `why` gives an error; what is left of them stays pending."""
        for lane in self._lanes:
            for work in lane.works:
                error = why(work) if work.units and not work.stopped else None
                if error is not None:
                    work.stopped = True
                    self.tallies[work.part].stopped = error
                    self._say_done(work.part)

    def _lost(self, given: Lease) -> None:
        """A worker died: what it had answered counts, the rest of its batch is asked again."""
        lane, office = given.lane, self.office
        spent, (done, left) = given.cost(), given.split_units()
        most = need(given.units, office.dearest)
        slice_ = given.batch.limits
        usd = slice_.usd if most.usd is None else spent.usd + most.usd
        tokens = slice_.tokens if most.tokens is None else spent.tokens + most.tokens
        office.slices.write_off(slice_, spent, Cost(given.needed, usd or 0.0, tokens or 0))
        self._spend(spent)
        for unit in done:
            _add(self.tallies[unit[0].part], _tally_of([given.answered[key] for key in given.keys(unit)]))
        lane.put_back(left)
        lane.worker = ""
        lane.losses = 0 if given.answered else lane.losses + 1
        office.emit("lost", worker=given.worker, units=len(left))
        if lane.losses >= LOSSES:
            error = ServiceError(
                "the workers that ask it die",
                got=f"{LOSSES} workers lost, one after the other, without an answer",
                do="see the logs of the workers: they may need more memory",
            )
            marks = {mark for work in lane.works for mark in work.marks}
            self._stop(lambda work: error if work.marks & marks else None)

    def _spend(self, spent: Cost) -> None:
        mine = self._spent
        self._spent = Cost(mine.calls + spent.calls, mine.usd + spent.usd, mine.tokens + spent.tokens)

    def _say_done(self, part: str) -> None:
        """Tell, once, that a part has nothing left to do."""
        works = [work for lane in self._lanes for work in lane.works if work.part == part]
        busy = any(work in works for given in self._given.values() for work, _ in given.units)
        if part not in self._over and not busy and all(work.stopped or not work.units for work in works):
            self._over.add(part)
            tally = self.tallies[part]
            self.office.emit("part-done", part=part, done=tally.done, failed=tally.failed)


def _within(
    units: list[tuple[PendingJob, Unit]], slice_: BudgetLimits
) -> tuple[list[tuple[PendingJob, Unit]], list[tuple[PendingJob, Unit]]]:
    """The units that a slice has calls for, at least one, and the others."""
    if slice_.calls is None:
        return units, []
    calls = count = 0
    for unit in units:
        calls += calls_of(unit)
        if calls > slice_.calls:
            break
        count += 1
    count = max(1, count)
    return units[:count], units[count:]


def _late(outcome: EngineOutcome) -> bool:
    """Whether it was the time that ran out; that of the run is looked at here."""
    return (outcome.stopped or "").startswith("limit reached: seconds")


def _is_more(slice_: BudgetLimits, than: BudgetLimits) -> bool:
    """Whether a slice has more of anything."""
    pairs = ((slice_.calls, than.calls), (slice_.usd, than.usd), (slice_.tokens, than.tokens))
    return any(mine is not None and other is not None and mine > other for mine, other in pairs)


def _add(sum_: JobTally, tally: JobTally) -> None:
    sum_.done += tally.done
    sum_.failed += tally.failed
    sum_.calls += tally.calls
    sum_.retries += tally.retries
    sum_.usd += tally.usd
    sum_.tokens += tally.tokens
    sum_.millis.extend(tally.millis)
    sum_.errors.update(tally.errors)
    sum_.fatal.update(tally.fatal)


def _tally_of(answers: Sequence[Answer]) -> JobTally:
    """What became of one unit, from its answers."""
    failed = answers[-1].status == "failed"
    tally = JobTally(done=int(not failed), failed=int(failed), calls=sum(one.attempts for one in answers))
    tally.usd, tally.tokens = sum(one.usd for one in answers), sum(one.tokens for one in answers)
    tally.millis.extend(one.millis for one in answers if not failed)
    return tally
