"""What all chat services over the network share, whatever their protocol.

A protocol says how a message becomes a request, and what an answer, or a stream of events, says.
All else is here: addresses and keys, errors, refusals, answers that were cut short, tokens, cost.
"""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator

from trustgauge.errors import (
    KeyMissingError,
    PlanError,
    RefusedError,
    RejectedError,
    ServiceError,
    UnavailableError,
)
from trustgauge.records import Message, Reply, Task, json_or_none
from trustgauge.services import (
    FRAME,
    ApiKeySpec,
    Price,
    Seconds,
    Seed,
    advice,
    number,
    place_of,
    tokens_of,
    without_thinking,
)
from trustgauge.services.server_events import events
from trustgauge.services.session_replay import RunNames
from trustgauge.services.transport import (
    ConnectionSettings,
    HttpResponse,
    Transport,
    address,
    key_from,
    web_address,
)

OURS = frozenset({"model", "messages", "stream", "stream_options", "system", "prompt"})
"""Fields of a request that `extra` may not set."""

AT_THE_LIMIT = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
"""How protocols say that an answer ended at the most tokens."""

DECLINED = frozenset(
    {"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "spii", "recitation"}
)
"""How protocols say that an answer was kept back, in small letters; Gemini's own words among them."""

FILTERED = frozenset({"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"})
"""Codes of errors by which a service declines to talk about a message."""

STATUS_OF: Mapping[str, int] = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 402,
    "overloaded_error": 529,
    "invalid_request_error": 400,
    **dict.fromkeys(FILTERED, 400),
}
"""The status that an error inside an otherwise successful answer would have had."""


OTHER_FORM = 'For answers of another form write use = "http", and in `response` where the text stands'


@dataclass(slots=True)
class ChatAnswer:
    """What an answer says, whatever its protocol. `end` is why it ended, "" if it does not tell."""

    text: str = ""
    end: str = ""
    refused: bool = False
    read: int = 0  # tokens
    written: int = 0
    whole: bool = True  # False for a stream that breaks off

    def count(self, usage: Any, read: str = "prompt_tokens", written: str = "completion_tokens") -> None:
        """Note the tokens reported; an answer is worth more than its count, so a strange one is passed over.

        Some services leave what a model thought out of the tokens of the answer, though it is paid for like
        these; it is in the total then.

        Args:
            usage: the object that tells.
            read: its name of the tokens of the request.
            written: its name of the tokens of the answer.
        """
        if isinstance(usage, dict):
            self.read = number(usage.get(read), self.read)
            self.written = number(usage.get(written), self.written)
            self.written = max(self.written, number(usage.get("total_tokens"), 0) - self.read)


class ChatSpec(ApiKeySpec):
    """What chat services over the network share; an adapter adds its protocol.

    Attributes:
        model: as the service calls it.
        url: address of the service up to its version, if not the usual one.
        system: the system prompt, left out if empty.
        temperature, max_tokens, seed: sent if given. The number sent as seed is `seed` + draw, so
            that repeats of a question are answers of their own and can still be had again.
        extra: further fields of the request, as the service names them.
        stream: ask for the answer as a stream of events; it holds the same words.
        deterministic: declared by you, then verified (methods 0.3); only ever true at temperature 0.
        usd_per_million_input_tokens: price of a million tokens sent, in US dollars.
        usd_per_million_output_tokens: price of a million tokens of answers, in US dollars.
    """

    task: ClassVar[Task] = "chat"
    kind: ClassVar[str] = "language model"
    url_variable: ClassVar[str] = ""
    path: ClassVar[str] = ""
    key_needed: ClassVar[bool] = True
    NOT_IDENTITY: ClassVar[frozenset[str]] = ApiKeySpec.NOT_IDENTITY | {
        "stream",
        "deterministic",
        "usd_per_million_input_tokens",
        "usd_per_million_output_tokens",
    }

    model: str = Field(min_length=1)
    url: str = ""
    system: str = ""
    temperature: float | None = Field(None, ge=0, allow_inf_nan=False)
    max_tokens: int | None = Field(None, ge=1)
    seed: Seed | None = None
    extra: dict[str, Any] = Field(default_factory=dict)
    stream: bool = False
    deterministic: bool = False
    usd_per_million_input_tokens: Price = 0.0
    usd_per_million_output_tokens: Price = 0.0
    timeout: Seconds = 120.0

    @field_validator("url")
    @classmethod
    def _address(cls, url: str) -> str:
        if "?" in url or "#" in url:
            raise ValueError("must end before any query: the path of the protocol is added to it")
        return web_address(url) if url else url

    @field_validator("extra")
    @classmethod
    def _not_ours(cls, extra: dict[str, Any]) -> dict[str, Any]:
        wrong = sorted(OURS & extra.keys())
        if wrong:
            raise ValueError(f"may not set {', '.join(wrong)}: settings of the service or the run do")
        return extra

    @classmethod
    def named(cls, model: str) -> Self:
        """`openai/gpt-4o-mini`: all behind the first slash is the model's name."""
        if not model:
            raise ValueError("a model's name must follow the slash")
        return cls.model_validate({"use": cls.model_fields["use"].default, "model": model})

    def base(self) -> str:
        """The address in use: of the plan, else of the environment, else the usual one."""
        if self.address_from_environment():
            return self._from_environment(os.environ[self.url_variable].strip())
        return self.url or self.usual_url

    def address_from_environment(self) -> bool:
        return bool(not self.url and self.url_variable and os.environ.get(self.url_variable, "").strip())

    def variables(self) -> tuple[str, ...]:
        return (*super().variables(), *((self.url_variable,) if self.url_variable else ()))

    def key_address(self) -> str:
        return self.base()

    def _from_environment(self, value: str) -> str:
        """The address that the value of `url_variable` means."""
        return value.rstrip("/")

    def identity(self) -> Mapping[str, Any]:
        """The settings with the address in use, which another environment may change."""
        return {**super().identity(), "url": address(self.base())}

    def place_digest(self) -> str:
        """The address in use and the model."""
        return place_of({"use": self.use, "url": address(self.base()), "model": self.model})

    def version(self) -> str:
        return self.model

    def check_requirements(self) -> None:
        """Raise KeyMissingError for an empty variable, PlanError for one that holds no address.

        A server of your own may do without a key: one is needed at the service's usual address only.
        """
        base = self.base()
        if not base:
            do = f"Set {self.url_variable} or `url` to the address of your resource"
            raise KeyMissingError(f"{self.provider} needs an address", got="none", do=do)
        try:
            web_address(base)
        except ValueError as error:
            must = str(error).removeprefix("must be ")
            raise PlanError.of(self.url_variable, "no usable address", must=must) from None
        if self.key_needed and (base == self.usual_url or not self.usual_url):
            key_from(self.key, self.provider)

    def open(self) -> LiveChat:
        """A live service with one pooled client of its own.

        Raises:
            KeyMissingError, PlanError: see `check_requirements`.
        """
        self.check_requirements()
        key = key_from(self.key, self.provider) if self.key_to_send() else ""
        headers = dict(self.headers(key))
        if self.stream:  # llama.cpp's server ends a connection after a stream although it promises to keep it
            headers["connection"] = "close"
        facts = ConnectionSettings(self.name_in_errors(), self.timeout, secrets=(key,), headers=headers)
        return LiveChat(self, Transport(facts))

    def headers(self, key: str) -> Mapping[str, str]:
        """Sent with every request."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    @abstractmethod
    def request(self, message: Message) -> dict[str, Any]:
        """The body of the request for one message, `stream` and `extra` left out."""

    @abstractmethod
    def read(self, whole: Mapping[str, Any]) -> ChatAnswer | None:
        """What a complete answer says, None if it has not the form of the protocol."""

    @abstractmethod
    def gather(self, stream: Iterable[dict[str, Any] | None]) -> ChatAnswer | None:
        """What a stream of events says, None if one has not the form of the protocol."""


class LiveChat:
    """A chat service with its client; each message is a request of its own."""

    def __init__(self, description: ChatSpec, http: Transport) -> None:
        self._about, self._http = description, http
        self._url = description.base() + description.path
        self._names = RunNames()

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        """One reply a message, in order.

        Raises:
            ServiceError: of the first request that failed.
        """
        return [await self._ask(message) for message in messages]

    async def close(self) -> None:
        await self._http.close()

    async def _ask(self, message: Message) -> Reply:
        about, http = self._about, self._http
        asked = {**about.request(self._names.with_person(message)), **about.extra}
        if about.stream:
            asked["stream"] = True
        answer = await http.send("POST", self._url, http.encode(asked), "application/json")
        if not 200 <= answer.status < 300:
            return self._failed(answer)
        if "text/event-stream" in answer.content_type or _is_stream(answer.body):
            return self._streamed(message, answer)
        whole = http.json(answer)
        if isinstance(whole, dict) and whole.get("error"):
            return self._failed(_as_answer(whole["error"]))
        return self._reply(message, about.read(whole) if isinstance(whole, dict) else None, answer, whole)

    def _streamed(self, message: Message, answer: HttpResponse) -> Reply:
        try:
            stream = list(events(self._http.text(answer)))
        except ValueError as error:
            fault = str(error) if type(error) is ValueError else "an event is not JSON"
            raise self._http.garbled_answer(f"is a stream that cannot be read: {fault}") from None
        for event in stream:
            if event is not None and event.get("error"):
                return self._failed(_as_answer(event["error"]))
        first = next((one for one in stream if one), {})
        return self._reply(message, self._about.gather(stream), answer, first.get("message", first))

    def _reply(self, message: Message, said: ChatAnswer | None, answer: HttpResponse, whole: Any) -> Reply:
        """The reply for what was said; one that ended at the most tokens is marked `cut`."""
        http, about = self._http, self._about
        if said is None:
            got = http.excerpt(answer)
            must = f"as the protocol of {about.path} says"
            raise http.garbled_answer("has no message", must=must, got=got, do=OTHER_FORM)
        if not said.whole:
            raise UnavailableError(f"{http.facts.name} broke off in the middle of an answer")
        if estimated := not (said.read or said.written):  # they cost what they cost, counted or not
            said.read, said.written = self._tokens_sent(message), tokens_of(said.text)
        usd = said.read * about.usd_per_million_input_tokens
        usd += said.written * about.usd_per_million_output_tokens
        return Reply(
            http.clean(without_thinking(said.text)),
            refused=said.refused or is_declined(said.end),
            tokens=said.read + said.written,
            usd=usd / 1e6,
            cut=said.end.lower() in AT_THE_LIMIT,
            answered_as=http.answered_as(answer, whole),
            estimated=estimated,
        )

    def _tokens_sent(self, message: Message) -> int:
        """About how many tokens a message had with all that was sent before it, by their characters."""
        texts = [self._about.system, *(text for turn in message.turns for text in turn), message.text]
        return sum(tokens_of(text) + FRAME for text in texts if text)

    def _failed(self, answer: HttpResponse) -> Reply:
        """The reply of a service that declines in the form of an error; else raises the error."""
        error = _error_of(answer)
        words = {str(error.get("code")), str(error.get("type"))}
        inner, more = error.get("innererror"), error.get("metadata")
        if isinstance(inner, dict):
            words.add(str(inner.get("code")))
        flagged = isinstance(more, dict) and "flagged_input" in more
        if answer.status < 500 and (words & FILTERED or flagged):
            said = error.get("message")
            return Reply(self._http.clean(said) if isinstance(said, str) else "", refused=True)
        raise self._fault(answer, words)

    def _fault(self, answer: HttpResponse, words: set[str]) -> ServiceError:
        fault = self._http.fault(answer)
        if answer.status == 429 and "insufficient_quota" in words:
            return RefusedError(fault.what, do="Raise the quota; waiting does not help")
        if answer.status == 400 and b"API key" in answer.body:
            return RefusedError(fault.what, do=f"Check the key in {self._about.key or 'the service'}")
        most = self._about.max_tokens
        if answer.status == 400 and b"max_completion_tokens" in answer.body and most:
            do = f"Take `max_tokens` out and set `extra = {{ max_completion_tokens = {most} }}`"
            return RejectedError(fault.what, do=do)
        if isinstance(fault, RefusedError) and (do := advice(self._about)):
            return RefusedError(fault.what, do=do)
        return fault


def is_declined(end: str) -> bool:
    """Whether an answer ended because the service declines: "content_filter: SAFETY" as "content_filter"."""
    return end.partition(":")[0].strip().lower() in DECLINED


def gather_events(
    stream: Iterable[dict[str, Any] | None], add: Callable[[ChatAnswer, Mapping[str, Any]], bool]
) -> ChatAnswer | None:
    """What a stream of events says that ends with None or with why the answer ended.

    Args:
        stream: the events.
        add: adds an event to what was said; False if its form is unknown, and so that of the answer.
    """
    said = ChatAnswer(whole=False)
    for event in stream:
        if event is None:
            said.whole = True
            continue
        said.count(event.get("usage"))
        if not add(said, event):
            return None
    said.whole = said.whole or bool(said.end)
    return said


def words_of(content: Any) -> str | None:
    """The words of a content: a text, a list of parts of which those of type "text" count, or nothing."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    known = [text for text in texts if isinstance(text, str)]
    return "".join(known) if len(known) == len(texts) else None


def _error_of(answer: HttpResponse) -> dict[str, Any]:
    """The object that describes an error; empty if the body holds none."""
    body = json_or_none(answer.body)
    body = body[0] if isinstance(body, list) and body else body
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}


def _is_stream(body: bytes) -> bool:
    """Whether a body is a stream of events, as whatever it was declared."""
    return body[:1_000].lstrip().startswith((b"data:", b"event:"))


def _as_answer(error: Any) -> HttpResponse:
    """An error inside a successful answer, as the answer it should have been."""
    status = 502
    if isinstance(error, dict):
        for name in ("code", "type"):
            value = error.get(name)
            known = value if isinstance(value, int) else STATUS_OF.get(str(value), 0)
            if 400 <= known < 600:
                status = known
                break
    return HttpResponse(status, json.dumps({"error": error}).encode("ascii"), "application/json")
