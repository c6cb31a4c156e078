"""Virtual time, and services that live in it: waits of hours take no time and are exact."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from trustgauge.engine import EngineClock
from trustgauge.records import Message, Reply
from trustgauge.services import ServiceSpec

BEGAN = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)


class _Selector(selectors.DefaultSelector):
    """Instead of waiting, tells its loop that the time has passed."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        if timeout:
            self.loop.now += timeout
            timeout = 0
        return super().select(timeout)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer when nothing is left to do."""

    def __init__(self) -> None:
        self.now = 0.0
        selector = _Selector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.now


class VirtualTime:
    """A clock for `Local`; `seconds` is how far it has come."""

    def __init__(self) -> None:
        self.loop: VirtualLoop | None = None
        self.clock = EngineClock(self._loop, self.utc)

    def _loop(self) -> VirtualLoop:
        self.loop = VirtualLoop()
        return self.loop

    @property
    def seconds(self) -> float:
        return self.loop.now if self.loop else 0.0

    def utc(self) -> datetime:
        return BEGAN + timedelta(seconds=self.seconds)


Answerer = Callable[[Sequence[Message]], Awaitable[list[Reply]]]


class Live:
    """A live service that notes when it was asked what, and how many calls were under way at once."""

    def __init__(self, answer: Answerer) -> None:
        self._answer = answer
        self.asked: list[tuple[float, list[Message]]] = []
        self.under_way = self.most = 0
        self.closed = False

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        self.asked.append((asyncio.get_running_loop().time(), list(messages)))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            return await self._answer(messages)
        finally:
            self.under_way -= 1

    async def close(self) -> None:
        self.closed = True

    @property
    def messages(self) -> list[str]:
        return [message.text for _, batch in self.asked for message in batch]


LIVE: dict[str, Live] = {}
"""Live services by name: descriptions are values, so what they open is looked up here."""


class Scripted(ServiceSpec):
    """A service whose live side the test made."""

    use: str = "scripted"
    name: str

    def open(self) -> Live:
        return LIVE[self.name]


class Batched(Scripted):
    """The same, taking many messages a call."""

    batch: ClassVar[int] = 10


class Sure(Scripted):
    """The same, deterministic."""

    deterministic: ClassVar[bool] = True


class Composite(ServiceSpec):
    """Services one after the other."""

    use: str = "composite"
    names: tuple[str, ...]
    sure: bool = False

    def stages(self) -> tuple[ServiceSpec, ...]:
        kind, price = Sure if self.sure else Scripted, self.usd_per_million_characters
        return tuple(kind(name=name, usd_per_million_characters=price) for name in self.names)

    def open(self) -> Live:
        raise AssertionError("the engine asks leg by leg")


def scripted(name: str, answer: Answerer) -> Live:
    """Make a live service known by name."""
    LIVE[name] = Live(answer)
    return LIVE[name]


async def echo(messages: Sequence[Message]) -> list[Reply]:
    """Answer after 20 ms."""
    await asyncio.sleep(0.02)
    return [Reply(message.text.upper()) for message in messages]


def units(count: int, prefix: str = "text") -> list[tuple[Message, ...]]:
    """Single messages."""
    return [(Message(f"{prefix} {number}"),) for number in range(count)]
