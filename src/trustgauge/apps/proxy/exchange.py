"""One request and its answer as they passed: what is kept of them until they are read."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from trustgauge.apps.proxy.wire import BodyCopy, RequestHead, ResponseHead

LARGEST = 4_000_000
"""Bytes of a request, or of an answer, beyond which an exchange passes but is not rated."""
READ = "/chat/completions"
"""Where the path of a request ends that is read; all others only pass."""

_SECRET = ("authorization", "key", "token", "secret", "cookie", "password")
_SHORTEST = 6  # characters of a secret: what is shorter would blot out words


@dataclass(slots=True)
class Exchange:
    """A request on its way, and its answer.

    Attributes:
        method, path: of the request, without a query.
        secrets: texts of its head that must never be kept.
        read: whether it is a conversation that may be rated; of others no body is kept.
        sent, back: the bodies, and how they are packed (`content-encoding`).
        status, kind: of the answer: 0 and "" before there is one.
        began, ended: seconds of a clock without a date.
        whole: whether all of the answer passed.
        lost: whether the copies were let go of, as there was no room for them.
    """

    method: str
    path: str
    secrets: tuple[str, ...] = field(default=(), repr=False)
    read: bool = False
    sent: BodyCopy = field(default_factory=lambda: BodyCopy(LARGEST), repr=False)
    back: BodyCopy = field(default_factory=lambda: BodyCopy(LARGEST), repr=False)
    sent_packing: str = ""
    back_packing: str = ""
    status: int = 0
    kind: str = ""
    began: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    whole: bool = False
    lost: bool = False

    @classmethod
    def of(cls, head: RequestHead, secret: Sequence[str] = ()) -> Exchange:
        """The exchange that a request begins; `secret` as in `secrets_of`."""
        read = head.method == "POST" and head.path.endswith(READ)
        packing = head.fields.get("content-encoding", "")
        secrets = secrets_of(head, secret) if read else ()
        return cls(head.method, head.path, secrets, read=read, sent_packing=packing)

    def note_head(self, head: ResponseHead) -> None:
        """Note what the head of the answer says."""
        self.status = head.status
        self.kind = head.fields.get("content-type", "").lower()
        self.back_packing = head.fields.get("content-encoding", "")

    def end(self, *, whole: bool) -> None:
        """Note that it is over: with the whole answer, or cut off."""
        self.whole, self.ended = whole, time.monotonic()
        if not whole:
            self._drop()  # what was cut off is not read

    def lose(self) -> None:
        """Let go of the copies: it passes, and is not rated."""
        self.lost = True
        self._drop()

    def _drop(self) -> None:
        self.sent.drop()
        self.back.drop()

    @property
    def millis(self) -> float:
        """From the head of the request to the end of the answer."""
        return round((self.ended - self.began) * 1000, 1)

    @property
    def size(self) -> int:
        """Bytes that it holds."""
        return len(self.sent) + len(self.back)


def secrets_of(head: RequestHead, more: Sequence[str] = ()) -> tuple[str, ...]:
    """What the head of a request holds that may be a secret: values of keys, tokens and cookies.

    The word before a credential ("Bearer") is none; the credential is one, with and without it.

    Args:
        head: of the request.
        more: names of fields, and of parts of the query, whose values are secrets, too.
    """
    found: set[str] = set()
    named = {name.lower() for name in more}
    query = parse_qsl(head.target.partition("?")[2])
    for name, value in [*_fields(head.fields), *query]:
        if name.lower() in named or any(word in name.lower() for word in _SECRET):
            found |= {value, value.rpartition(" ")[2]}
    return tuple(sorted((one for one in found if len(one) >= _SHORTEST), key=len, reverse=True))


def _fields(fields: Mapping[str, str]) -> list[tuple[str, str]]:
    """The fields, with each cookie on its own."""
    cookies = [part.strip().partition("=") for part in fields.get("cookie", "").split(";")]
    return [*fields.items(), *(("cookie", value) for _, _, value in cookies)]
