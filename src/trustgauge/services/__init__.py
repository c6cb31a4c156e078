"""Everything that can be asked: the protocol of a service, and a module for each kind.

Also what all kinds share: the form of a reply, secrets kept out of it, and what a user confirms before a
service is asked. A plan may come from a stranger who names environment variables, addresses, programs and
modules: keys that leave the machine and code that runs on it are confirmed, and no key goes elsewhere.
"""

from __future__ import annotations

import errno
import ipaddress
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, Self, runtime_checkable
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from trustgauge.errors import GarbledError, PlanError
from trustgauge.records import Message, Reply, Task, digest

if TYPE_CHECKING:
    import polars as pl


_HALF = re.compile("[\ud800-\udfff]")
_THOUGHTS = "(think(?:ing)?|thought|reasoning|seed:think)>"
_THINKING, _THOUGHT = (re.compile(f"{tag}{_THOUGHTS}", re.IGNORECASE) for tag in (r"\s*<", "</"))
_PUBLIC = re.compile(r"(?:[A-Za-z]{1,5}\d{0,2}[-_])+")  # "sk-", "sk-proj-", "sk-or-v1-", "hf_"
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
SHORTEST_SECRET = 6  # characters; a shorter value would blot out ordinary words
LONG_SECRET = 12  # characters from which on a value is no word that an answer could use by chance
ASCII_PER_TOKEN = 4
FRAME = 4  # tokens around each message: who speaks, where it ends
MOST_TOKENS = 1_000_000_000  # of one reply; a larger count is not true, and would overflow a store
SHOWN = 80  # characters of a bad value that an error shows


def output_of(value: Any, task: Task) -> str | float:
    """The output that `value` stands for: a finite number for `score`, else a text.

    A number may be written as text; a text is never made of a number, a list or nothing. What a chatbot
    thought before is left out (`without_thinking`).

    Raises:
        GarbledError: `value` is no output of this task.
    """
    if task != "score":
        if isinstance(value, str):
            return storable(without_thinking(value) if task == "chat" else value)
        raise GarbledError("the answer is not text", must="a text", got=_quoted(value))
    number = math.nan
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
    if not math.isfinite(number):
        must = f"a finite number{_spelling(value)}"
        raise GarbledError("the answer is not a score", must=must, got=_quoted(value))
    return number


_SPELLINGS = {
    r"[+-]?\d+,\d+": " with a decimal point, as 0.5 for 0,5",
    r"[+\-−]?\d+(?:[.,]\d+)?\s*%": " without a percent sign (its range is `score_range` of the experiment)",
    r"[−–]\s*\d+(?:[.,]\d+)?": " with the sign - (U+002D)",
}


def _spelling(value: Any) -> str:
    """How a number that people write otherwise has to be written; "" for anything else."""
    text = value.strip() if isinstance(value, str) else ""
    return next((how for form, how in _SPELLINGS.items() if re.fullmatch(form, text)), "")


def storable(text: str) -> str:
    """The text with U+FFFD for halves of characters (lone surrogates), which UTF-8 cannot hold."""
    return text if text.isascii() else _HALF.sub("\N{REPLACEMENT CHARACTER}", text)


def without_thinking(text: str) -> str:
    """What a model says without what it thought before, where a server leaves both in one text.

    Some templates of chats open the thinking themselves, so that an answer has only its end.

    >>> without_thinking("<think>Women? Hm, yes.</think> No."), without_thinking("<think>Hm, ye")
    ('No.', '')
    """
    opened, ends = _THINKING.match(text), list(_THOUGHT.finditer(text))
    if not ends:
        return "" if opened else text
    # What is thought may name another tag.
    end = next((one for one in ends if opened and one[1].lower() == opened[1].lower()), ends[0])
    inside = f"<{end[1]}".lower() in text[: end.start()].lower()
    return text[end.end() :].lstrip() if opened or not inside else text


def tokens_of(text: str) -> int:
    """About how many tokens a text has.

    >>> tokens_of("are women poor?"), tokens_of("女人很穷吗？"), tokens_of("")
    (4, 6, 0)
    """
    plain = len(text) if text.isascii() else sum(character < "\x80" for character in text)
    return -(-plain // ASCII_PER_TOKEN) + len(text) - plain


def number(value: Any, otherwise: int) -> int:
    """A count of tokens, or what stands for it where there is none, or none that can be true."""
    valid = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if valid else otherwise


def check_reply(reply: Reply, name: str) -> None:
    """Refuse a reply that can be neither added up nor kept, whatever adapter made it.

    Raises:
        GarbledError: its score, tokens or cost is no number that a run can count with.
    """
    if not isinstance(reply.output, str) and not math.isfinite(reply.output):
        raise GarbledError(f"{name} gave a score that is not a number", got=repr(reply.output))
    if number(reply.tokens, -1) < 0 or not 0 <= reply.usd < math.inf:
        must = f"from 0 to {MOST_TOKENS:,} tokens, and dollars from 0 up"
        raise GarbledError(f"{name} reported a cost that cannot be counted", must=must)


def environment_secrets(shortest: int = LONG_SECRET) -> tuple[str, ...]:
    """The values of the environment's keys, tokens, secrets and passwords, the longest first.

    Args:
        shortest: characters from which on a value counts. What is blotted out of evidence has
            `LONG_SECRET` or more, so that no ordinary word of an answer is lost.
    """
    values = {value for name, value in os.environ.items() if len(value) >= shortest and _SECRET.search(name)}
    return tuple(sorted(values, key=len, reverse=True))  # one may hold another


def redact(text: str, secrets: Sequence[str] | None = None) -> str:
    """The text without secrets: those given, else all that the environment holds."""
    for value in environment_secrets(SHORTEST_SECRET) if secrets is None else secrets:
        text = mask(text, value, "****")
    return text


def mask(text: str, secret: str, mark: str) -> str:
    """The text with a mark in place of a secret, in large or small letters, cut short or whole.

    Services like to quote the first characters of a key. From as many of them as no word has by chance,
    all that follow as in the secret are taken, too.
    """
    beginning = _beginning(secret)
    if beginning.lower() not in text.lower():
        return text
    folded, parts, end = secret.lower(), [], 0
    for found in re.finditer(re.escape(beginning), text, re.IGNORECASE):
        if found.start() < end:
            continue
        parts += [text[end : found.start()], mark]
        end = found.end()
        for sign in folded[len(beginning) :]:
            if text[end : end + 1].lower() != sign:
                break
            end += 1
    return "".join((*parts, text[end:]))


@lru_cache(maxsize=256)
def _beginning(secret: str) -> str:
    """The first characters by which a secret is known; all of them where they could be ordinary words.

    What says whose key it is ("sk-ant-api03-") does not give it away; six characters more do. Without
    such a head it takes eight, with a digit or a sign among them or letters of both sizes.
    """
    if len(secret) < LONG_SECRET or any(map(str.isspace, secret)):
        return secret
    if public := _PUBLIC.match(secret):
        return secret[: max(public.end() + 6, 8)]
    begun = (secret[:length] for length in range(8, len(secret)))
    return next((one for one in begun if not one.isalpha() or one not in (one.lower(), one.upper())), secret)


def _quoted(value: Any) -> str:
    if value is None:
        return "nothing"
    text = repr(value[: SHOWN + 1]) if isinstance(value, str) else type(value).__name__
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


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


class InProcessService:
    """A live service that answers here, each message by itself, and has nothing to close.

    Subclass it, and give `reply`; or `ask`, where messages are answered together.
    """

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        return [self.reply(message) for message in messages]

    async def close(self) -> None:
        """Nothing is open."""

    def reply(self, message: Message) -> Reply:
        """The answer to one message."""
        raise NotImplementedError


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
class TokenPrices(Protocol):
    """A service that reads and writes tokens: US dollars per million of each, 0 if the plan gives none."""

    @property
    def usd_per_million_input_tokens(self) -> float: ...

    @property
    def usd_per_million_output_tokens(self) -> float: ...


@runtime_checkable
class AnswerLimit(Protocol):
    """A service whose answers have at most so many tokens, None for no limit."""

    @property
    def max_tokens(self) -> int | None: ...


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


def is_local(spec: ServiceSpec) -> bool:
    """Whether a service runs on this machine, as far as its settings tell: it has no address and no key."""
    return not spec.url and not spec.key


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


def place_of(facts: Mapping[str, Any]) -> str:
    """The digest of a place by what says where it is; what is empty says nothing."""
    return digest("place", {name: value for name, value in facts.items() if value not in ("", None, [], {})})


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

    Attributes:
        concurrency: the most calls under way at once; it adapts below that.
        rate: calls a second, if the service declares a limit.
        usd_per_call: price of a call in US dollars.
        usd_per_million_characters: price of a million characters sent, in US dollars.
        seconds_per_call: for the estimate of time; measured if not given.
        timeout: seconds until a call counts as lost.
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

        @property
        def url(self) -> str:
            """Its address; "" for none, or for the one that its kind usually has."""

        @property
        def key(self) -> str:
            """The name of the environment variable with the key that it sends, "" for none."""

        @property
        def source(self) -> str:
            """ISO 639 code of the language of the texts that it is sent, "" if not given."""

        @property
        def system(self) -> str:
            """The system prompt of a chat service, "" for none."""

        @property
        def prompt(self) -> str:
            """What each text is put into, in place of {text}; "" for nothing."""

        @property
        def turns(self) -> Sequence[tuple[str, str]]:
            """Pairs of (user, bot) turns that a chat service gets before each conversation."""

        @property
        def folder(self) -> Path | str | None:
            """Where its files or programs are, an absolute path once its plan is read.

            A text is the provider's own name of a folder (Yandex), and no folder of this machine.
            """

    else:
        task = _Fact("translate")
        batch = _Fact(1)
        deterministic = _Fact(False)
        kind = _Fact("service")
        provider = _Fact("")
        url = key = source = system = prompt = _Fact("")
        turns = _Fact(())
        folder = _Fact(None)

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
    PLACE: ClassVar[frozenset[str]] = frozenset(
        {"use", "task", "url", "request", "model", "source", "target", "command", "function"}
        | {"bot", "brain", "group", "package", "variant", "vocabulary"}
    )
    """Settings that say which service is asked; all others say how, or which version of it."""

    recorded_turns: ClassVar[bool] = False
    """Whether the turns of its sessions were given before, so that one that is missing leaves the others."""

    CODE_PLACE: ClassVar[frozenset[str]] = frozenset()
    """Settings that say where its code stands. The fingerprint leaves them out, as a folder may move; but
    two services of a plan that differ in them alone would share their answers."""

    @field_validator("key", check_fields=False)
    @classmethod
    def _name_of_a_variable(cls, key: str) -> str:
        if key and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
            raise ValueError("must be the name of an environment variable; keys do not stand in a plan")
        return key

    @model_validator(mode="after")
    def _paths_that_a_system_can_hold(self) -> Self:
        for name, path in self:
            if isinstance(path, Path) and (fault := _unusable(path)):
                raise ValueError(f"`{name}` is no name of a file or folder: {fault}")
        return self

    def identity(self) -> Mapping[str, Any]:
        """All that may change an answer, and nothing else."""
        return self.model_dump(mode="json", exclude=set(self.NOT_IDENTITY))

    @property
    def fingerprint(self) -> str:
        return digest("service", self.identity())

    def place_digest(self) -> str:
        """A digest of what is asked: its address, model, route, whatever its version and other settings.

        Ratings of one place are the history of one service; those of several are of several services.
        """
        return place_of(self.model_dump(mode="json", include=set(self.PLACE)))

    def parts(self) -> Mapping[str, ServiceSpec]:
        """The parts that are rated one by one, by key; most services are one part, keyed ''."""
        return {"": self}

    def stages(self) -> tuple[ServiceSpec, ...]:
        """The services that a message passes in order; a plain service is its own only stage."""
        return (self,)

    def innermost(self) -> ServiceSpec:
        """The service that is asked in the end: this one, unless it wraps another."""
        return self

    def check_requirements(self) -> None:
        """Raise KeyMissingError or MissingPartError if this cannot be used here. Sends and runs nothing."""

    def variables(self) -> tuple[str, ...]:
        """Environment variables that this reads as its key or address, and that a `.env` file may set."""
        return tuple(name for stage in self.stages() if stage is not self for name in stage.variables())

    def access(self) -> tuple[Access, ...]:
        """What the user must confirm first: keys sent to other hosts, code that runs on this machine."""
        return ()

    def offered_by(self) -> str:
        """Whose service it is as far as anybody can say: "OpenAI"; "" if unknown."""
        return self.provider

    def version(self) -> str:
        """The version of the service, "" if unknown."""
        return ""

    def talked_with(self) -> str:
        """Fingerprint of the service that gave recorded answers in live chat; "" if they are no such talk."""
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

    def takes_turns_alone(self) -> bool:
        """Whether each turn of a conversation reaches it as if it began a new one."""
        return False

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

    Attributes:
        source: language of the texts that are sent; ISO 639 code.
        target: language that it translates into; ISO 639 code.
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


_PLACE = re.compile(r"(?:(https?)://)?((?:[\w.-]+|\[[0-9a-fA-F:]+\])(?::\d+)?)")


_KEY_NAME = re.compile(r"(?i)(key|token|secret|password|credentials?)$")
"""Names that a key may have in a `.env` file: a plan must not reach PATH or LD_PRELOAD through it."""


class ApiKeySpec(ServiceSpec):
    """A service that may need a key.

    The key goes to the provider's own hosts and to this machine. To any other host it goes only if the
    plan lists that host in `send_key_to`, or the user's own environment gives the address, and the command
    line asks the user to confirm it (`access`).

    Attributes:
        key: *name* of the environment variable that holds the key.
        send_key_to: further hosts the key may go to: `models.example.org`, `host:8443`, and
            `http://host` where the connection is not encrypted.
    """

    own_hosts: ClassVar[tuple[str, ...]] = ()
    """Hosts of the provider; one that begins with a dot stands for all hosts below it."""
    usual_url: ClassVar[str] = ""
    """Address that is asked where neither plan nor environment gives one."""
    key_needed: ClassVar[bool] = True
    """Whether a key that is named must be set."""

    key: str = ""
    send_key_to: tuple[str, ...] = Field((), description="Further hosts that the key may go to")

    NOT_IDENTITY: ClassVar[frozenset[str]] = ServiceSpec.NOT_IDENTITY | {"send_key_to"}

    @field_validator("send_key_to")
    @classmethod
    def _places(cls, places: tuple[str, ...]) -> tuple[str, ...]:
        for place in places:
            if not _PLACE.fullmatch(place):
                raise ValueError('must hold hosts, such as "models.example.org" or "http://host:8080"')
        return places

    def key_address(self) -> str:
        """The address that the key would be sent to."""
        raise NotImplementedError

    def name_in_errors(self) -> str:
        """The provider, or the host (and port) that is asked in its place, such as a server of one's own."""
        address = self.key_address()
        parts = urlsplit(address)
        own = address == self.usual_url or any(_is_of(parts.hostname or "", host) for host in self.own_hosts)
        return self.provider if own else parts.netloc

    def offered_by(self) -> str:
        """The provider; the host, where somebody else's server is asked by a provider's protocol.

        What anybody runs, such as LibreTranslate, has no hosts of its own and keeps its name.
        """
        return self.name_in_errors() if self.own_hosts else self.provider

    def address_from_environment(self) -> bool:
        """Whether the user's environment, and not the plan, gives the address."""
        return False

    def key_agreed(self) -> bool:
        """Whether the plan itself says that the key goes to this address, apart from `send_key_to`."""
        return False

    def key_to_send(self) -> str:
        """The key as it is sent to the address in use; "" if it is not set, or is not sent there.

        Raises:
            PlanError: the plan names a key for a host that it does not list in `send_key_to`.
        """
        value = os.environ.get(self.key, "").strip() if self.key else ""
        return value if value and self._destination() != "withheld" else ""

    def variables(self) -> tuple[str, ...]:
        return (self.key,) if _KEY_NAME.search(self.key) else ()

    def access(self) -> tuple[Access, ...]:
        if not self.key or not os.environ.get(self.key, "").strip() or self._destination() != "confirmed":
            return ()
        return (Access("sends", self.key, _shown(self.key_address())),)

    def _destination(self) -> Literal["own", "confirmed", "withheld"]:
        address = self.key_address()
        parts = urlsplit(address)
        host = (parts.hostname or "").lower()
        encrypted = parts.scheme == "https"
        if is_loopback(host) or (encrypted and any(_is_of(host, own) for own in self.own_hosts)):
            return "own"
        if any(_fits(address, place) for place in self.send_key_to):
            return "confirmed"
        if encrypted and (self.address_from_environment() or self.key_agreed()):
            return "confirmed"
        if self.key == type(self).model_fields["key"].default and not self.address_from_environment():
            return "withheld"
        raise self.host_error()

    def host_error(self) -> PlanError:
        """The error of a key that would go to a host that the plan does not list."""
        address = self.key_address()
        return PlanError.of(
            "send_key_to",
            f"{self.key} would go to {_shown(address)}",
            must=f'listed, if that is meant: send_key_to = ["{_entry(address)}"]',
            got=", ".join(self.send_key_to) or "no hosts",
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("10.0.0.1")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost" or host.lower().endswith(".localhost")


def advice(service: ApiKeySpec) -> str:
    """What to do where a service refused because its key, which is set, was withheld; else ""."""
    if not service.key or service.key_to_send() or not os.environ.get(service.key, "").strip():
        return ""
    entry = _entry(service.key_address())
    return f'{service.key} was not sent there; to send it, put send_key_to = ["{entry}"] into the plan'


def _is_of(host: str, own: str) -> bool:
    return host == own or (own.startswith(".") and host.endswith(own))


def _entry(address: str) -> str:
    """What `send_key_to` has to hold for an address."""
    parts = urlsplit(address)
    return parts.netloc if parts.scheme == "https" else f"{parts.scheme}://{parts.netloc}"


def _shown(address: str) -> str:
    parts = urlsplit(address)
    return parts.netloc if parts.scheme == "https" else f"{parts.netloc} without encryption"


def _fits(address: str, place: str) -> bool:
    """Whether an entry of `send_key_to` stands for an address: scheme, host and port agree."""
    return _entry(address).lower() == place.lower().removeprefix("https://")
