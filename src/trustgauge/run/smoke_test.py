"""One call to each service, to see that it answers: what `check` shows."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass
from typing import Any

from trustgauge.errors import ServiceError
from trustgauge.records import Message, Reply
from trustgauge.reports.sanitize import short, terminal
from trustgauge.run.options import AskPlan
from trustgauge.run.probe_batches import batches_of
from trustgauge.run.targets import Target, messages, probes_of
from trustgauge.services import ServiceSpec

WIDTH = 200  # characters of an answer that are shown


@dataclass(frozen=True, slots=True)
class SmokeTestResult:
    """What one call to a part gave."""

    name: str
    sent: str
    trail: tuple[str, ...]
    answer: str
    millis: float
    error: str = ""

    def facts(self) -> dict[str, Any]:
        return asdict(self)

    def text(self) -> str:
        """The call in two lines, safe to print."""
        if self.error:
            return f"{terminal(self.name)}\n  error: {short(terminal(self.error), WIDTH)}"
        way = "  →  ".join(short(repr(terminal(one)), WIDTH) for one in (self.sent, *self.trail, self.answer))
        return f"{terminal(self.name)}\n  {way}   {self.millis:.0f} ms"


def smoke_test(ask_plan: AskPlan) -> list[SmokeTestResult]:
    """Ask every part the first message of its design, once, without retry."""
    rated = [one for one in ask_plan.targets if one.control is None]
    return asyncio.run(_probe_all(rated, ask_plan))


async def _probe_all(rated: list[Target], ask_plan: AskPlan) -> list[SmokeTestResult]:
    return [await _probe(one, _first(one, ask_plan)) for one in rated]


def _first(target: Target, ask_plan: AskPlan) -> Message:
    """The first message that a part is asked; of a session its first turn, with the whole script."""
    whole = next(batches_of(ask_plan.probes, (target.experiment, target.task)))
    frame = probes_of(target, whole)
    first = frame.head(1)
    if first["session"].item():
        first = frame.join(first.select("session", "draw"), on=["session", "draw"], how="semi")
    return next(one for one in messages(first) if not one.turn)


async def _probe(target: Target, message: Message) -> SmokeTestResult:
    description = target.description
    assert description is not None
    began = time.perf_counter()
    try:
        reply = await _ask(description, message)
    except ServiceError as error:
        return SmokeTestResult(target.title, message.text, (), "", 0.0, str(error))
    millis = (time.perf_counter() - began) * 1000
    return SmokeTestResult(target.title, message.text, reply.trail, str(reply.output), millis)


async def _ask(description: ServiceSpec, message: Message) -> Reply:
    live = description.open()
    try:
        return (await live.ask([message]))[0]
    finally:
        await live.close()
