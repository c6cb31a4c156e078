"""Every error that trustgauge raises on purpose.

    TrustgaugeError                 has a code, and says: what, must be, got, what to do
    ├── PlanError                   the plan or the command is wrong; carries every fault   (exit 2)
    ├── StoreError                  a run folder cannot be read, written or trusted         (exit 2)
    │   ├── DiskFullError           no space left; all received answers are saved           (exit 4)
    │   ├── IntegrityError          what lies there is not what a run wrote    (of `verify` exit 10)
    │   ├── UnfinishedError         a run has answers and no rating yet                     (exit 4)
    │   └── CatalogueError          a document is not taken into the catalogue
    │       └── PublishedError      it differs from what was published under its id
    ├── ServiceError                a service did not answer as it should                   (exit 3)
    │   ├── KeyMissingError         the environment variable that holds the key is empty
    │   ├── RefusedError            the service refused the key (401, 403): no retry, stops the service
    │   ├── RejectedError           the service rejected this one message (400, 404, 422): no retry
    │   ├── BusyError               the service asks to wait (429); retried
    │   ├── UnavailableError        5xx, connection lost, time-out; retried
    │   ├── GarbledError            an answer whose form cannot be read; retried, then `unreadable`
    │   ├── SameAnswerError         one and the same answer to different questions              (exit 4)
    │   └── MissingPartError        a program or library the service needs is not installed
    ├── MethodError                 a method cannot do what its settings ask                (exit 2)
    └── VerifyError                 re-deriving a rating gave something else                (exit 10)

Each class has a `code` that is stable, documented in `docs/reference/errors.md` and never reused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

_QUOTES = re.compile(": | (?=[\"'“‘«])")  # what is quoted begins behind these


def sentence(what: str, must: str = "", got: str = "", do: str = "") -> str:
    """Join the four parts of a message into one line."""
    parts = [what.rstrip(".")]
    if must:
        parts.append(f"Must be {must.rstrip('.')}")
    if got:
        parts.append(f"Got {got.rstrip('.')}")
    if do:
        parts.append(do.rstrip("."))
    return " ".join(part if part.endswith(("?", "!")) else f"{part}." for part in parts)


def kind_of_error(error: str) -> str:
    """What went wrong without what is quoted, such as a body in which a server repeats its input.

    >>> kind_of_error('host:80 answered 400 Bad Request: {"text": "She"}')
    'host:80 answered 400 Bad Request'
    """
    return _QUOTES.split(error, maxsplit=1)[0]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a plan: where it is and what is wrong with it."""

    place: str
    what: str
    must: str = ""
    got: str = ""
    do: str = ""
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.place}: {sentence(self.what, self.must, self.got, self.do)}"


class TrustgaugeError(Exception):
    """The root. `str(error)` is the message for people; `error.code` is for programs.

    The four parts of the message are kept apart: `what` went wrong, what it `must` be,
    what was `got`, and what to `do`. Empty parts are left out.
    """

    code = "internal"
    exit_code = 1
    faults: tuple[Fault, ...] = ()  # of an error that tells of several
    sent = False  # services may have been asked before it

    def __init__(self, what: str, *, must: str = "", got: str = "", do: str = "") -> None:
        self.what, self.must, self.got, self.do = what, must, got, do
        super().__init__(sentence(what, must, got, do))


class PlanError(TrustgaugeError):
    """The plan, or the command line, is wrong. All faults are reported at once; nothing was sent."""

    code = "plan.invalid"
    exit_code = 2

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        super().__init__("\n".join(str(fault) for fault in faults))

    @classmethod
    def of(cls, place: str, what: str, must: str = "", got: str = "", do: str = "") -> Self:
        """The error of one fault."""
        return cls((Fault(place, what, must, got, do),))

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.faults)


def raise_faults(faults: Iterable[Fault]) -> None:
    """Raise PlanError with all faults, if there are any."""
    if every := tuple(faults):
        raise PlanError(every)


class StoreError(TrustgaugeError):
    """A run folder cannot be read, written or trusted."""

    code = "store.unusable"
    exit_code = 2


class DiskFullError(StoreError):
    """The disk is full. Everything acknowledged before is kept."""

    code = "store.disk-full"
    exit_code = 4


class IntegrityError(StoreError):
    """What lies in a run folder is not what a run wrote: it is damaged, or was changed since."""


class UnfinishedError(StoreError):
    """A run was ended before it was rated, or is still under way. What it received is kept."""

    code = "store.unfinished"
    exit_code = 4


class CatalogueError(StoreError):
    """A document is not taken into the catalogue: it is no rating, or changes one. Nothing of it is kept."""

    code = "catalogue.refused"


class PublishedError(CatalogueError):
    """A document differs from what was published under its id."""


class ServiceError(TrustgaugeError):
    """A service did not answer as it should."""

    code = "service.failed"
    exit_code = 3
    retry = False
    retry_after: float | None = None  # seconds that the service asks to wait, None if it did not say
    timed_out = False  # no answer came in time
    status: int | None = None  # of HTTP, where it came with one


class KeyMissingError(ServiceError):
    """The environment variable that holds the key is not set. Nothing was sent."""

    code = "service.key-missing"


class RefusedError(ServiceError):
    """The service refused the key or the caller (401, 403). The service is not asked again."""

    code = "service.refused"


class RejectedError(ServiceError):
    """The service rejected this message (400, 404, 422). It is not sent again."""

    code = "service.rejected"


class BusyError(ServiceError):
    """The service asks to wait (429). `retry_after` is in seconds, None if it did not say."""

    code = "service.busy"
    retry = True

    def __init__(self, what: str, *, retry_after: float | None = None, do: str = "") -> None:
        super().__init__(what, do=do)
        self.retry_after = retry_after


class UnavailableError(ServiceError):
    """The service failed (5xx), the connection was lost, or no answer came in time."""

    code = "service.unavailable"
    retry = True

    def __init__(
        self, what: str, *, retry_after: float | None = None, timed_out: bool = False, do: str = ""
    ) -> None:
        super().__init__(what, do=do)
        self.retry_after = retry_after
        self.timed_out = timed_out


class GarbledError(ServiceError):
    """An answer came, but its form cannot be read (not JSON, cut short, the text is missing)."""

    code = "service.garbled"
    retry = True


class SameAnswerError(ServiceError):
    """The service gave one and the same answer to different questions. It is not asked any further."""

    code = "service.same-answer"
    exit_code = 4

    def __init__(self, fingerprint: str, answer: str, questions: int) -> None:
        self.fingerprint = fingerprint
        what = f"the same answer to the first {questions} different questions"
        super().__init__(what, got=answer, do="See whether the service is set up as it is meant to be")


class MissingPartError(ServiceError):
    """A program or library that the service needs is not installed here."""

    code = "service.part-missing"


class MethodError(TrustgaugeError):
    """A method cannot do what its settings ask for."""

    code = "method.impossible"
    exit_code = 2


class VerifyError(TrustgaugeError):
    """Re-deriving the rating from the kept answers gave something else."""

    code = "verify.differs"
    exit_code = 10
