"""The kit that proves that an engine keeps the contract of `local.Engine`; for outsiders too.

    check_engine(MyEngine.at, tmp_path)

It runs small jobs with a service of its own, which writes each call into a file, and compares what comes of
them with what `LocalEngine` makes of the same. It kills no worker and cuts no network.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from trustgauge.engine import KINDS, BudgetLimits, Event, ReservationLedger, unaccounted_cost
from trustgauge.engine.local import Engine, EngineConfig, EngineOutcome, Interruption, Job, LocalEngine
from trustgauge.errors import DiskFullError, GarbledError, RefusedError, RejectedError, SameAnswerError
from trustgauge.records import Answer, Cost, Message, Reply, Task
from trustgauge.services import ServiceSpec

AtSite = Callable[[EngineConfig], Engine]
"""Makes the engine of a run: its class method `at`."""

CALLS, LEDGER, UNCOVERED = "calls.txt", "ledger.jsonl", "uncovered.txt"
CAP, BEFORE = 11, 9
"""Calls that a run with a limit may still make, and those that were made before."""
MANY = 3_000
"""Calls of a run that must not make all of them; workers may be given a thousand at once."""
SCRIPT = ("Good day.", "My name is Ann.", "What is my name?")
SCENE = (("ann", "a"), ("bob", "b"), ("ann", "a"))


class Witness(ServiceSpec):
    """A service that answers by what it is asked, and writes down in `place` that it was."""

    use: str = "engine-witness"
    task: ClassVar[Task] = "chat"
    batch: ClassVar[int] = 2
    concurrency: int = 3
    place: str = ""
    locked: bool = False
    leg: int = 0

    NOT_IDENTITY: ClassVar[frozenset[str]] = ServiceSpec.NOT_IDENTITY | {"place"}

    def open(self) -> LiveWitness:
        return LiveWitness(self)


class Relay(Witness):
    """Two of them, one after the other."""

    def stages(self) -> tuple[ServiceSpec, ...]:
        return tuple(Witness(place=self.place, leg=leg) for leg in (1, 2))


class LiveWitness:
    """Answers, after it has looked whether the call was reserved."""

    def __init__(self, description: Witness) -> None:
        self._folder, self._locked = Path(description.place), description.locked

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        with (self._folder / CALLS).open("ab", buffering=0) as calls:
            calls.write(b"call\n" * len(messages))
        if _calls(self._folder) > unaccounted_cost(self._folder / LEDGER, Cost()).calls:
            (self._folder / UNCOVERED).touch()
        await asyncio.sleep(0.002)
        return [self._reply(one) for one in messages]

    def _reply(self, message: Message) -> Reply:
        kind = message.text.partition(" ")[0]
        if self._locked:
            raise RefusedError("locked")
        if kind == "garbled":
            raise GarbledError("noise")
        if kind == "rejected":
            raise RejectedError("not this one")
        said = f"{message.text}, draw {message.draw}, user {message.user}, after {len(message.turns)}"
        heard = "".join(f"; {user} > {bot}" for user, bot in message.turns)
        return Reply("" if kind == "empty" else said + heard, refused=kind == "refused", tokens=3)

    async def close(self) -> None:
        """Nothing is held."""


class _Trial:
    """One start of an engine: what it gives away, in which thread, and what it tells."""

    def __init__(self, at: AtSite, folder: Path, limits: BudgetLimits | None = None) -> None:
        folder.mkdir()
        self.folder, self.answers, self.events = folder, list[Answer](), list[Event]()
        self.threads: set[int] = set()
        self.on_keep: Callable[[], None] = _nothing
        self.on_event: Callable[[Event], object] = _nothing
        left = None if limits is None or limits.calls is None else limits.calls - limits.before.calls
        self._ledger = ReservationLedger(folder / LEDGER, (left, None, None), Cost())
        self.engine = at(EngineConfig(folder / "logs", _nothing, 2, ledger=self._ledger))
        self.engine.start(self._keep, limits or BudgetLimits(), self._watch)

    def _keep(self, *answers: Answer) -> None:
        self.threads.add(threading.get_ident())
        self.answers += answers
        self.on_keep()

    def _watch(self, event: Event) -> None:
        self.threads.add(threading.get_ident())
        self.events.append(event)
        self.on_event(event)

    def close(self) -> None:
        self.engine.stop()
        self._ledger.close()

    def kept(self) -> dict[Any, Any]:
        """Key of an answer -> what a store would keep of it, and what it cost."""
        found: dict[Any, Any] = {}
        for one in self.answers:
            key = one.fingerprint, one.message, one.draw
            known, cost = found.get(key, (("failed",), Counter()))
            good = known[0] != "failed"
            _hold(not good or one.status == "failed", f'"{one.text}" is given to `keep` twice')
            facts = (one.status, one.output, one.trail, one.error, one.text, one.script)
            cost = cost + Counter(attempts=one.attempts, tokens=one.tokens)
            found[key] = (known if good else facts, cost)
        return found


def check_engine(at: AtSite, folder: Path) -> None:
    """Check an engine against the contract of `local.Engine`.

    Args:
        at: makes it: the class method `at` of its class.
        folder: an empty one, which its workers can write.

    Raises:
        AssertionError: the first thing that does not conform.
    """
    folder = folder.absolute()
    _check_answers(at, folder)
    _check_limits(at, folder / "limits")
    _check_sink(at, folder)
    if threading.current_thread() is threading.main_thread():
        _check_interrupt(at, folder / "interrupt")


def _hold(holds: bool, fault: str) -> None:
    if not holds:
        raise AssertionError(f"the engine breaks its contract: {fault}")


def _nothing(*_: object) -> None:
    """Nobody looks."""


def _calls(folder: Path) -> int:
    """How many calls were made."""
    return (folder / CALLS).read_bytes().count(b"\n") if (folder / CALLS).exists() else 0


def _many(folder: Path, count: int) -> Job:
    return Job("many", Witness(place=str(folder)), [(Message(f"text {number}"),) for number in range(count)])


def _jobs(folder: Path) -> list[Job]:
    """Every kind of unit: texts, sessions, one that breaks off, a scene, stages, a service that is locked."""
    place = str(folder)
    texts = [(Message(f"text {number}", draw=draw),) for number in range(30) for draw in (0, 1)]
    texts += [(Message(f"{kind} one"),) for kind in ("refused", "empty", "garbled", "rejected")]
    talks = [_session(f"s{n}", (*SCRIPT, f"Bye {n}."), user="ann") for n in range(5)]
    talks += [_session("off", (SCRIPT[0], "rejected one", SCRIPT[1])), _session("scene", SCRIPT, cast=SCENE)]
    locked = [(Message(f"locked {number}"),) for number in range(40)]
    return [
        Job("texts", Witness(place=place), texts),
        Job("talks", Witness(place=place, leg=3), talks),
        Job("relay", Relay(place=place, leg=4), texts[::7] + texts[-4:]),
        Job("locked", Witness(place=place, locked=True), locked),
        Job("none", Witness(place=place, leg=5), []),
    ]


def _session(name: str, script: tuple[str, ...], **more: Any) -> tuple[Message, ...]:
    turns = enumerate(script)
    return tuple(Message(text, session=name, script=script, turn=turn, **more) for turn, text in turns)


def _tallies(outcome: EngineOutcome) -> dict[str, Any]:
    """What an outcome says of each part; the calls to a service that is given up depend on the pace."""
    return {
        part: (one.total, one.done, one.failed, repr(one.stopped), None if one.stopped else one.calls)
        for part, one in outcome.tallies.items()
    }


def _check_answers(at: AtSite, folder: Path) -> None:
    """Answers, costs and tallies are those of the engine of one machine."""
    wanted, found = _Trial(LocalEngine.at, folder / "local"), _Trial(at, folder / "own")
    ended = [trial.engine.run(_jobs(trial.folder)) for trial in (wanted, found)]
    wanted.close()
    found.close()
    expected, kept = wanted.kept(), found.kept()
    _hold(kept.keys() >= expected.keys(), f"{len(expected.keys() - kept.keys())} units were never asked")
    for key, facts in expected.items():
        _hold(kept[key] == facts, f'"{facts[0][4]}" becomes {kept[key]}; must be {facts}')
    _hold(len(kept) == len(expected), "it gives answers that nobody asked for")
    _hold(ended[1].stopped is None, f"it says that it stopped: {ended[1].stopped}")
    tallies = [_tallies(one) for one in ended]
    _hold(tallies[0] == tallies[1], f"it counts {tallies[1]}; must be {tallies[0]}")
    made = _calls(found.folder)
    _hold(ended[1].calls == made, f"it counts {ended[1].calls} calls; made were {made}")
    _hold(not (found.folder / UNCOVERED).exists(), "a call goes out before it is reserved in the ledger")
    _hold(found.threads == {threading.get_ident()}, "`keep` and `watch` are called in another thread")
    told = [[event["event"] for event in trial.events] for trial in (wanted, found)]
    _hold(set(told[1]) <= set(KINDS), f"it tells what nobody knows: {set(told[1]) - set(KINDS)}")
    for kind in ("plan", "answer", "broken", "stopped", "done"):
        counts = [one.count(kind) for one in told]
        _hold(counts[0] == counts[1], f"it tells `{kind}` {counts[1]} times; must be {counts[0]}")


def _check_limits(at: AtSite, folder: Path) -> None:
    """Limits are held to the call, over all runs of one start, with what was spent before."""
    trial = _Trial(at, folder, BudgetLimits(calls=CAP + BEFORE, before=Cost(calls=BEFORE)))
    first = trial.engine.run([_many(folder, 60)])
    again = trial.engine.run([_many(folder, 60)])
    trial.close()
    made = _calls(folder)
    _hold(made <= CAP, f"it makes {made} calls where {CAP} are left")
    _hold(len(trial.answers) == made > 0, f"of {made} calls it keeps {len(trial.answers)}")
    _hold(bool(first.stopped) and bool(again.stopped), "it does not say that a limit was reached")


def _check_sink(at: AtSite, folder: Path) -> None:
    """What `keep` raises ends the part, if all its answers are the same, or the run."""
    same = SameAnswerError(Witness().fingerprint, "yes", 12)
    for name, error in (("same", same), ("full", DiskFullError("the disk is full"))):

        def refuse(error: Exception = error) -> None:
            raise error

        trial = _Trial(at, folder / name)
        trial.on_keep = refuse
        outcome, raised = None, ""
        try:
            outcome = trial.engine.run([_many(trial.folder, MANY)])
        except DiskFullError as caught:
            raised = str(caught)
        trial.on_keep = _nothing
        trial.close()
        right = bool(raised) if outcome is None else "many" in outcome.refused
        _hold(right and bool(raised) == (name == "full"), f"it goes on although `keep` raises {error!r}")


def _check_interrupt(at: AtSite, folder: Path) -> None:
    """Ctrl-C ends a run with an Interruption; what was answered was given away."""
    trial = _Trial(at, folder)
    once = iter((signal.SIGINT,))

    def press(event: Event) -> None:
        if event["event"] == "answer":
            for number in once:
                signal.raise_signal(number)

    trial.on_event = press
    outcome = None
    try:
        trial.engine.run([_many(folder, MANY)])
    except Interruption as interrupted:
        outcome = interrupted.outcome
    except KeyboardInterrupt:
        """The engine has not seen it."""
    trial.close()
    _hold(outcome is not None, "Ctrl-C does not end it with an Interruption")
    assert outcome is not None
    done = outcome.tallies["many"].done
    _hold(
        done == len(trial.answers) > 0, f"interrupted, it kept {len(trial.answers)} answers and counts {done}"
    )
    _hold(_calls(folder) < MANY, "Ctrl-C does not keep it from asking everything")
