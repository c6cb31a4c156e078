"""Pages and forms over HTTP: what a page may do, and what a form has to be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from trustgauge.apps.catalogue.api_requests import Problem
from trustgauge.errors import TrustgaugeError

DATA_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
"""Of files that are no page: a picture that is opened alone runs nothing."""


def page_response(text: str, status: int = 200, kept: str = "no-cache") -> HTMLResponse:
    """A page under the policy that it names itself; a server adds what a page cannot say of itself."""
    _, _, rest = text.partition('http-equiv="Content-Security-Policy" content="')
    ancestors = rest.partition('"')[0].replace("&#39;", "'")
    policy = f"{ancestors}; frame-ancestors 'none'" if ancestors else DATA_POLICY
    return HTMLResponse(
        text.encode("utf-8", "replace"), status, {"Content-Security-Policy": policy, "Cache-Control": kept}
    )


def private_page(text: str, status: int = 200) -> HTMLResponse:
    """A page that no browser keeps: a token may stand in its forms."""
    return page_response(text, status, "no-store")


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form."""
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip()
    if kind != "application/x-www-form-urlencoded":
        raise Problem(415, "catalogue.media-type", "This address takes a form")
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise Problem(413, "catalogue.too-large", "The form has too many fields") from None


async def form_page(page: Callable[[], Awaitable[str | Response]], refused: Callable[[str], str]) -> Response:
    """What a form leads to; or, where it cannot be done, the page that says why."""
    try:
        made = await page()
        return private_page(made) if isinstance(made, str) else made
    except Problem as error:
        problem, status = f"{error.title}. {error.detail}".strip(), error.status
    except TrustgaugeError as error:
        lines = [f"{one.what}{f' (must be {one.must})' if one.must else ''}" for one in error.faults]
        lines = lines or [error.what]
        problem, status = f"{'; '.join(lines)}.", 422
    return private_page(await run_in_threadpool(refused, problem), status)
