"""Everything that can be asked: the protocol of a service, and a module for each kind."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from trustgauge.records import Message, Reply, Task, digest

if TYPE_CHECKING:
    import polars as pl


Concurrency = Annotated[int, Field(ge=1, le=10_000)]
Positive = Annotated[float, Field(gt=0)]
Price = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]


@runtime_checkable
class Service(Protocol):
    """A live service: ask it, close it.

    `ask` takes up to `description.batch` messages and returns one reply for each, in order.
    It raises a `ServiceError` for the whole batch; the engine decides what is tried again.
    """

    async def ask(self, messages: Sequence[Message]) -> list[Reply]: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Access:
    """One thing that a user confirms before a plan is asked.

    Attributes:
        kind: a key that is sent, or code that is run.
        what: name of the environment variable, or the program, function or packages.
        where: host the key goes to, or the folder the code comes from.
    """

    kind: Literal["sends", "runs"]
    what: str
    where: str

    def __str__(self) -> str:
        return f"{self.kind} {self.what} {'to' if self.kind == 'sends' else 'from'} {self.where}"


@runtime_checkable
class Endpoint(Protocol):
    """A service at an address; "" is the address that its kind usually has."""

    @property
    def url(self) -> str: ...


@runtime_checkable
class KeyUser(Protocol):
    """A service that sends a key: the name of the environment variable that holds it, "" for none."""

    @property
    def key(self) -> str: ...


@runtime_checkable
class TokenPrices(Protocol):
    """A service that reads and writes tokens: US dollars per million of each, 0 if the plan gives none."""

    @property
    def usd_per_million_input_tokens(self) -> float: ...

    @property
    def usd_per_million_output_tokens(self) -> float: ...


@runtime_checkable
class SystemPrompt(Protocol):
    """A chat service with a system prompt, "" for none."""

    @property
    def system(self) -> str: ...


@runtime_checkable
class AnswerLimit(Protocol):
    """A service whose answers have at most so many tokens, None for no limit."""

    @property
    def max_tokens(self) -> int | None: ...


@runtime_checkable
class PriorTurns(Protocol):
    """A chat service that gets pairs of (user, bot) turns before each conversation."""

    @property
    def turns(self) -> Sequence[tuple[str, str]]: ...


@runtime_checkable
class Recording(Protocol):
    """A service whose answers were collected before: how, in words ("by hand", "from a log")."""

    @property
    def collected(self) -> str: ...


def middle_languages(part: str) -> tuple[str, ...]:
    """The codes in the name of a way there and back: "es>it" passes Spanish and Italian."""
    return tuple(code.strip() for code in part.split(">"))


@runtime_checkable
class RoundTripParts(Protocol):
    """A service each of whose parts is a way there and back."""

    def middle_languages(self, part: str) -> Sequence[str]:
        """The languages that the way of a part passes, in order."""


@runtime_checkable
class FolderUser(Protocol):
    """A service of files or programs in a folder, an absolute path once its plan is read.

    A text is the provider's own name of a folder (Yandex), and no folder of this machine.
    """

    @property
    def folder(self) -> Path | str | None: ...


CAPABILITIES = (
    *(Endpoint, KeyUser, TokenPrices, SystemPrompt, AnswerLimit, PriorTurns, Recording, RoundTripParts),
    FolderUser,
)
"""All that a service may offer beside the facts and methods of `ServiceSpec`; `check_service` tests each."""


def is_local(spec: ServiceSpec) -> bool:
    """Whether a service runs on this machine, as far as its settings tell: it has no address and no key."""
    address = spec.url if isinstance(spec, Endpoint) else ""
    return not address and not (isinstance(spec, KeyUser) and spec.key)


class _Fact:
    """The default of a fact of a service; seen on instances only.

    So a subclass may state the fact for its class (`task: ClassVar[Task] = "chat"`), work it
    out (a property), or make it a setting of the plan (a field) without hiding an attribute.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __get__(self, instance: object | None, owner: type) -> Any:
        if instance is None:
            raise AttributeError("a fact of a service is read from a description, not from its class")
        return self.value


def _unusable(path: Path) -> str:
    """Why no system could hold a file of this name, "" if it could."""
    try:
        path.lstat()
    except ValueError as error:  # NUL
        return str(error)
    except OSError as error:
        return os.strerror(error.errno) if error.errno in (errno.ENAMETOOLONG, errno.EINVAL) else ""
    return ""


class ServiceSpec(BaseModel):
    """Settings of a service. Subclass it, and give `identity` and `open`.

    Fields that may change an answer belong to the identity; keys, time-outs, batch sizes,
    prices and concurrency do not. A field for a key holds the *name* of an environment
    variable, never the key.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(_Fact,), allow_inf_nan=False)

    use: str

    if TYPE_CHECKING:

        @property
        def task(self) -> Task: ...

        @property
        def batch(self) -> int:
            """The preferred number of messages a call."""

        @property
        def deterministic(self) -> bool:
            """Declared, then verified (methods 0.3)."""

        @property
        def kind(self) -> str:
            """In words: "machine translator"."""

        @property
        def provider(self) -> str: ...

    else:
        task = _Fact("translate")
        batch = _Fact(1)
        deterministic = _Fact(False)
        kind = _Fact("service")
        provider = _Fact("")

    concurrency: Concurrency = 64  # the most calls under way at once; adapts below it
    rate: Positive | None = None  # calls a second, if the service declares a limit
    usd_per_call: Price = 0.0
    usd_per_million_characters: Price = 0.0
    seconds_per_call: Positive | None = None  # for the estimate; measured if not given
    timeout: Seconds = 30.0

    NOT_IDENTITY: ClassVar[frozenset[str]] = frozenset(
        {
            "concurrency",
            "rate",
            "usd_per_call",
            "usd_per_million_characters",
            "seconds_per_call",
            "timeout",
            "key",
        }
    )

    @field_validator("key", check_fields=False)
    @classmethod
    def _name_of_a_variable(cls, key: str) -> str:
        if key and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
            raise ValueError("must be the name of an environment variable; keys do not stand in a plan")
        return key

    @model_validator(mode="after")
    def _paths_that_a_system_can_hold(self) -> Self:
        paths = {name: getattr(self, name) for name in type(self).model_fields}
        for name, path in paths.items():
            if isinstance(path, Path) and (fault := _unusable(path)):
                raise ValueError(f"`{name}` is no name of a file or folder: {fault}")
        return self

    def identity(self) -> Mapping[str, Any]:
        """All that may change an answer, and nothing else."""
        return self.model_dump(mode="json", exclude=set(self.NOT_IDENTITY))

    @property
    def fingerprint(self) -> str:
        return digest("service", self.identity())

    def parts(self) -> Mapping[str, ServiceSpec]:
        """The parts that are rated one by one, by key; most services are one part, keyed ''."""
        return {"": self}

    def stages(self) -> tuple[ServiceSpec, ...]:
        """The services that a message passes in order; a plain service is its own only stage."""
        return (self,)

    def check_requirements(self) -> None:
        """Raise KeyMissingError or MissingPartError if this cannot be used here. Sends and runs nothing."""

    def variables(self) -> tuple[str, ...]:
        """Environment variables that this reads as its key or address, and that a `.env` file may set."""
        return tuple(name for stage in self.stages() if stage is not self for name in stage.variables())

    def access(self) -> tuple[Access, ...]:
        """What the user must confirm first: keys sent to other hosts, code that runs on this machine."""
        return ()

    def version(self) -> str:
        """The version of the service, "" if unknown."""
        return ""

    def script(self) -> pl.DataFrame | None:
        """What a log was asked when it was recorded; None for a service that can be asked anything.

        A log brings its own probes: columns of records.PROBE, and of text `user`, `talk`, `purpose`,
        `step` and `facts`. It is asked them and nothing else, and nobody else is asked them. A log of several
        parts says whose each probe is (`of_part`); one whose order is not that of asking gives `segment`.
        """
        return None

    def uses_history(self) -> bool:
        """Whether an answer may depend on the earlier turns that are sent with a message."""
        return True

    @classmethod
    def named(cls, model: str) -> Self:
        """The description meant by `provider/model` on the command line; "" if no model is named.

        A service without models of its own is meant by its name alone, if it needs no settings.

        Raises:
            ValueError: there is no such model, or a plan has to say more.
        """
        if model:
            raise ValueError(f'"{model}", where nothing can follow the name')
        try:
            return cls.model_validate({})
        except ValidationError as error:
            needed = ", ".join(f"`{one['loc'][0]}`" for one in error.errors() if one["loc"])
            raise ValueError(f"a name alone, where a plan has to give {needed or 'settings'}") from None

    def open(self) -> Service:
        raise NotImplementedError


class TranslatorSpec(ServiceSpec):
    """A machine translator; `source` and `target` are ISO 639-1 or 639-3 codes.

    An adapter turns them into its service's own codes. A composite fills them in.
    """

    kind: ClassVar[str] = "machine translator"

    source: str = "en"
    target: str = ""

    def pair(self, source: str, target: str) -> Self:
        """This translator for another direction."""
        return self.model_copy(update={"source": source, "target": target})

    def languages(self) -> Sequence[tuple[str, str]] | None:
        """Directions it can do, None if it cannot tell without a call."""
        return None
