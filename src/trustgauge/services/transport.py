"""The HTTP transport: the only module that sends requests to services.

Every network adapter sends through a `Transport`: a pooled client with a time limit on each
request as a whole (a body that drips ends at the limit too), a cap on the size of answers, and
one mapping from what can go wrong to the errors the engine understands:

    401, 402, 403, 407          RefusedError      the service is not asked again
    429, 529                    BusyError         with Retry-After, seconds or a date, or what the body asks
    408, 409, 425, other 5xx    UnavailableError  the same, if given
    other 3xx, 4xx              RejectedError     this message is not sent again
    no connection, cut, late    UnavailableError
    no HTTP, not JSON, empty    GarbledError

Redirects are not followed, as they would carry the key to another address. Proxies are taken
from HTTP_PROXY, HTTPS_PROXY and NO_PROXY. Certificates are checked by the authorities of the system; on
Linux by those in SSL_CERT_FILE and SSL_CERT_DIR instead, where set. Neither keys, headers nor queries of
an address enter a message, and a service that sends our key back finds it blotted out.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime
from html import escape
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, quote_plus, urlencode, urlsplit, urlunsplit

from pyreqwest.client import Client, ClientBuilder
from pyreqwest.exceptions import DecodeError, PyreqwestError, RequestTimeoutError

from trustgauge.errors import (
    BusyError,
    GarbledError,
    KeyMissingError,
    RefusedError,
    RejectedError,
    ServiceError,
    UnavailableError,
)
from trustgauge.plan_faults import KNOWN_KEYS
from trustgauge.records import whole_characters
from trustgauge.services import mask

LARGEST = 8_000_000
"""Bytes of an answer, after unpacking, beyond which it is not read."""

MASK = "[key removed]"
FORM = "application/x-www-form-urlencoded"
VERSION_HEADERS = ("openai-version", "openai-model", "x-model", "x-model-version", "x-version", "api-version")
"""Headers by which services say what answered."""
NAMES_OF_MODELS = ("model", "modelVersion", "model_version", "system_fingerprint")
"""Fields at the top of an answer that say the same."""
_SHORTEST = 6  # characters of a secret
_EXCERPT = 200  # characters of a service's own words that an error may quote
_HINTED = 10_000  # bytes of an error in which it may ask to wait
_SETTLE = 0.05  # seconds that the client's own threads get to end before the interpreter does
_last_closed = -math.inf


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What came back: status, body, and the two headers that matter."""

    status: int
    body: bytes
    content_type: str = ""
    retry_after: float | None = None  # seconds from when it came
    versions: tuple[tuple[str, str], ...] = ()  # headers of VERSION_HEADERS that came


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """What a transport needs to know of its service.

    Attributes:
        name: as messages call it.
        timeout: seconds for one request as a whole.
        secrets: texts that must never be passed on.
        headers: sent with every request.
        busy: status codes that ask to wait.
        largest: bytes of an answer that are read.
        now: the clock that dates in Retry-After are compared with, seconds since 1970.
    """

    name: str
    timeout: float = 30.0
    secrets: tuple[str, ...] = ()
    headers: Mapping[str, str] | None = None
    busy: frozenset[int] = frozenset({429, 529})
    largest: int = LARGEST
    now: Callable[[], float] = time.time


def key_from(variable: str, service: str) -> str:
    """The key in an environment variable.

    Raises:
        KeyMissingError: the variable is not set, empty, or cannot be a header's value.
    """
    key = os.environ.get(variable, "").strip()
    if not key:
        raise KeyMissingError(
            f"{service} needs a key in the environment variable {variable}, which is not set",
            do=f"Set {variable} and run the same command again",
        )
    if not (key.isascii() and key.isprintable()):
        raise KeyMissingError(
            f"the key for {service} cannot be sent",
            must="printable ASCII characters",
            do=f"Copy the key into {variable} again",
        )
    return key


class Transport:
    """One pooled HTTP client of one live service. Close it after use."""

    def __init__(self, facts: ConnectionSettings) -> None:
        self.facts = facts
        self._secrets = _spellings(facts.secrets)
        builder = ClientBuilder().follow_redirects(False).user_agent("trustgauge")
        builder = builder.timeout(timedelta(seconds=facts.timeout))
        headers = dict(facts.headers or {})
        if not all(map(_can_be_sent, headers.items())):
            raise RefusedError(
                f"a header for {facts.name} cannot be sent",
                must="a name and a value of printable ASCII characters",
                do="Check the headers and the environment variable of the key",
            )
        self._client: Client | None = None
        with suppress(ValueError):  # it may quote a header, so it may not be the context of ours
            self._client = builder.default_headers(headers).build()
        if self._client is None:
            raise UnavailableError(f"no connection to {facts.name} can be made", do=FILES)

    async def close(self) -> None:
        """End all connections. Closing twice is harmless."""
        global _last_closed
        client, self._client = self._client, None
        if client is not None:
            await client.close()
            _last_closed = time.monotonic()

    async def post_form(self, url: str, fields: Mapping[str, str]) -> Any:
        """Send an HTML form and read a successful answer as JSON."""
        return self.json(self.accept(await self.send("POST", url, form(fields), FORM)))

    async def send(self, method: str, url: str, body: bytes = b"", content_type: str = "") -> HttpResponse:
        """One request, one answer of any status.

        Raises:
            UnavailableError: no connection, a connection cut short, or no whole answer in time.
            GarbledError: what came is no HTTP, cannot be unpacked, or is too large.
            RejectedError: the address is none.
        """
        client = self._client
        if client is None:  # a closed client may still send
            raise UnavailableError(f"{self.facts.name} was asked after it was closed")
        failure: Exception
        try:
            request = client.request(method, url)
            if content_type:
                request = request.header("content-type", content_type).body_bytes(body)
            async with request.build_streamed() as response:
                content = memoryview(await response.body_reader.read(self.facts.largest + 1) or b"")
                if content.nbytes > self.facts.largest:  # before it is copied
                    most = f"at most {self.facts.largest:,} bytes"
                    do = "Check that the address belongs to the service"
                    raise self.garbled_answer("is too large", must=most, do=do)
                answer = HttpResponse(
                    response.status,
                    bytes(content),
                    response.get_header("content-type") or "",
                    self._requested_wait(response.get_header, response.status, content),
                    tuple((one, said) for one in VERSION_HEADERS if (said := response.get_header(one))),
                )
            return answer
        except (PyreqwestError, ValueError) as error:
            failure = error
        # Raised out here, so that the cause, which quotes the whole address, is not its context.
        raise self._failure(failure, url)

    def _requested_wait(
        self, header: Callable[[str], str | None], status: int, content: memoryview
    ) -> float | None:
        """Seconds that an answer other than success asks to wait, in a header or in its body."""
        asked = retry_seconds(header("retry-after"), self.facts.now)
        if asked is None and (millis := retry_seconds(header("retry-after-ms"))) is not None:
            asked = millis / 1000
        return stated_wait(bytes(content[:_HINTED])) if asked is None and status >= 400 else asked

    def answered_as(self, answer: HttpResponse, whole: Any) -> str:
        """What an answer says it came from, in words: its model, fingerprint and version headers."""
        fields = [(one, whole.get(one)) for one in NAMES_OF_MODELS] if isinstance(whole, dict) else []
        listed = [
            f"{name} {said}" for name, said in (*fields, *answer.versions) if isinstance(said, str) and said
        ]
        return self.clean(" ".join(", ".join(listed).split()))[:_EXCERPT]

    def accept(self, answer: HttpResponse) -> HttpResponse:
        """The answer if its status says success; else the error its status stands for."""
        if 200 <= answer.status < 300:
            return answer
        raise self.fault(answer)

    def fault(self, answer: HttpResponse) -> ServiceError:
        """The error that a status stands for, with an excerpt of the service's own words."""
        error = self._fault(answer)
        error.status = answer.status
        return error

    def _fault(self, answer: HttpResponse) -> ServiceError:
        status, name = answer.status, self.facts.name
        what = f"{name} answered {_phrase(status)}"
        said = self.excerpt(answer)
        quoted = f"{what}: {said}" if said else what
        if status in self.facts.busy:
            return BusyError(quoted, retry_after=answer.retry_after)
        if status in {401, 402, 403, 407}:
            return RefusedError(quoted, do="Check the key, its rights and its quota")
        if status in {408, 409, 425} or status >= 500:
            return UnavailableError(quoted, retry_after=answer.retry_after, timed_out=status in {408, 504})
        if 300 <= status < 400:
            return RejectedError(what, must="an answer, not a redirect", do="Set the service's new address")
        do = "Check the address and the name of the model" if status in {404, 405, 410} else ""
        return RejectedError(quoted, do=do)

    def json(self, answer: HttpResponse) -> Any:
        """The body as JSON.

        Raises:
            GarbledError: the body is empty, in another encoding than it says, or not JSON.
        """
        try:
            return json.loads(self.text(answer))
        except (ValueError, RecursionError):
            got = f'"{self.excerpt(answer)}"' if answer.body.strip() else "an empty body"
            raise self.garbled_answer("is not JSON", got=got) from None

    @staticmethod
    def encode(value: Any) -> bytes:
        """A value as JSON in plain ASCII, which also carries broken characters."""
        return json.dumps(value).encode("ascii")

    def text(self, answer: HttpResponse) -> str:
        """The body as text, in the encoding it declares, else UTF-8.

        Raises:
            GarbledError: the bytes are not of that encoding.
        """
        charset = _charset(answer.content_type)
        try:
            if charset:
                return str(answer.body, charset)
        except UnicodeDecodeError:
            raise self.garbled_answer(f"is not text in {charset.removesuffix('-sig').upper()}") from None
        raise self.garbled_answer("uses an unsupported encoding", got=answer.content_type[:_EXCERPT])

    def garbled_answer(self, fault: str, *, must: str = "", got: str = "", do: str = "") -> GarbledError:
        """The error for an answer whose form cannot be read: "the answer of NAME" and `fault`."""
        return GarbledError(f"the answer of {self.facts.name} {fault}", must=must, got=self.blot(got), do=do)

    def clean(self, text: str) -> str:
        """Text of an answer as it may be kept: without our keys and without broken characters."""
        return self.blot(whole_characters(text))

    def blot(self, text: str) -> str:
        """`text` without the secrets of this transport."""
        for secret in self._secrets:  # whole ones first: a spelling may begin like another and end otherwise
            text = text.replace(secret, MASK)
        for secret in self._secrets:
            text = mask(text, secret, MASK)
        return text

    def excerpt(self, answer: HttpResponse) -> str:
        """The beginning of a body in one line, blotted, without control characters."""
        text = self.blot(answer.body.decode(_charset(answer.content_type) or "utf-8", "replace"))
        start = text.lstrip()[: 20 * _EXCERPT]
        plain = self.blot(" ".join("".join(c if c.isprintable() else " " for c in start).split()))
        return plain if len(plain) <= _EXCERPT else plain[: _EXCERPT - 1] + "…"

    def _failure(self, error: Exception, url: str) -> ServiceError:
        name, where, limit = self.facts.name, self.blot(address(url)), f"{self.facts.timeout:g} s"
        if isinstance(error, RequestTimeoutError):
            return UnavailableError(f"{name} did not answer within {limit}", timed_out=True)
        causes = _causes(error)
        if isinstance(error, ValueError):  # of the builder: nothing was sent
            return RejectedError(
                f"{name} cannot be asked", must="a complete http or https address", got=where
            )
        if isinstance(error, DecodeError) or "decoding response body" in causes:
            if "reading a body from connection" in causes:
                return UnavailableError(f"the connection to {name} was cut in the middle of an answer")
            return GarbledError(f"the answer of {name} is no HTTP, or cannot be unpacked")
        if "(Connect)" not in causes:
            return UnavailableError(f"the connection to {name} was lost")
        why, do = next((said for sign, *said in _REACHING if sign in causes), ("no connection", REACH))
        return UnavailableError(f"{name} cannot be reached at {where}: {why}", do=do)


FILES = "Allow more open files (`ulimit -n`), or lower `concurrency`"
REACH = "Check the address, the network and the proxy"
AUTHORITY = "Set SSL_CERT_FILE to a file with the certificate of the authority that signed it (PEM)"
PLAIN = "Write http:// in the address if it is meant to be without encryption"
_NOT = "its certificate is not accepted"
_REACHING = (
    ("os error 24", "this process may not open more files at once", FILES),
    ("dns error", "its name cannot be resolved", REACH),
    ("refused", "connection refused", REACH),
    ("handshake eof", "it does not speak TLS", PLAIN),
    ("InvalidContentType", "it does not speak TLS", PLAIN),
    (
        "certificate expired",
        f"{_NOT}: it has expired",
        "Have it renewed, or set the clock here",
    ),
    ("certificate not valid for name", f"{_NOT}: it is made out to another name", REACH),
    ("CaUsedAsEndEntity", f"{_NOT}: it is an authority's own", "Have the server use one that it signed"),
    ("UnknownIssuer", f"{_NOT}: the authority that signed it is not known here", AUTHORITY),
    ("certificate", _NOT, AUTHORITY),
)
"""What the causes of a failed connection hold -> what is wrong, and what to do."""


# Some codecs of Python take quadratic time or are no encodings of text: only the usual ones.
_CHARSETS = re.compile(
    r"us-ascii|iso-8859-\d{1,2}|latin1|windows-125[0-8]|utf-16(le|be)?|koi8-[ru]"
    r"|gb2312|gbk|gb18030|big5|shift_jis|euc-(jp|kr)|iso-2022-jp|tis-620"
)


def form(fields: Mapping[str, str]) -> bytes:
    """Fields as an HTML form sends them. Half characters become U+FFFD."""
    return urlencode(fields, encoding="utf-8", errors="replace").encode("ascii")


def retry_seconds(value: str | None, now: Callable[[], float] = time.time) -> float | None:
    """Seconds to wait by a Retry-After header (RFC 9110, 10.2.3): a number or a date.

    Returns:
        Seconds from now, never negative; None if there is no header or it cannot be read.

    >>> retry_seconds("2"), retry_seconds("soon"), retry_seconds(None)
    (2.0, None, None)
    >>> retry_seconds("Thu, 01 Jan 1970 00:01:30 GMT", lambda: 60.0)
    30.0
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
            seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


_UNITS = {b"ms": 0.001, b"s": 1.0, b"m": 60.0, b"h": 3600.0}
_SPAN = re.compile(rb"(\d{1,9}(?:\.\d{1,9})?) ?(ms|[smh])[a-z]*", re.IGNORECASE)
_WAIT = re.compile(
    rb'(?:"retryDelay": ?"|\b(?:try again|retry) (?:in|after) )((?:\d[\d.]{0,20} ?[a-z]{1,12} ?){1,3})'
    rb'|"estimated_time": ?(\d{1,6}(?:\.\d{1,9})?)',
    re.IGNORECASE,
)


def stated_wait(body: bytes) -> float | None:
    """Seconds to wait by the words of an error, where no header tells; None if it does not say.

    So do OpenAI and those like it, Google (RetryInfo), and Hugging Face while it loads a model.

    >>> stated_wait(b"Rate limit reached. Please try again in 1m30.5s."), stated_wait(b"try again later")
    (90.5, None)
    >>> stated_wait(b'{"retryDelay": "37s"}'), stated_wait(b'{"error": "loading", "estimated_time": 20.0}')
    (37.0, 20.0)
    """
    found = _WAIT.search(body)
    if found is None:
        return None
    if found[2]:
        return float(found[2])
    spans = _SPAN.findall(found[1])
    return sum(float(count) * _UNITS[unit.lower()] for count, unit in spans) if spans else None


def web_address(url: str) -> str:
    """An http or https address without a slash at its end.

    Raises:
        ValueError: it is none, or it holds a user, password or key, which belong in an environment
            variable.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError('must be an address that begins with "https://" or "http://"')
    if parts.username or parts.password or KNOWN_KEYS.search(url):
        raise ValueError(
            "must be an address without user, password or key: put the key into an environment variable"
        )
    return url.rstrip("/")


def address(url: str) -> str:
    """An address as it may be shown: without user, password, query and fragment.

    >>> address("https://me:secret@host.example:8000/v2?key=1")
    'https://host.example:8000/v2'
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that cannot be read"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _charset(content_type: str) -> str:
    """The encoding a content type declares, else UTF-8 (with or without its mark); "" if not a usual one."""
    if not content_type:
        return "utf-8-sig"
    _, found, value = content_type.lower().partition("charset=")
    name = value.split(";")[0].strip(" \"'") if found else "utf-8"
    if name in {"utf-8", "utf8"}:
        return "utf-8-sig"
    return name if _CHARSETS.fullmatch(name) else ""


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _can_be_sent(header: tuple[str, str]) -> bool:
    name, value = header
    return re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is not None and (
        value.isascii() and value.replace("\t", " ").isprintable()
    )


def _causes(error: Exception) -> str:
    details = getattr(error, "details", None) or {}
    return "; ".join(cause["message"] for cause in details.get("causes") or ())


def _spellings(secrets: Sequence[str]) -> tuple[str, ...]:
    """Each secret as it is, in JSON, HTML, Python and an address, and each of these inside JSON.

    The longest comes first, as one may hold another. What is shorter than a key can be is left alone: it
    would blot out words of answers.
    """
    keys = [secret for secret in secrets if len(secret) >= _SHORTEST]
    ways: set[str] = set()
    for key in keys:
        spellings = {
            key,
            json.dumps(key)[1:-1],
            repr(key)[1:-1],
            escape(key),
            quote(key, ""),
            quote_plus(key),
        }
        ways |= spellings | {json.dumps(way)[1:-1] for way in spellings}
    return tuple(sorted(ways, key=len, reverse=True))


def _let_threads_end() -> None:
    """The client's threads may still drop Python objects just after `close`.

    If the interpreter ends in that moment the process aborts, and its exit code is lost.
    """
    time.sleep(max(0.0, _last_closed + _SETTLE - time.monotonic()))


atexit.register(_let_threads_end)
