"""Webhooks: changes of the catalogue, signed, to addresses that an admin named; tried again if they fail.

The form is that of Standard Webhooks: `webhook-id`, which is the same at every try, `webhook-timestamp`, and
`webhook-signature`, an HMAC-SHA256 of both and the body. A receiver refuses old timestamps and ids it knows.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from typing import TYPE_CHECKING, Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from sqlalchemy import RowMapping, select, update

from trustgauge.apps.catalogue.feed import WORDS
from trustgauge.apps.catalogue.schema import AUDIT, DELIVERIES, WEBHOOKS
from trustgauge.errors import StoreError

if TYPE_CHECKING:
    from trustgauge.apps.catalogue.store import CatalogueStore

TRIES = (0, 10, 60, 600, 3_600, 21_600)
"""Seconds before each try."""
WAIT = 10
"""Seconds that a receiver may take."""


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """A receiver answers itself, or not at all."""


def add_webhook(store: CatalogueStore, url: str) -> tuple[str, str]:
    """Tell an address of every change from now on. Returns its id and the secret it checks signatures by.

    Raises:
        StoreError: this is no address of the web.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or len(url) > 2_000:
        raise StoreError("a webhook needs an address", must="http:// or https:// and a host", got=url[:100])
    name, secret = secrets.token_hex(8), f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"
    with store.engine.begin() as connection:
        since = connection.execute(select(AUDIT.c.number).order_by(AUDIT.c.number.desc()).limit(1)).scalar()
        connection.execute(WEBHOOKS.insert().values(id=name, url=url, secret=secret, since=since or 0))
    return name, secret


def signature(secret: str, name: str, at: int, body: bytes) -> str:
    """The signature of a message, as its header has it.

    >>> signature("whsec_" + "c2VjcmV0", "msg_1", 1, b"{}")
    'v1,kW+83cjD04uWm7Qber/sPiCRVJ9ljbsrg8ALKAx2qMc='
    """
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = hmac.new(key, f"{name}.{at}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(signed).decode()}"


def deliver(store: CatalogueStore, address: str = "", now: float | None = None) -> int:
    """Send what is due. Returns how many messages were delivered."""
    now = time.time() if now is None else now
    _plan_deliveries(store, now)
    due = (
        select(DELIVERIES, WEBHOOKS.c.url, WEBHOOKS.c.secret, AUDIT.c.action, AUDIT.c.subject, AUDIT.c.at)
        .join(WEBHOOKS, WEBHOOKS.c.id == DELIVERIES.c.webhook)
        .join(AUDIT, AUDIT.c.number == DELIVERIES.c.number)
        .where(DELIVERIES.c.state == "due", DELIVERIES.c.due <= now)
        .order_by(DELIVERIES.c.number)
        .limit(20)
    )
    delivered = 0
    for row in store.rows(due):
        if not _claim(store, row, now):
            continue
        if _send(row, address, int(now)):
            _settle(store, row["id"], "delivered")
            delivered += 1
        elif row["attempts"] + 1 >= len(TRIES):
            _settle(store, row["id"], "failed")
    return delivered


def _plan_deliveries(store: CatalogueStore, now: float) -> None:
    """A message for every webhook and every change since its last message."""
    with store.engine.begin() as connection:
        for hook in connection.execute(select(WEBHOOKS)).mappings().all():
            told = AUDIT.c.number > hook["since"], AUDIT.c.action.in_(list(WORDS))
            newer = select(AUDIT.c.number).where(*told).order_by(AUDIT.c.number).limit(500)
            changes = connection.execute(newer).scalars().all()
            if not changes:
                continue
            done = connection.execute(
                update(WEBHOOKS)
                .where(WEBHOOKS.c.id == hook["id"], WEBHOOKS.c.since == hook["since"])
                .values(since=changes[-1])
            )
            if done.rowcount:  # else another process did
                rows = [
                    {"id": f"msg_{secrets.token_hex(12)}", "webhook": hook["id"], "number": number}
                    | {"attempts": 0, "due": now, "state": "due"}
                    for number in changes
                ]
                connection.execute(DELIVERIES.insert(), rows)


def _claim(store: CatalogueStore, row: RowMapping, now: float) -> bool:
    """Count a try before it is made, so that two processes do not make the same."""
    after = TRIES[min(row["attempts"] + 1, len(TRIES) - 1)]
    with store.engine.begin() as connection:
        done = connection.execute(
            update(DELIVERIES)
            .where(DELIVERIES.c.id == row["id"], DELIVERIES.c.attempts == row["attempts"])
            .values(attempts=row["attempts"] + 1, due=now + max(after, WAIT * 2))
        )
        return bool(done.rowcount)


def _send(row: RowMapping, address: str, at: int) -> bool:
    facts = {"type": f"rating.{row['action']}", "timestamp": row["at"], "data": {"rating": row["subject"]}}
    if address:
        facts["data"]["address"] = f"{address}r/{row['subject']}/"
    body = json.dumps(facts, separators=(",", ":")).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "trustgauge",
        "webhook-id": row["id"],
        "webhook-timestamp": str(at),
        "webhook-signature": signature(row["secret"], row["id"], at, body),
    }
    try:
        request = Request(row["url"], body, headers, method="POST")
        with build_opener(_NoRedirects).open(request, timeout=WAIT) as answer:
            return 200 <= int(answer.status) < 300
    except (URLError, OSError, ValueError):
        return False


def _settle(store: CatalogueStore, name: str, state: str) -> None:
    with store.engine.begin() as connection:
        connection.execute(update(DELIVERIES).where(DELIVERIES.c.id == name).values(state=state))
