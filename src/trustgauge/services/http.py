"""Any HTTP service, described in a plan: what to send, and where in the response its answer is.

    [services.mine]
    use = "http"
    url = "https://api.example/v1/translate"
    key = "MY_KEY"                                    # name of an environment variable
    headers = { Authorization = "Bearer {key}" }
    request = { text = "{text}", from = "{source}", to = "{target}" }
    response = "data.0.text"

Placeholders: `{text}`, `{source}`, `{target}` (language codes), `{draw}`, `{session}`, `{user}`,
`{turns}` and `{key}`. What they stand for is written so that it cannot break out of its
place: escaped inside JSON, encoded in forms and addresses. A JSON value that is exactly `"{draw}"`
becomes a number, one that is exactly `"{turns}"` a list. Other braces are left as they are.

Chatbots: `{turns}` is what was said before in this conversation, a list of [user, bot] pairs as JSON.
A bot that remembers by itself gets the conversation as `{session}` (or `{talk}`) and who asks as `{user}`:
no two conversations share the one, and no two people the other, in one run or in two, also where people
meet in one scene.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import Field, field_validator, model_validator

from trustgauge.errors import GarbledError, PlanError, sentence
from trustgauge.plan_faults import KNOWN_KEYS
from trustgauge.records import Message, Reply, Task
from trustgauge.services import (
    SHOWN,
    ApiKeySpec,
    TranslatorSpec,
    languages,
    number,
    output_of,
    without_thinking,
)
from trustgauge.services.session_replay import RunNames
from trustgauge.services.transport import (
    FORM,
    ConnectionSettings,
    HttpResponse,
    Transport,
    form,
    key_from,
    web_address,
)

Send = Literal["json", "form", "query", "text"]
Values = Mapping[str, str]

_NAMES = ("text", "source", "target", "draw", "session", "user", "talk", "turns", "key")
_LIST = "turns as a list"
_PLACE = re.compile("{(" + "|".join((*_NAMES, _LIST)) + ")}")
_NUMBER = re.compile(r'"\{draw\}"(?!\s*:)')  # a value, not a name
_TURNS = re.compile(r'"\{turns\}"(?!\s*:)')
_SECRET_HEADER = re.compile(r"authorization|key|token|secret|password|cookie", re.IGNORECASE)
_SECRET_NAME = re.compile(
    r"(?:[\w-]*(?:api|access|auth|secret|private|subscription|client)[-_]?)?(?:key|token|secret|password)|sig(?:nature)?",
    re.IGNORECASE,
)
_SHORTEST = 6  # characters of what a field of such a name holds, if it is a secret
LINEAR = "without look-around (?=…) and back-references \\1, so that its time is bounded"
LABELS = "If it is a label, say what it counts: labels = { POSITIVE = 1, NEGATIVE = -1 }"
_LOOKED_AT = 10_000  # characters of an output that `refused_if` is tried on


class Http(ApiKeySpec, TranslatorSpec):
    """A service behind HTTP. With task `translate` it is a translator of one direction.

    Attributes:
        url: where to send; may hold placeholders.
        method: of HTTP.
        headers: sent with each request; a secret stands as `{key}` only.
        request: the template of what is sent: a table, a list, or a text (of JSON, if sent as
            JSON). An empty one sends no body.
        send: as a body of JSON (default), an HTML form or plain text, or as the query of the address.
        response: where the output stands: names and numbers with dots between (`data.0.text`), a
            JSON pointer (`/data/0/text`), or empty if the whole body is the output.
        tokens: where the number of tokens stands, if the service tells.
        codes: what the service calls a language, where it differs from the plan's code.
        busy_codes: status codes that ask to wait.
        refused_codes: status codes by which the service declines to answer: an answer, no failure.
        refused_if: a regular expression, without look-around and back-references; an output in whose
            first 10,000 characters it is found declines to answer.
        labels: score of each label, for a scorer that answers with labels: `{ POSITIVE = 1, NEGATIVE = -1 }`.
        task: what it does with a text.
        deterministic: equal texts get equal answers; verified on a few.
    """

    kind: ClassVar[str] = "HTTP service"

    use: str = "http"
    url: str
    task: Task = "translate"
    deterministic: bool = False
    method: Literal["GET", "POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, str] = Field(default_factory=dict)
    request: dict[str, Any] | list[Any] | str = Field(default_factory=lambda: {"text": "{text}"})
    send: Send = "json"
    response: str = "output"
    tokens: str = ""
    codes: dict[str, str] = Field(default_factory=dict)
    busy_codes: tuple[int, ...] = (429, 529)
    refused_codes: tuple[int, ...] = ()
    refused_if: str = ""
    labels: dict[str, float] = Field(default_factory=dict)

    @field_validator("url")
    @classmethod
    def _address(cls, url: str) -> str:
        web_address(url)
        return url

    @field_validator("source", "target")
    @classmethod
    def _language(cls, code: str) -> str:
        return languages.check(code) if code else code

    @field_validator("headers")
    @classmethod
    def _no_secret(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if _SECRET_HEADER.search(name) and "{key}" not in value:
                raise ValueError(
                    f'header "{name}" must hold its secret as "{{key}}", and `key` the name of the '
                    "environment variable: keys do not stand in a plan"
                )
        return headers

    @model_validator(mode="after")
    def _no_written_secret(self) -> Http:
        query = parse_qsl(urlsplit(self.url).query)
        for name, value in (*_fields(self.request), *query):
            by_name = _SECRET_NAME.fullmatch(name) and len(value) >= _SHORTEST and not _PLACE.search(value)
            if by_name or KNOWN_KEYS.search(value):
                where = f'"{name}"' if name else "what is sent"
                raise ValueError(
                    f'{where} must hold its secret as "{{key}}", and `key` the name of the environment '
                    "variable: keys do not stand in a plan"
                )
        return self

    @field_validator("refused_if")
    @classmethod
    def _expression(cls, pattern: str) -> str:
        try:
            _found(pattern, "")
        except ValueError as error:
            raise ValueError(f"must be a regular expression {LINEAR}: {error}") from None
        return pattern

    @model_validator(mode="after")
    def _labels_are_scores(self) -> Http:
        if self.labels and self.task != "score":
            raise ValueError(f'labels must stand with task = "score"; got task = "{self.task}"')
        return self

    @model_validator(mode="after")
    def _fits(self) -> Http:
        if self.send in {"form", "query"} and not _flat(self.request):
            raise ValueError(f'request must be a table of texts if it is sent as "{self.send}"')
        if self.send == "json" and isinstance(self.request, str) and self.request:
            try:
                json.loads(self.request)
            except ValueError as error:
                raise ValueError(f"request must be JSON if it is sent as such: {error}") from None
        if self.send == "text" and not isinstance(self.request, str):
            raise ValueError('request must be a text if it is sent as "text"')
        if not self._holds("text"):
            got = ", ".join(f'"{{{name}}}"' for name in _NAMES if self._holds(name)) or "no place at all"
            do = 'Write "{text}" where the text belongs'
            raise ValueError(sentence("no text would be sent", '"{text}" in `request` or `url`', got, do))
        if not self.key and "{key}" in json.dumps([self.url, self.headers, self.request]):
            raise ValueError('key must name the environment variable that "{key}" stands for')
        return self

    def _holds(self, name: str) -> bool:
        """Whether what is sent has a place for this."""
        return any(f"{{{name}}}" in one for one in (self.url, json.dumps(self.request)))

    def identity(self) -> Mapping[str, Any]:
        """The settings; without labels, as before there were any, so that answers kept then still count."""
        return {name: value for name, value in super().identity().items() if name != "labels" or value}

    def check_requirements(self) -> None:
        """Raise PlanError for a language that has a place and is not given, else as every service does."""
        for name in ("source", "target"):
            if self._holds(name) and not getattr(self, name):
                what = f'no {name} language, for which "{{{name}}}" stands in what {self.url} is sent'
                do = "Or take the place out, where the service always translates into one language"
                raise PlanError.of(name, what, must="a language code, such as es", do=do)
        if self.key:
            key_from(self.key, self.name_in_errors())
            if not self.key_to_send():
                raise self.host_error()

    def key_address(self) -> str:
        return self.url

    def key_agreed(self) -> bool:
        """An address written for this key is consent in the plan, unless the key would stand in it."""
        return "{key}" not in self.url

    def uses_history(self) -> bool:
        return self._holds("turns")

    def takes_turns_alone(self) -> bool:
        return self.task == "chat" and not any(map(self._holds, ("turns", "session", "talk", "user")))

    def open(self) -> LiveHttp:
        """The live service, with one pooled client.

        Raises:
            KeyMissingError: `key` names an environment variable that is empty.
        """
        self.check_requirements()
        return LiveHttp(self, self.key_to_send())


def _fields(request: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """The texts of a request, each with the name of its field; "" for those of lists."""
    if isinstance(request, str):
        yield name, request
    elif isinstance(request, Mapping):
        for key, value in request.items():
            yield from _fields(value, str(key))
    elif isinstance(request, Sequence):
        for value in request:
            yield from _fields(value)


class LiveHttp:
    """A service behind HTTP with its client. Templates are taken apart once."""

    def __init__(self, description: Http, key: str) -> None:
        self._description = description
        headers = {name: value.replace("{key}", key) for name, value in description.headers.items()}
        secrets = [key, *(headers[name] for name, value in description.headers.items() if "{key}" in value)]
        facts = ConnectionSettings(
            description.name_in_errors(),
            description.timeout,
            secrets=tuple(secrets),
            headers=headers,
            busy=frozenset(description.busy_codes),
        )
        self._http = Transport(facts)
        self._fixed = {
            "key": key,
            "source": description.codes.get(description.source, description.source),
            "target": description.codes.get(description.target, description.target),
        }
        self._write = writer(description)
        self._output = path(description.response)
        self._tokens = path(description.tokens)
        self._refused = description.refused_if
        self._names = RunNames()

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        """One reply a message, in order, each by a request of its own.

        Raises:
            ServiceError: of the first request that failed.
        """
        return [await self._ask(message) for message in messages]

    async def close(self) -> None:
        await self._http.close()

    async def _ask(self, message: Message) -> Reply:
        values = self._fixed | {
            "text": message.text,
            "draw": str(message.draw),
            "session": self._names.conversation(message),
            "talk": self._names.conversation(message),
            "user": self._names.person(message),
            "turns": json.dumps(message.turns),
        }
        url, body, content_type = self._write(values)
        answer = await self._http.send(self._description.method, url, body, content_type)
        if answer.status in self._description.refused_codes:
            return Reply(self._declined(answer), refused=True)
        return self._read(self._http.accept(answer))

    def _declined(self, answer: HttpResponse) -> str:
        """The words of a refusal: its output where it has one, else what it says."""
        try:
            found = self._output(self._http.json(answer))
        except (GarbledError, LookupError):
            found = None
        return self._http.clean(found) if isinstance(found, str) else self._http.excerpt(answer)

    def _read(self, answer: HttpResponse) -> Reply:
        http, description = self._http, self._description
        if not description.response:
            found: Any = http.text(answer)
            tokens, whole = 0, None
        else:
            whole = http.json(answer)
            found = self._found(whole, answer)
            tokens = self._count(whole) if description.tokens else 0
        if isinstance(found, str):
            found = http.clean(found)  # `output_of` leaves out what was thought: twice would cut what is said
            said = without_thinking(found) if description.task == "chat" else found
            if self._refused and _found(self._refused, said[:_LOOKED_AT]):
                return Reply(said, refused=True, tokens=tokens, answered_as=http.answered_as(answer, whole))
        parts = http.answered_as(answer, whole)
        return Reply(self._value(found), tokens=tokens, answered_as=parts)

    def _value(self, found: Any) -> str | float:
        """The output that was found, or the score of the label that was.

        Raises:
            GarbledError: it is neither, or a label without a score.
        """
        labels = self._description.labels
        if not labels:
            try:
                return output_of(found, self._description.task)
            except GarbledError as error:
                do = LABELS if isinstance(found, str) else ""
                if isinstance(found, list | dict):
                    holds = self._http.blot(json.dumps(found, ensure_ascii=False))[:SHOWN]
                    do = f'Let `response` go on from "{self._description.response}" to the text: {holds}'
                raise GarbledError(error.what, must=error.must, got=error.got, do=do) from None
        label = found.strip() if isinstance(found, str) else json.dumps(found)
        if label not in labels:
            must, do = f"one of `labels`: {', '.join(labels)}", "Give it a score in `labels` of the service"
            got = repr(label[:SHOWN])
            raise GarbledError("the answer is a label without a score", must=must, got=got, do=do)
        return labels[label]

    def _found(self, whole: Any, answer: HttpResponse) -> Any:
        try:
            return self._output(whole)
        except LookupError:
            place = self._description.response
            got = self._http.excerpt(answer)
            raise self._http.garbled_answer(
                f'has nothing at "{place}"', must="as `response` says", got=got
            ) from None

    def _count(self, whole: Any) -> int:
        """The tokens reported; 0 where there is no such number, as an answer is worth more than its count."""
        try:
            found = self._tokens(whole)
        except LookupError:
            return 0
        return number(found, 0)


@dataclass(frozen=True, slots=True)
class Template:
    """A text with places in it, taken apart once: literal parts and names in turn."""

    parts: tuple[str, ...]  # literal, name, literal, name, ..., literal
    encode: Callable[[str], str]

    @classmethod
    def of(cls, text: str, encode: Callable[[str], str]) -> Template:
        return cls(tuple(_PLACE.split(text)), encode)

    def fill(self, values: Values) -> str:
        """The text with each name replaced by its encoded value."""
        parts = self.parts
        if len(parts) == 1:
            return parts[0]
        encode = self.encode
        filled = [
            part if not at % 2 else values["turns"] if part == _LIST else encode(values[part])
            for at, part in enumerate(parts)
        ]
        return "".join(filled)


def writer(description: Http) -> Callable[[Values], tuple[str, bytes, str]]:
    """From the values of the placeholders to the address, the body and its content type."""
    address = Template.of(description.url, _in_address)
    request = description.request
    if description.send in {"form", "query"} and isinstance(request, dict):
        fields = {name: Template.of(str(value), str) for name, value in request.items()}
        return _fields_writer(address, fields, in_query=description.send == "query")
    if description.send == "json":
        value = json.loads(request) if isinstance(request, str) and request else request
        text = _TURNS.sub(f"{{{_LIST}}}", _NUMBER.sub("{draw}", json.dumps(value))) if value else ""
        body, kind = Template.of(text, _in_json), "application/json"
    else:
        body, kind = Template.of(str(request), str), "text/plain; charset=utf-8"

    def write(values: Values) -> tuple[str, bytes, str]:
        filled = body.fill(values)
        return address.fill(values), filled.encode("utf-8", "replace"), kind if filled else ""

    return write


def _fields_writer(
    address: Template, fields: Mapping[str, Template], *, in_query: bool
) -> Callable[[Values], tuple[str, bytes, str]]:
    def write(values: Values) -> tuple[str, bytes, str]:
        url = address.fill(values)
        filled = form({name: template.fill(values) for name, template in fields.items()})
        if not in_query:
            return url, filled, FORM
        joint = "&" if "?" in url else "?"
        return f"{url}{joint}{filled.decode('ascii')}", b"", ""

    return write


def path(place: str) -> Callable[[Any], Any]:
    """A function from JSON to what stands at a place in it; it raises LookupError if nothing does.

    >>> path("data.0.text")({"data": [{"text": "hi"}]})
    'hi'
    >>> path("/a~1b/1")({"a/b": [1, 2]})
    2
    """
    if place.startswith("/"):  # RFC 6901
        steps = [step.replace("~1", "/").replace("~0", "~") for step in place[1:].split("/")]
    else:
        steps = place.split(".") if place else []

    def find(found: Any) -> Any:
        for step in steps:
            if isinstance(found, dict):
                found = found[step]
            elif isinstance(found, list) and step.isdecimal():
                found = found[int(step)]
            else:
                raise LookupError(step)
        return found

    return find


def _found(pattern: str, text: str) -> bool:
    """Whether a user's regular expression is found in a text, in time that grows as the text does.

    Python's own engine can take longer than a life for a pattern of ten characters, deaf to signals.

    Raises ValueError if it is no expression of this engine.
    """
    import polars as pl  # brings an engine without backtracking

    try:
        return bool(pl.Series([text]).str.contains(pattern).item())
    except pl.exceptions.ComputeError as error:
        raise ValueError(str(error).strip().splitlines()[-1]) from None


def _in_json(value: str) -> str:
    return json.dumps(value)[1:-1]


def _in_address(value: str) -> str:
    return quote(value, safe="", errors="replace")


def _flat(request: object) -> bool:
    return isinstance(request, dict) and not any(isinstance(one, dict | list) for one in request.values())
