"""What requests to the API may hold, by its description, and the problems that answer the others."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse

from trustgauge.data import package_text
from trustgauge.errors import TrustgaugeError

MOST = 200
"""Entries of a page of a list."""


class Problem(Exception):
    """An answer that is an error: status, code, title, detail."""

    def __init__(self, status: int, code: str, title: str, detail: str = "", **more: Any) -> None:
        self.status, self.code, self.title, self.detail, self.more = status, code, title, detail, more
        super().__init__(title)


def openapi_text() -> str:
    """The OpenAPI document, as it is checked in."""
    return package_text(__package__, "openapi.json")


async def body_of(request: Request) -> dict[str, Any]:
    """The JSON object that a request brings."""
    if request.headers.get("Content-Type", "").partition(";")[0].strip() != "application/json":
        raise Problem(415, "catalogue.media-type", "The body must be application/json")
    try:
        data = json.loads(await request.body(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Problem(400, "catalogue.json", "The body is not JSON") from None
    if not isinstance(data, dict):
        raise Problem(400, "catalogue.json", "The body is not a JSON object")
    return data


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def period(every: str) -> int:
    """Seconds of a period such as "12h" or "7d"; 0 for none."""
    found = re.fullmatch(r"([1-9][0-9]{0,3})([hdw])", every)
    if every and not found:
        raise Problem(422, "catalogue.refused", "This is no period", must="hours, days or weeks: 12h, 7d, 2w")
    return int(found[1]) * {"h": 3_600, "d": 86_400, "w": 604_800}[found[2]] if found else 0


def text_of(value: Any) -> str:
    """A value of such an object, if it is a text."""
    if not isinstance(value, str):
        raise Problem(422, "catalogue.refused", "This must be a text")
    return value


def problem_of(error: TrustgaugeError, status: int = 422) -> Problem:
    """An error of ours as the API tells it."""
    if error.faults:
        faults = [{"what": one.what, "must": one.must, "do": one.do} for one in error.faults]
        return Problem(status, error.code, error.faults[0].what, faults=faults)
    return Problem(status, error.code, error.what, must=error.must, got=error.got, do=error.do)


@cache
def _query_schemas(path: str) -> dict[str, dict[str, Any]]:
    """The schemas of what an address may be asked with, by the description of the API."""
    described = json.loads(openapi_text())["paths"][path]["get"]["parameters"]
    return {one["name"]: one["schema"] for one in described if one["in"] == "query"}


def check_query(
    request: Request, path: str, known: Mapping[str, Sequence[str]] = MappingProxyType({})
) -> None:
    """Refuse what the description of the API does not allow, so that a slip does not list everything.

    `known` holds the values of parameters that only this catalogue knows.
    """
    schemas = _query_schemas(path)
    must = f"one of: {', '.join(schemas)}"
    faults = [
        {"place": name[:80], "what": "no such parameter", "must": must}
        for name in dict.fromkeys(request.query_params)
        if name not in schemas
    ]
    for name, schema in schemas.items():
        given = request.query_params.getlist(name)
        valid = ["", *known[name]] if name in known else schema.get("enum", given)
        if len(given) > 1:
            faults.append({"place": name, "what": "given more than once"})
        elif given and given[0] not in valid:
            must = f"one of: {', '.join(filter(None, dict.fromkeys(valid)))}"
            faults.append({"place": name, "what": "no such value", "must": must})
        elif given and not re.fullmatch(schema.get("pattern", r"(?s:.*)"), given[0]):
            faults.append({"place": name, "what": "not of the form", "must": schema["pattern"]})
    if faults:
        raise Problem(422, "catalogue.refused", "The query cannot be read", faults=faults)


def page_size(request: Request) -> int:
    """How many entries of a list a request asks for, within reason."""
    return min(MOST, max(1, int(request.query_params.get("limit") or 50)))


def page_of(content: dict[str, Any], given: Mapping[str, str], after: str, request: Request) -> JSONResponse:
    """A page of a list, with the address of the next one in its `Link` header and in itself."""
    address = ""
    if after:
        rest = {name: value for name, value in given.items() if name != "after"}
        if "limit" in request.query_params:
            rest["limit"] = str(page_size(request))
        address = f"{request.url.path}?{urlencode({**rest, 'after': after})}"
    headers = {"Link": f'<{address}>; rel="next"'} if address else {}
    return JSONResponse({**content, "next": address or None}, headers=headers)
