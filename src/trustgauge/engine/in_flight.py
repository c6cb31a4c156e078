"""One unit of work on its way through legs and turns, and whom its answers belong to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from trustgauge.errors import ServiceError
from trustgauge.records import Answer, Message, Reply


class UnitOwner(Protocol):
    """Whom a walk belongs to: the job that gets its answers."""

    stopped: ServiceError | None

    def delivered(self, walk: InFlightUnit, reply: Reply, millis: float) -> None: ...

    def failed(self, walk: InFlightUnit, error: ServiceError) -> None: ...

    def sent(self, *, retry: bool) -> None: ...

    def stop(self, error: ServiceError) -> None: ...


@dataclass(slots=True, eq=False)
class InFlightUnit:
    """One unit of work on its way: which turn and leg it is at, and what it gathered so far."""

    owner: UnitOwner
    unit: tuple[Message, ...]
    message: Message  # what is to be sent now
    left: int  # calls to come if all goes well
    turn: int = 0
    leg: int = 0
    trail: list[str] = field(default_factory=list)
    attempts: int = 0
    millis: float = 0.0
    tokens: int = 0
    usd: float = 0.0
    cut: bool = False  # some leg's answer ended at the most tokens
    tries: int = 0  # at this leg
    alone: bool = False  # it was in a batch that failed
    kept: list[Answer] = field(default_factory=list)  # turns answered so far
    turns: tuple[dict[str, list[tuple[str, str]]], ...] = ()  # of a session: what each leg was told, by talk
