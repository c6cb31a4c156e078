"""What a run will ask, cost and take, before anything is sent; what it has cost and how long it took since.

How many tokens a chat service will read and write is estimated from characters. No tokenizer is asked: each
service has its own. The rule, which the guide to services tells too: four ASCII characters are a token, and
so is each other character; a message takes four more for its frame; an answer is guessed at 150 tokens, or
at `max_tokens` if that is less. What was said before in a conversation is read again with each turn. What a
run really took is counted by the service and stands in the rating.
"""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from trustgauge.engine import FIRST, NAME, ReservationLedger, plain_usd, unaccounted_cost
from trustgauge.engine.local import EngineOutcome, provider_key
from trustgauge.records import Cost, Message
from trustgauge.run.options import AskPlan
from trustgauge.run.options import Pending as Pending
from trustgauge.run.options import Unit as Unit
from trustgauge.services import (
    FRAME,
    AnswerLimit,
    ApiKeySpec,
    ServiceSpec,
    TokenPrices,
    is_local,
    tokens_of,
)
from trustgauge.store import Store
from trustgauge.store.folder import RunFolder, read_manifest, stored_paces

ANSWER = 150  # tokens of an answer


MODEL_SECONDS = 0.5  # an answer of a small language model on this machine, on two processors
LOCAL_SECONDS = 0.002  # a call to a service on this machine, a processor's time
REMOTE_SECONDS = 0.4  # a call over the network, when nothing is known of the service
WORK_SECONDS = 0.00002  # our own work for each call
OURSELVES = ("localhost", "127.0.0.1", "::1")
_DUST = 1e-9  # rounding of sums of dollars
_PARTS = ("calls", "usd", "tokens")
Paces = Mapping[str, "Pace"]
"""Provider (`engine.provider`) -> how quickly it answered."""


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens that a service reads and writes."""

    read: int = 0
    written: int = 0

    @property
    def total(self) -> int:
        return self.read + self.written


def expected_tokens(leg: ServiceSpec, units: Sequence[tuple[Message, ...]]) -> TokenCount:
    """Tokens that a service will read and write for all turns of these units."""
    asked = leg.innermost()
    most = asked.max_tokens if isinstance(asked, AnswerLimit) else None
    answer = ANSWER if most is None else min(ANSWER, most)
    always = tokens_of(asked.system) + FRAME if asked.system else 0
    always += tokens_of(leg.prompt.replace("{text}", ""))
    for user, bot in leg.turns:
        always += tokens_of(user) + tokens_of(bot) + 2 * FRAME
    read = written = 0
    for unit in units:
        before: dict[str, int] = {}
        for message in unit:
            tokens = before.get(message.talk, 0) + tokens_of(message.text) + FRAME
            read += always + tokens
            written += answer
            before[message.talk] = tokens + answer + FRAME
    return TokenCount(read, written)


def price_usd(leg: ServiceSpec, tokens: TokenCount) -> float:
    """What they cost, by the prices in the plan."""
    if not isinstance(leg, TokenPrices):
        return 0.0
    read = float(tokens.read * leg.usd_per_million_input_tokens)
    written = float(tokens.written * leg.usd_per_million_output_tokens)
    return (read + written) / 1e6


@dataclass(frozen=True, slots=True)
class JudgeEstimate:
    """What a second judge will be asked, before it is known what is referred to it.

    Attributes:
        service: the judge.
        refer: which answers it reads: "all", or "unclear".
        calls: to measure the judge, about answers that are kept, and, if it reads all, about answers
            still to come: at most so many, as equal ones are judged once.
        kept: replies that are kept.
        further: most further calls, if none of the answers still to come can be read by rule.
        usd, seconds, tokens: of `calls`.
        unpriced: the judge wants a key, and the plan tells no price.
        untimed: nobody knows how quickly the judge answers.
        most_usd: of `calls` and `further`.
    """

    service: str
    refer: str
    calls: int
    kept: int
    further: int
    usd: float
    seconds: float
    tokens: int
    unpriced: bool
    untimed: bool
    most_usd: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """Calls, cost and time of a run. A call is one message to one service of a chain.

    Attributes:
        calls: to be made.
        kept: messages whose answers are stored.
        shared: messages that are asked once for several experiments, each but for the first time.
    """

    calls: int
    kept: int
    usd: float
    seconds: float
    spent: Cost = field(default_factory=Cost)  # by earlier invocations of the run
    judging: tuple[JudgeEstimate, ...] = ()  # second judges; their `calls` are counted above
    tokens: int = 0  # estimated from characters (`tokens_of`); 0 where no service counts them
    unpriced: tuple[str, ...] = ()  # services that want a key and whose price the plan does not tell
    untimed: tuple[str, ...] = ()  # services of which nobody knows how quickly they answer
    timed_in: tuple[str, ...] = ()  # runs that timed the others
    units: Mapping[str, int] = field(default_factory=dict)  # part -> what is to be asked of it
    shared: int = 0
    unversioned: tuple[str, ...] = ()  # services with stored answers, whose code may have changed unseen

    def judged_by(self, expected: Sequence[JudgeEstimate]) -> Estimate:
        """This estimate with what judging takes, but for what may be referred and may be not."""
        return replace(
            self,
            calls=self.calls + sum(one.calls for one in expected),
            kept=self.kept + sum(one.kept for one in expected),
            usd=self.usd + sum(one.usd for one in expected),
            seconds=self.seconds + sum(one.seconds for one in expected),
            judging=tuple(expected),
            tokens=self.tokens + sum(one.tokens for one in expected),
            unpriced=tuple(
                dict.fromkeys((*self.unpriced, *(one.service for one in expected if one.unpriced)))
            ),
            untimed=tuple(dict.fromkeys((*self.untimed, *(one.service for one in expected if one.untimed)))),
        )

    def over(self, budget: Mapping[str, Any]) -> list[str]:
        """The limits this run would go beyond, what was spent before included, in words."""
        found: list[str] = []
        calls, usd = self.spent.calls + self.calls, self.spent.usd + self.usd
        seconds = self.spent.seconds + self.seconds
        if not self.calls:
            return found
        if budget.get("calls") is not None and calls > budget["calls"]:
            found.append(f"{calls:,} calls, more than the limit {budget['calls']:,}")
        if budget.get("usd") is not None and usd > budget["usd"]:
            found.append(f"${plain_usd(usd)}, more than the limit ${plain_usd(budget['usd'])}")
        most, spent = budget.get("tokens"), self.spent.tokens + self.tokens
        if most is not None and spent > most:
            found.append(f"about {spent:,} tokens, more than the limit {most:,}")
        if budget.get("seconds") is not None and seconds > budget["seconds"]:
            found.append(f"about {seconds:.0f} s, more than the limit {budget['seconds']:.0f} s")
        return found


def estimate(rows: Iterable[Pending], paces: Paces = MappingProxyType({})) -> Estimate:
    """The sum over all subjects, and over slices of them.

    Args:
        rows: what is pending.
        paces: how quickly providers answered in earlier runs.
    """
    calls = kept = shared = guessed = 0
    usd, time = 0.0, _Time(paces)
    unpriced: dict[str, None] = {}
    unversioned: dict[str, None] = {}
    units: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        legs = row.description.stages()
        messages = sum(len(unit) for unit in row.units)
        characters = sum(len(message.text) for unit in row.units for message in unit)
        calls += messages * len(legs)
        kept += row.kept - row.shared
        shared += row.shared
        units[row.target.title] += len(row.units)
        if row.kept > row.shared and any(map(_is_unversioned, legs)):
            unversioned[row.target.service] = None
        for leg in legs if messages else ():
            usd += messages * leg.usd_per_call + characters * leg.usd_per_million_characters / 1e6
            if isinstance(leg, TokenPrices):
                counted = expected_tokens(leg, row.units)
                guessed += counted.total
                usd += price_usd(leg, counted)
            if _is_unpriced(leg):
                unpriced[row.target.service] = None
            time.add(row.target.service, leg, messages)
    seconds = time.seconds + calls * WORK_SECONDS
    return Estimate(
        *(calls, kept, usd, seconds),
        tokens=guessed,
        unpriced=tuple(unpriced),
        untimed=tuple(time.untimed),
        timed_in=tuple(sorted(time.timed_in)),
        units=dict(units),
        shared=shared,
        unversioned=tuple(unversioned),
    )


class _Time:
    """Adds up how long asking takes.

    Providers elsewhere are asked side by side, so the slowest decides; those of this machine share its
    processor, so their times add up, but for those that were timed side by side.
    """

    def __init__(self, paces: Paces) -> None:
        self._paces = paces
        self._apart: defaultdict[str, float] = defaultdict(float)  # provider elsewhere -> seconds
        self._here: dict[
            str, defaultdict[str, float]
        ] = {}  # run that timed them, "" for none -> the same of local ones
        self.untimed: dict[str, None] = {}
        self.timed_in: set[str] = set()

    def add(self, service: str, leg: ServiceSpec, calls: int) -> None:
        """So many calls of a leg of a service."""
        mark, _ = provider_key(leg)
        pace = self._paces.get(mark) if leg.seconds_per_call is None else None
        each = pace.each(leg) if pace else _seconds(leg)
        if pace:
            self.timed_in.add(pace.run)
        elif leg.seconds_per_call is None:
            self.untimed[service] = None
        if is_local(leg):
            self._here.setdefault(pace.run if pace else "", defaultdict(float))[mark] += calls * each
        else:
            self._apart[mark] += calls * each

    @property
    def seconds(self) -> float:
        """The time in all."""
        here = sum(max(times.values()) if run else sum(times.values()) for run, times in self._here.items())
        return max(self._apart.values(), default=0.0) + here


def may_cost(leg: ServiceSpec) -> bool:
    """Whether asking a service may cost money: it has a price, or wants a key and its price is not given."""
    return any(_prices(leg)) or _is_unpriced(leg)


def _prices(leg: ServiceSpec) -> tuple[float, ...]:
    """US dollars per call, per million characters, and per million tokens read and written."""
    plain = (leg.usd_per_call, leg.usd_per_million_characters)
    if not isinstance(leg, TokenPrices):
        return plain
    return (*plain, leg.usd_per_million_input_tokens, leg.usd_per_million_output_tokens)


def _is_unversioned(leg: ServiceSpec) -> bool:
    """Whether nothing in its fingerprint tells that its code has changed."""
    return bool(leg.CODE_PLACE) and not leg.version()


def _is_unpriced(leg: ServiceSpec) -> bool:
    """Whether a service elsewhere wants a key, so may cost money, and no price is given."""
    if not leg.key or any(_prices(leg)):
        return False
    address = leg.url
    if isinstance(leg, ApiKeySpec):
        address = leg.key_address()
        wanted = leg.key_needed or bool(os.environ.get(leg.key, "").strip())
    else:
        wanted = False  # such as a token that only loads a model
    return (wanted or isinstance(leg, TokenPrices)) and urlsplit(address).hostname not in OURSELVES


def _seconds(leg: ServiceSpec) -> float:
    """Seconds that one message takes of a service's time; remote calls go side by side."""
    if is_local(leg):
        guess = MODEL_SECONDS if isinstance(leg.innermost(), AnswerLimit) else LOCAL_SECONDS
        return guess if leg.seconds_per_call is None else leg.seconds_per_call
    each = REMOTE_SECONDS if leg.seconds_per_call is None else leg.seconds_per_call
    return max(each / max(1, leg.concurrency), 1 / leg.rate if leg.rate else 0.0)


def earlier_cost(ask_plan: AskPlan, store: Store, manifest: Mapping[str, Any]) -> Cost:
    """What all invocations so far spent, at most; controls cost nothing."""
    kept = _kept(ask_plan, store)
    for name in ("unkept", "uncertain"):
        kept = _plus(kept, manifest.get(name, {}))
    return replace(kept, seconds=float(manifest.get("seconds", 0.0)))


def cost_so_far(ask_plan: AskPlan, store: Store, folder: Path) -> Cost:
    """The same for a run folder that no invocation has open, with what a killed one may have spent."""
    lost = unaccounted_cost(folder / NAME, _kept(ask_plan, store))
    return _plus(
        earlier_cost(ask_plan, store, read_manifest(folder)), {name: getattr(lost, name) for name in _PARTS}
    )


class CostLedger:
    """The account of one invocation. Takes over what an earlier one that was killed left in its ledger."""

    def __init__(self, ask_plan: AskPlan, folder: RunFolder) -> None:
        self._prepared, self._folder = ask_plan, folder
        self._kept = _kept(ask_plan, folder.store)
        path = folder.path / NAME
        lost = unaccounted_cost(path, self._kept)
        if lost != Cost():
            known = _plus(lost, folder.manifest().get("uncertain", {}))
            folder.note(uncertain={name: getattr(known, name) for name in _PARTS})
        path.unlink(missing_ok=True)
        self.before = earlier_cost(ask_plan, folder.store, folder.manifest())
        caps = ask_plan.plan.budget
        left = tuple(
            None if cap is None else max(0, cap - getattr(self.before, name))
            for name, cap in zip(_PARTS, (caps.calls, caps.usd, caps.tokens), strict=True)
        )
        self.ledger = ReservationLedger(path, left, self._kept)  # type: ignore[arg-type]

    def note(self, outcomes: Sequence[EngineOutcome], seconds: float) -> None:
        """Add what this invocation spent to the manifest; its answers are committed.

        Args:
            outcomes: of its runs, also of one that was interrupted.
            seconds: how long it took.
        """
        now, then = _kept(self._prepared, self._folder.store), self._kept
        unkept = dict(self._folder.manifest().get("unkept", {}))
        for name in _PARTS:
            made = sum(getattr(one, name) for one in outcomes)
            kept = getattr(now, name) - getattr(then, name)
            if made - kept > _DUST:
                unkept[name] = unkept.get(name, 0) + made - kept
        facts = {"unkept": unkept} if unkept else {}
        self._folder.note(seconds=self.before.seconds + seconds, **facts)
        self.ledger.close()


def _plus(cost: Cost, more: Mapping[str, Any]) -> Cost:
    return replace(
        cost,
        calls=cost.calls + int(more.get("calls", 0)),
        usd=cost.usd + float(more.get("usd", 0.0)),
        tokens=cost.tokens + int(more.get("tokens", 0)),
    )


def _kept(ask_plan: AskPlan, store: Store) -> Cost:
    """What the kept answers cost."""
    return store.cost([one.fingerprint for one in (*ask_plan.rated_targets, *ask_plan.judges)])


@dataclass(frozen=True, slots=True)
class Pace:
    """How quickly a provider answered, all its parts and directions together.

    Attributes:
        calls: that were answered; one for each message and leg.
        seconds: in which they were.
        quickest: seconds of the quickest call.
        run: the run in which it was timed.
    """

    calls: int
    seconds: float
    quickest: float
    run: str = ""

    def each(self, leg: ServiceSpec) -> float:
        """Seconds a call of a service of this provider, asked no faster than its limits allow now."""
        slowest = 1 / leg.rate if leg.rate else 0.0
        return max(self.seconds / self.calls, self.quickest / (leg.concurrency * leg.batch), slowest)


class Stopwatch:
    """Times the providers of a run by its events, and counts the failed calls that were made good.

    Args:
        parts: name of each part in the events -> what is asked.
    """

    def __init__(self, parts: Mapping[str, ServiceSpec]) -> None:
        self._legs = {
            name: tuple(provider_key(leg)[0] for leg in description.stages())
            for name, description in parts.items()
        }
        self._began = ""
        self._until: dict[str, str] = {}  # part -> its last answer since the go began
        self._turns: Counter[str] = Counter()  # part -> what was answered
        self._quickest: dict[str, float] = {}  # part -> milliseconds
        self._seconds: defaultdict[str, float] = defaultdict(float)  # by provider
        self._recovered: Counter[str] = Counter()  # class of fault -> calls answered when sent again

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take the next event."""
        kind = event["event"]
        self._recovered.update(event.get("recovered", {}))
        if kind == "answer":
            # Workers may tell of an answer after the go is over, which counts for no pace.
            if event["status"] != "failed" and self._began:
                part, millis = event["part"], event["millis"]
                self._until[part] = event["at"]
                self._turns[part] += event["turns"]
                if millis < self._quickest.get(part, math.inf):
                    self._quickest[part] = millis
        elif kind == "plan":
            self._began = self._began or event["at"]
        elif kind == "done":
            self._lap()

    def _lap(self) -> None:
        """A go is over: add the time until the last answer of each provider."""
        last: dict[str, str] = {}
        for part, at in self._until.items():
            for mark in self._legs.get(part, ()):
                last[mark] = max(at, last.get(mark, ""))
        for mark, at in last.items():
            passed = datetime.fromisoformat(at) - datetime.fromisoformat(self._began)
            self._seconds[mark] += passed.total_seconds()
        self._until.clear()
        self._began = ""

    def notes(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """What is to be noted in a manifest, with what earlier sittings noted there."""
        paces = {**manifest.get("paces", {}), **self.facts()}
        recovered = self._recovered + Counter(manifest.get("recovered", {}))
        return {name: one for name, one in (("paces", paces), ("recovered", dict(recovered))) if one}

    def facts(self) -> dict[str, dict[str, float]]:
        """The paces: provider -> calls, seconds, quickest; those of a few calls left out."""
        self._lap()
        calls: Counter[str] = Counter()
        quickest: dict[str, float] = {}
        for part, legs in self._legs.items():
            for mark in legs if part in self._turns else ():
                calls[mark] += self._turns[part]
                seconds = self._quickest[part] / 1000 / len(legs)
                quickest[mark] = min(seconds, quickest.get(mark, seconds))
        return {
            mark: {"calls": calls[mark], "seconds": self._seconds[mark], "quickest": quickest[mark]}
            for mark in calls
            if calls[mark] >= FIRST and self._seconds[mark] > 0
        }


def known_paces(ratings: Path, descriptions: Iterable[ServiceSpec]) -> Paces:
    """Their providers' paces, each from the newest run that timed it."""
    wanted = {provider_key(leg)[0] for one in descriptions for leg in one.stages()}
    found: dict[str, Pace] = {}
    for run, noted in stored_paces(ratings):
        for mark in wanted - found.keys():
            pace = _pace(noted.get(mark), run)
            if pace is not None:
                found[mark] = pace
        if len(found) == len(wanted):
            break
    return found


def _pace(facts: Any, run: str) -> Pace | None:
    """A pace from a manifest, None where it holds none that makes sense."""
    known = facts if isinstance(facts, Mapping) else {}
    calls, seconds, quickest = (_number(known.get(name)) for name in ("calls", "seconds", "quickest"))
    return Pace(int(calls), seconds, quickest, run) if calls >= 1 and seconds > 0 and quickest >= 0 else None


def _number(value: Any) -> float:
    """A finite number, -1 for anything else."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < math.inf
    return float(value) if fits else -1.0
