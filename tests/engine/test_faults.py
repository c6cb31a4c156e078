"""Services that fail, throttle, vanish or hang, in virtual time; caps; interruption."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.virtual import Batched, Composite, Live, Scripted, VirtualTime, echo, scripted, units
from trustgauge.engine import EngineClock
from trustgauge.engine.local import BudgetLimits, EngineOutcome, Interruption, Job, JobTally, LocalEngine, run
from trustgauge.engine.service_dispatcher import CallBound
from trustgauge.errors import (
    BusyError,
    GarbledError,
    RefusedError,
    RejectedError,
    UnavailableError,
    kind_of_error,
)
from trustgauge.records import Answer, Cost, Message, Reply
from trustgauge.services import FRAME
from trustgauge.services.chat import OpenAi


class Bucket:
    """A service that allows so many calls a second, with a small reserve, else 429."""

    def __init__(self, rate: float, reserve: int = 5, retry_after: float | None = 1.0) -> None:
        self.rate, self.reserve, self.retry_after = rate, reserve, retry_after
        self.tokens, self.at, self.refused = float(reserve), 0.0, 0

    async def __call__(self, messages: Sequence[Message]) -> list[Reply]:
        now = asyncio.get_running_loop().time()
        self.tokens = min(self.reserve, self.tokens + (now - self.at) * self.rate)
        self.at = now
        await asyncio.sleep(0.02)
        if self.tokens < 1:
            self.refused += 1
            raise BusyError("HTTP 429", retry_after=self.retry_after)
        self.tokens -= 1
        return [Reply(message.text) for message in messages]


class Run:
    def __init__(self) -> None:
        self.time = VirtualTime()
        self.answers: list[Answer] = []
        self.events: list[dict[str, object]] = []

    def __call__(self, *jobs: Job, limits: BudgetLimits | None = None) -> EngineOutcome:
        def keep(*answers: Answer) -> None:
            self.answers.extend(answers)

        return run(jobs, keep, limits, self.events.append, engine=LocalEngine(clock=self.time.clock))

    def of(self, kind: str) -> list[dict[str, object]]:
        return [event for event in self.events if event["event"] == kind]


def refusing(refused: Callable[[float], bool], hint: float | None, seconds: float = 0.02) -> Live:
    """A service that refuses a call, sent at this time, or answers it, after so many seconds."""

    async def answer(messages: Sequence[Message]) -> list[Reply]:
        refuse = refused(asyncio.get_running_loop().time())
        await asyncio.sleep(seconds)
        if refuse:
            raise BusyError("HTTP 429", retry_after=hint)
        return [Reply(message.text) for message in messages]

    return scripted("one", answer)


def seconds_of(count: int, refused: Callable[[float], bool], hint: float | None) -> float:
    """How long so many calls of 160 ms take, 64 at a time; all are answered in the end."""
    refusing(refused, hint, 0.16)
    ask = Run()
    outcome = ask(Job("one", Scripted(name="one", concurrency=64), units(count)))
    assert (outcome.tallies["one"].done, outcome.tallies["one"].failed) == (count, 0)
    return ask.time.seconds


@pytest.mark.parametrize(("share", "hint"), [(0.01, 1.0), (0.01, None), (0.001, 1.0)])
def test_a_call_in_a_hundred_refused_costs_at_most_half_the_time_again(
    share: float, hint: float | None
) -> None:
    chance = random.Random(1).random
    without = seconds_of(2_000, lambda at: False, None)
    assert seconds_of(2_000, lambda at: chance() < share, hint) < 1.5 * without


@pytest.mark.parametrize("hint", [1.0, 0.0, None])
@pytest.mark.parametrize("start", [0.5, 2.0])
def test_a_burst_of_refusals_costs_at_most_its_length_more(start: float, hint: float | None) -> None:
    without = seconds_of(2_000, lambda at: False, None)
    burst = 5.0
    late = 4.0 if hint else burst  # a service that says when to come back is asked then
    assert seconds_of(2_000, lambda at: start <= at < start + burst, hint) < without + burst + late


def test_every_other_call_refused_at_once_still_ends() -> None:
    chance = random.Random(1).random
    assert seconds_of(60, lambda at: chance() < 0.5, 0.0) < 120.0


def test_one_refused_call_waits_alone() -> None:
    first: list[float] = []

    def once(at: float) -> bool:
        if at >= 0.02 and not first:
            first.append(at)
            return True
        return False

    live = refusing(once, 30.0)
    ask = Run()
    ask(Job("one", Scripted(name="one"), units(200)))
    times = [at for at, _ in live.asked]
    assert len([at for at in times if at < 1.0]) == 200
    assert times[-1] == pytest.approx(first[0] + 0.02 + 30.0)
    assert not ask.of("slowed")


def test_several_refused_calls_pause_the_whole_service() -> None:
    live = refusing(lambda at: 0.02 <= at < 0.04, 30.0)
    ask = Run()
    outcome = ask(Job("one", Scripted(name="one"), units(200)))
    assert outcome.tallies["one"].done == 200
    times = [at for at, _ in live.asked]
    assert not [at for at in times if 0.04 + 1e-9 < at < 30.04 - 1e-9]
    assert ask.of("slowed")[0]["wait"] == 30.0


@pytest.mark.parametrize(("allowed", "most"), [(10.0, 0.15), (100.0, 0.06)])
@pytest.mark.parametrize("hint", [1.0, 0.0, None])
def test_a_service_with_a_limit_is_seldom_asked_in_vain(
    allowed: float, most: float, hint: float | None
) -> None:
    count = int(60 * allowed)
    bucket = Bucket(allowed, retry_after=hint)
    live = scripted("one", bucket)
    ask = Run()
    assert ask(Job("one", Scripted(name="one"), units(count))).tallies["one"].done == count
    assert bucket.refused < most * len(live.asked)
    assert ask.time.seconds < 1.6 * 60


def test_a_throttled_service_is_asked_at_the_rate_it_allows() -> None:
    bucket = Bucket(rate=10.0)
    scripted("slow", bucket)
    ask = Run()
    outcome = ask(Job("slow", Scripted(name="slow"), units(600)))
    assert outcome.tallies["slow"].done == 600
    assert outcome.tallies["slow"].failed == 0
    assert ask.time.seconds < 1.6 * 600 / 10.0
    assert bucket.refused < 0.15 * 600


def test_a_limit_on_calls_at_once_is_found_too() -> None:
    inside = 0

    async def narrow(messages: Sequence[Message]) -> list[Reply]:
        nonlocal inside
        if inside >= 4:
            raise BusyError("HTTP 429")
        inside += 1
        await asyncio.sleep(0.05)
        inside -= 1
        return [Reply(message.text) for message in messages]

    scripted("narrow", narrow)
    ask = Run()
    outcome = ask(Job("narrow", Scripted(name="narrow"), units(2000)))
    assert outcome.tallies["narrow"].done == 2000
    assert outcome.tallies["narrow"].failed == 0
    assert ask.time.seconds < 5 * 2000 * 0.05 / 4


def test_a_declared_rate_is_kept() -> None:
    live = scripted("one", echo)
    Run()(Job("one", Scripted(name="one", rate=20.0), units(200)))
    times = [at for at, _ in live.asked]
    for start in range(len(times)):
        assert sum(1 for at in times[start:] if at < times[start] + 1.0) <= 21


def test_directions_of_one_provider_share_its_rate() -> None:
    class Directed(Scripted):
        source: str = "en"
        target: str = ""

    live = scripted("one", echo)
    jobs = [Job(to, Directed(name="one", target=to, rate=20.0), units(50, to)) for to in ("es", "it", "eo")]
    Run()(*jobs)
    times = sorted(at for at, _ in live.asked)
    assert len(times) == 150
    assert times[-1] >= 149 / 20.0 - 0.1


def test_passing_trouble_is_tried_again_until_it_works() -> None:
    chance = random.Random(1).random

    async def shaky(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.02)
        if chance() < 0.2:
            raise UnavailableError("HTTP 503")
        return [Reply(message.text) for message in messages]

    scripted("shaky", shaky)
    ask = Run()
    outcome = ask(Job("shaky", Scripted(name="shaky"), units(500)))
    assert outcome.refused == {}
    assert outcome.tallies["shaky"].done == 500
    assert outcome.tallies["shaky"].retries == outcome.calls - 500 > 50
    assert sum(answer.attempts for answer in ask.answers) == outcome.calls
    assert max(answer.attempts for answer in ask.answers) > 1


def test_attempts_are_capped() -> None:
    async def picky(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.02)
        if messages[0].text == "text 3":
            raise UnavailableError("HTTP 500")
        return [Reply("fine")]

    live = scripted("picky", picky)
    ask = Run()
    ask(Job("picky", Scripted(name="picky"), units(2000)))
    (lost,) = [answer for answer in ask.answers if answer.status == "failed"]
    assert (lost.text, lost.error, lost.attempts) == ("text 3", "service.unavailable", 6)
    assert live.messages.count("text 3") == 6


@pytest.mark.parametrize("error", [UnavailableError("refused"), BusyError("HTTP 429")])
def test_a_service_plainly_down_is_given_up_and_burns_no_budget(error: Exception) -> None:
    async def down(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.001)
        raise error

    live = scripted("down", down)
    scripted("up", echo)
    ask = Run()
    outcome = ask(Job("down", Scripted(name="down"), units(5000)), Job("up", Scripted(name="up"), units(100)))
    assert len(live.asked) <= 40
    assert outcome.tallies["down"].pending == 5000  # nothing is recorded against the messages
    assert list(outcome.refused) == ["down"]
    assert outcome.tallies["up"].done == 100
    assert outcome.stopped is None
    assert [event["state"] for event in ask.of("breaker")][-1] == "open"
    assert {answer.status for answer in ask.answers} == {"answered"}


def test_a_service_that_comes_back_is_asked_on() -> None:
    async def restarts(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.02)
        if 0.1 < asyncio.get_running_loop().time() < 3.0:
            raise UnavailableError("connection refused")
        return [Reply("fine")]

    scripted("one", restarts)
    ask = Run()
    outcome = ask(Job("one", Scripted(name="one"), units(1000)))
    assert outcome.tallies["one"].done == 1000
    assert outcome.tallies["one"].failed == 0
    states = [event["state"] for event in ask.of("breaker")]
    assert states[0] == "probing"
    assert states[-1] == "closed"


@pytest.mark.parametrize("error", [UnavailableError("HTTP 502"), BusyError("HTTP 429")])
def test_a_minute_without_answers_ends_no_run_that_has_begun(error: Exception) -> None:
    """A server restarts; or it allows so many calls a minute, and does not say how long to wait."""

    async def restarts(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.02)
        if 0.1 < asyncio.get_running_loop().time() < 60.0:
            raise error
        return [Reply("fine")]

    live = scripted("one", restarts)
    outcome = Run()(Job("one", Scripted(name="one"), units(1000)))
    assert (outcome.tallies["one"].done, outcome.tallies["one"].failed) == (1000, 0)
    assert len(live.asked) < 1_100  # those under way when it began, then single probes


def test_a_call_that_came_too_late_may_be_billed_like_the_dearest() -> None:
    """Where only the reply tells the price: the service wrote an answer, although nobody waited for it."""

    async def slow(messages: Sequence[Message]) -> list[Reply]:
        late = messages[0].text in ("text 3", "text 7") and live.messages.count(messages[0].text) == 1
        await asyncio.sleep(60.0 if late else 0.02)
        return [Reply("fine", tokens=5, usd=0.01)]

    live = scripted("one", slow)
    ask = Run()
    outcome = ask(Job("one", Scripted(name="one", concurrency=1, timeout=1.0), units(20)))
    assert outcome.tokens == 22 * 5
    assert outcome.usd == pytest.approx(22 * 0.01)
    assert {one.text: one.tokens for one in ask.answers}["text 3"] == 10
    live.asked.clear()
    capped = Run()(
        Job("one", Scripted(name="one", concurrency=1, timeout=1.0), units(20)),
        limits=BudgetLimits(usd=0.1),
    )
    assert capped.stopped == "limit reached: usd 0.10"
    assert len(live.messages) == 10


@pytest.mark.parametrize("error", [RejectedError("HTTP 404"), GarbledError("HTML")])
def test_a_service_that_never_gives_a_usable_answer_is_given_up(error: Exception) -> None:
    async def useless(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.02)
        raise error

    live = scripted("useless", useless)
    outcome = Run()(Job("useless", Scripted(name="useless"), units(1000)))
    assert len(live.asked) <= 60
    assert list(outcome.refused) == ["useless"]


def test_a_rejection_while_probing_is_a_sign_of_life() -> None:
    async def odd(messages: Sequence[Message]) -> list[Reply]:
        now = asyncio.get_running_loop().time()
        await asyncio.sleep(0.02)
        if 0.05 < now < 0.4:
            raise UnavailableError("HTTP 502")
        if messages[0].text.endswith("7"):
            raise RejectedError("HTTP 422")
        return [Reply("fine")]

    scripted("odd", odd)
    ask = Run()
    outcome = ask(Job("odd", Scripted(name="odd"), units(300)))
    assert outcome.tallies["odd"].pending == 0
    assert outcome.tallies["odd"].failed == 30


def test_a_service_that_asks_for_a_day_is_stopped() -> None:
    async def tomorrow(messages: Sequence[Message]) -> list[Reply]:
        raise BusyError("HTTP 429", retry_after=86_400.0)

    scripted("one", tomorrow)
    ask = Run()
    outcome = ask(Job("one", Scripted(name="one"), units(100)))
    assert list(outcome.refused) == ["one"]
    assert (
        str(outcome.refused["one"]) == "HTTP 429. It asks to wait 1,440 minutes: run the same command then."
    )
    assert ask.time.seconds < 5


@pytest.mark.parametrize(("count", "slowed"), [(1, 0), (8, 1)])
def test_calls_that_hang_are_cut_off_and_many_of_one_round_halve_the_speed_once(
    count: int, slowed: int
) -> None:
    hung: set[str] = set()

    async def hangs(messages: Sequence[Message]) -> list[Reply]:
        text = messages[0].text
        await asyncio.sleep(0.02)
        if text in {f"text {30 + number}" for number in range(count)} - hung:
            hung.add(text)
            await asyncio.sleep(1e6)
        return [Reply(message.text) for message in messages]

    scripted("one", hangs)
    ask = Run()
    outcome = ask(Job("one", Scripted(name="one", timeout=5.0), units(100)))
    assert outcome.tallies["one"].done == 100
    assert [event["error"] for event in ask.of("slowed")] == ["service.unavailable"] * slowed
    assert ask.time.seconds < 10


def test_a_batch_that_meets_429_stays_a_batch() -> None:
    bucket = Bucket(rate=5.0, reserve=3)
    live = scripted("many", bucket)
    outcome = Run()(Job("many", Batched(name="many"), units(200)))
    assert outcome.tallies["many"].done == 200
    sizes = [len(batch) for _, batch in live.asked]
    assert sizes.count(10) >= 15
    assert sizes.count(1) <= 10  # only while it was probed


def test_a_batch_that_failed_is_one_call_that_failed() -> None:
    async def picky(messages: Sequence[Message]) -> list[Reply]:
        texts = [message.text for message in messages]
        if "text 10" in texts:
            raise RejectedError("one of them is bad")
        if "text 27" in texts and len(texts) > 1:
            raise UnavailableError("connection lost")
        return [Reply(message.text) for message in messages]

    scripted("many", picky)
    ask = Run()
    jobs = Job("some", Batched(name="many"), units(24)), Job("rest", Batched(name="many"), units(40)[24:])
    tallies = ask(*jobs).tallies
    recovered: Counter[str] = Counter()
    for event in ask.of("answer"):
        recovered.update(event.get("recovered", {}))  # type: ignore[call-overload]
    assert recovered == {"unavailable": 1}  # the rest of the other batch was not refused, but sent with it
    # The first batch has messages of both jobs, and is a failed call of both.
    assert tallies["some"].errors == {"one of them is bad.": 2, "connection lost.": 1}
    assert tallies["rest"].errors == {"one of them is bad.": 1, "connection lost.": 1}


class Unruly:
    """Random latencies and failures of every kind, from a seed."""

    def __init__(self, seed: int, share: float, *, priced: bool) -> None:
        self.chance = random.Random(seed)
        self.share, self.priced = share, priced

    async def __call__(self, messages: Sequence[Message]) -> list[Reply]:
        dice = self.chance
        await asyncio.sleep(dice.choice([0.0, 0.001, 0.02, 0.3, 2.0]) * dice.random())
        if dice.random() < self.share:
            raise dice.choice(
                [
                    UnavailableError("HTTP 503"),
                    UnavailableError("HTTP 503", retry_after=1.5),
                    BusyError("HTTP 429", retry_after=dice.random() * 3),
                    BusyError("HTTP 429"),
                    GarbledError("not JSON"),
                    RejectedError("HTTP 400"),
                ]
            )
        cost = {"tokens": dice.randint(1, 9), "usd": 0.001} if self.priced else {}
        return [Reply(message.text, **cost) for message in messages]  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    share=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]),
    cap=st.integers(0, 400),
    batched=st.booleans(),
    chained=st.booleans(),
)
def test_the_cap_on_calls_holds_to_the_call(
    seed: int, share: float, cap: int, batched: bool, chained: bool
) -> None:
    live = scripted("unruly", Unruly(seed, share, priced=False))
    if chained:
        job = Job("part", Composite(names=("unruly", "unruly")), units(150))
    else:
        job = Job("part", (Batched if batched else Scripted)(name="unruly", concurrency=64), units(300))
    ask = Run()
    outcome = ask(job, limits=BudgetLimits(calls=cap))
    tally = outcome.tallies["part"]
    assert len(live.messages) == outcome.calls == tally.calls <= cap
    assert tally.done + tally.failed + tally.pending == tally.total
    if outcome.stopped is None and not outcome.refused:
        assert tally.pending == 0
    if outcome.stopped is not None:
        assert outcome.stopped == f"limit reached: calls {cap}"
        assert outcome.calls >= cap - 1  # a chain of two that cannot be finished is not begun
    keys = [(answer.message, answer.draw) for answer in ask.answers]
    assert len(keys) == len(set(keys))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.0, 0.2, 0.6]), cap=st.integers(0, 100))
def test_the_cap_on_money_holds_for_declared_prices(seed: int, share: float, cap: int) -> None:
    live = scripted("unruly", Unruly(seed, share, priced=False))
    price = 0.001
    job = Job("part", Scripted(name="unruly", usd_per_call=price), units(150))
    limit = cap * price
    outcome = Run()(job, limits=BudgetLimits(usd=limit))
    assert outcome.usd <= limit + 1e-9
    assert outcome.usd <= len(live.messages) * price + 1e-9
    if share == 0.0:
        assert len(live.messages) == min(cap, 150)


@settings(max_examples=40, deadline=None)
@given(cap=st.integers(0, 4000), longer=st.sampled_from([0.5, 1.0, 1.2]))
def test_a_cap_on_money_leaves_no_chain_half_asked(cap: int, longer: float) -> None:
    """What only the first service of a chain answered is paid for and lost."""

    async def translate(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.02)
        return [Reply("x" * round(len(message.text) * longer)) for message in messages]

    first, second = scripted("first", translate), scripted("second", translate)
    chain = Composite(names=("first", "second"), usd_per_million_characters=20.0)
    texts = [(Message("x" * (20 + place)),) for place in range(60)]
    ask = Run()
    outcome = ask(Job("part", chain, texts), limits=BudgetLimits(usd=cap * 20e-6))
    assert len(first.messages) == len(second.messages) == len(ask.answers)
    assert outcome.usd <= cap * 20e-6 + 1e-9
    if outcome.stopped is not None:  # as much was asked as is sure to be finished
        assert outcome.usd + 20e-6 * 2 * 1.25 * 80 >= cap * 20e-6


def test_prices_by_length_are_reserved_before_sending() -> None:
    live = scripted("one", echo)
    job = Job("part", Scripted(name="one", usd_per_million_characters=20.0), [(Message("x" * 1000),)] * 1)
    assert Run()(job, limits=BudgetLimits(usd=0.0199)).stopped == "limit reached: usd 0.02"
    assert live.asked == []
    assert Run()(job, limits=BudgetLimits(usd=0.02)).stopped is None


def test_tokens_are_capped_by_the_dearest_reply_so_far() -> None:
    async def ten(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.02)
        return [Reply("fine", tokens=10) for _ in messages]

    scripted("ten", ten)
    outcome = Run()(Job("ten", Scripted(name="ten"), units(300)), limits=BudgetLimits(tokens=1005))
    assert outcome.tokens == 1000
    assert outcome.stopped == "limit reached: tokens 1005"
    sent = count()

    async def growing(messages: Sequence[Message]) -> list[Reply]:
        tokens = [10 + 2 * next(sent) for _ in messages]
        await asyncio.sleep(0.02)
        return [Reply("fine", tokens=one) for one in tokens]

    scripted("growing", growing)
    outcome = Run()(Job("growing", Scripted(name="growing"), units(300)), limits=BudgetLimits(tokens=1005))
    largest = 10 + 2 * outcome.calls
    assert 1005 - largest <= outcome.tokens <= 1005 + largest, "passed by one call at most"


def test_what_a_call_may_cost_more_follows_from_what_its_answer_may_have() -> None:
    prices = {"usd_per_million_input_tokens": 1.0, "usd_per_million_output_tokens": 2.0}
    model = OpenAi(url="http://127.0.0.1:1/v1", model="m", system="Be nice.", **prices)
    asked, seen = Message("café", turns=(("a", "b"),)), (0.0001, 50)
    read = len("Be nice.") + len("café".encode()) + 2 + 4 * FRAME
    usd, tokens = CallBound(model).beyond(asked, seen)
    assert (usd, tokens) == pytest.approx(((read + 2 * 1024) / 1e6 - 0.0001, read + 974))
    stated = model.model_copy(update={"max_tokens": 60})
    assert CallBound(stated).beyond(asked, seen)[1] == read + 10
    assert CallBound(stated).beyond(asked, (0.1, 5000)) == (0.0, 0)
    assert CallBound(model).beyond(asked, (0.1, 5000))[1] == read + 15000
    assert CallBound(model).beyond(asked, (0.0, 0)) == (0.0, 0), "it counts no tokens"
    assert CallBound(Scripted(name="any")).beyond(asked, (0.1, 7)) == pytest.approx((0.3, 21))


@pytest.mark.parametrize("limits", [BudgetLimits(tokens=109), BudgetLimits(usd=1.09)])
def test_no_conversation_is_begun_that_tokens_or_money_cannot_finish(limits: BudgetLimits) -> None:
    async def ten(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.02)
        return [Reply("fine", tokens=10, usd=0.1) for _ in messages]

    live = scripted("ten", ten)
    talks = [
        tuple(
            Message(f"turn {turn}", session=f"talk {talk}", script=(f"{talk}",), turn=turn)
            for turn in range(3)
        )
        for talk in range(20)
    ]
    ask = Run()
    outcome = ask(Job("ten", Scripted(name="ten"), talks), limits=limits)
    assert outcome.tallies["ten"].done == 3
    assert len(live.messages) == outcome.calls == 9
    last = {answer.message: answer.status for answer in ask.answers}
    assert list(last.values()) == ["answered"] * 9


def test_earlier_sittings_count() -> None:
    scripted("one", echo)
    outcome = Run()(
        Job("one", Scripted(name="one"), units(50)), limits=BudgetLimits(calls=30, before=Cost(calls=20))
    )
    assert outcome.calls == 10


def test_time_is_capped_and_calls_under_way_are_cut() -> None:
    live = scripted("one", echo)
    ask = Run()
    outcome = ask(
        Job("one", Scripted(name="one", concurrency=1), units(500)), limits=BudgetLimits(seconds=1.01)
    )
    assert outcome.stopped == "limit reached: seconds 1.01"
    assert ask.time.seconds == pytest.approx(1.01)
    assert outcome.tallies["one"].done == 50
    assert live.under_way == 0


def test_a_dear_service_does_not_hold_up_a_free_one() -> None:
    scripted("dear", echo)
    scripted("free", echo)
    outcome = Run()(
        Job("dear", Scripted(name="dear", usd_per_call=0.01), units(100)),
        Job("free", Scripted(name="free", usd_per_call=1e-9), units(100)),
        limits=BudgetLimits(usd=0.255),
    )
    assert outcome.tallies["dear"].done == 25
    assert outcome.tallies["free"].done == 100
    assert outcome.stopped == "limit reached: usd 0.26" or outcome.stopped == "limit reached: usd 0.25"


def test_a_refused_key_in_the_middle_of_a_limit_leaves_the_budget_right() -> None:
    async def refuse(messages: Sequence[Message]) -> list[Reply]:
        await asyncio.sleep(0.03)
        raise RefusedError("HTTP 403")

    scripted("closed", refuse)
    scripted("first", echo)
    live = scripted("one", echo)
    outcome = Run()(
        Job("chain", Composite(names=("first", "closed")), units(40)),
        Job("one", Scripted(name="one"), units(500)),
        limits=BudgetLimits(calls=300),
    )
    assert outcome.calls == 300
    assert len(live.messages) > 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_cleanly_and_keeps_everything(number: signal.Signals) -> None:
    asked = 0

    async def answer(messages: Sequence[Message]) -> list[Reply]:
        nonlocal asked
        asked += 1
        if asked == 500:
            os.kill(os.getpid(), number)
        await asyncio.sleep(0.01)
        return [Reply("fine") for _ in messages]

    live = scripted("one", answer)
    kept: list[Answer] = []
    before = signal.getsignal(number)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        run([Job("one", Scripted(name="one"), units(20_000))], lambda *answers: kept.extend(answers))
    assert time.monotonic() - began < 20
    assert isinstance(caught.value, Interruption)
    assert caught.value.outcome.stopped == "interrupted"
    assert len(kept) == asked == caught.value.outcome.calls < 1000  # those under way were waited for
    assert live.closed
    assert signal.getsignal(number) == before


class _SignalledLoop(asyncio.SelectorEventLoop):
    """A loop that gets five signals while it is opened, or while it is closed after the run."""

    def __init__(self, number: signal.Signals, stage: str) -> None:
        self.number, self.stage = number, stage
        super().__init__()
        self._signals("opening")

    def stop(self) -> None:  # what ends each of the runs in which a loop is closed
        self._signals("closing")
        super().stop()

    def _signals(self, stage: str) -> None:
        for _ in range(5 if stage == self.stage else 0):
            signal.raise_signal(self.number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("stage", "answered"), [("opening", 0), ("closing", 20)])
def test_signals_before_the_first_call_or_after_the_last_are_not_lost(
    number: signal.Signals, stage: str, answered: int
) -> None:
    scripted("one", echo)
    kept: list[Answer] = []
    clock = EngineClock(lambda: _SignalledLoop(number, stage))
    job = Job("one", Scripted(name="one"), units(20))
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run([job], lambda *answers: kept.extend(answers), engine=LocalEngine(clock=clock))
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert len(kept) == answered


def test_calls_that_hang_do_not_hold_up_an_interrupted_run() -> None:
    async def hang(messages: Sequence[Message]) -> list[Reply]:
        asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGINT)
        await asyncio.sleep(1e6)
        return []

    scripted("hang", hang)
    began = time.monotonic()
    job = Job("hang", Scripted(name="hang", timeout=600.0, concurrency=1), units(100))
    with pytest.raises(KeyboardInterrupt):
        run([job], lambda *answers: None, engine=LocalEngine(grace=0.2))
    assert time.monotonic() - began < 20


def test_it_runs_inside_a_running_loop_as_in_a_notebook() -> None:
    scripted("one", echo)
    kept: list[Answer] = []

    async def cell() -> EngineOutcome:
        return run([Job("one", Scripted(name="one"), units(20))], lambda *answers: kept.extend(answers))

    assert asyncio.run(cell()).tallies["one"].done == 20
    assert len(kept) == 20


def test_errors_that_all_differ_in_what_they_quote_are_all_counted() -> None:
    tally = JobTally()
    for number in range(200):
        tally.note_error(RejectedError(f'a answered 400 Bad Request: {{"text": "{number}"}}'))
        tally.note_error(RejectedError(f"another kind, {number}"))
    kinds = Counter(kind_of_error(error) for error in tally.errors.elements())
    assert kinds["a answered 400 Bad Request"] == 200
    assert len(tally.errors) == 50
