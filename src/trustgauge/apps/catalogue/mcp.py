"""Tools for assistants: the catalogue's reading queries over the Model Context Protocol.

JSON-RPC 2.0 by POST to /mcp (streamable HTTP of the protocol, answers as JSON, no session): a client needs
the address and nothing else, since reading is open. Assistants that start a program for their tools have the
same over its standard input and output. Nothing here changes the catalogue or asks a service.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from typing import Any, BinaryIO

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from trustgauge.apps.catalogue.api import Api
from trustgauge.apps.catalogue.api_requests import MOST, Problem
from trustgauge.apps.catalogue.queries import STATES, RatingQuery
from trustgauge.apps.catalogue.summaries import rating_summary
from trustgauge.errors import TrustgaugeError
from trustgauge.reports import views

PROTOCOLS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions of the protocol in which these tools look the same, the newest first."""
_TEXT = {"type": "string", "maxLength": 200}
_PARSE, _REQUEST, _METHOD, _PARAMETERS = -32700, -32600, -32601, -32602


class McpError(Exception):
    """An error of the protocol: its code, and words."""

    def __init__(self, code: int, words: str) -> None:
        self.code, self.words = code, words
        super().__init__(words)


class McpTools:
    """The tools of a catalogue.

    Args:
        api: answers the same queries over HTTP.
    """

    def __init__(self, api: Api) -> None:
        self.api, self.store = api, api.store
        self.tools: dict[str, tuple[str, dict[str, Any], Callable[[Mapping[str, Any]], Any]]] = {
            "search_ratings": (
                "Find ratings of AI services by words and filters. Each says what was rated, its level in "
                "words, how certain that is, when and by whom.",
                _schema(
                    q=_TEXT | {"description": "words that all must occur: a service, its kind, an assessor"},
                    task={"enum": ["translate", "score", "chat"]},
                    method=_TEXT | {"description": "two-step, causal, social-bias or trust"},
                    dimension=_TEXT | {"description": "an attribute such as gender, or a profile of users"},
                    rule=_TEXT | {"description": "of the method: sound (ours), published or released"},
                    language=_TEXT | {"description": "a code such as en"},
                    state={"enum": list(STATES)},
                    order={"enum": ["best"], "description": "best level first; else the newest"},
                    after=_TEXT | {"description": "`next` of the page before"},
                    limit={"type": "integer", "minimum": 1, "maximum": MOST},
                ),
                self._search,
            ),
            "get_rating": (
                "One rating: what it says, and what it does not say; with document=true all of rating.json.",
                _schema("id", id=_TEXT, document={"type": "boolean"}),
                self._rating,
            ),
            "service_history": (
                "All ratings of one service, the newest first, by all assessors.",
                _schema("service", service=_TEXT | {"description": "`service` of a rating"}),
                self._service,
            ),
            "compare_ratings": (
                "What changed between two ratings whose services were asked the same texts, tested in pairs.",
                _schema("a", "b", a=_TEXT, b=_TEXT),
                self._compare,
            ),
            "rate_for_priorities": (
                "Chatbots for somebody's own order of issues, with the outcome over all orders.",
                _schema(
                    order=_TEXT | {"description": "as in: leakage > abuse = bias > complexity"},
                    profile=_TEXT | {"description": "or a profile, such as privacy-first"},
                ),
                self._personal,
            ),
        }

    def routes(self) -> list[Route]:
        return [Route("/mcp", self.answer, methods=["POST"])]

    async def answer(self, request: Request) -> Response:
        """The answer to one message."""
        origin = request.headers.get("Origin")
        if origin is not None and origin.partition("://")[2] != request.headers.get("Host"):
            raise Problem(403, "catalogue.origin", "Requests of other origins are not taken")
        reply = await run_in_threadpool(self.reply, await request.body())
        if reply is None:
            return Response(status_code=202)
        unreadable = reply.get("error", {}).get("code") in (_PARSE, _REQUEST)
        return JSONResponse(reply, 400 if unreadable else 200)

    def reply(self, data: bytes) -> dict[str, Any] | None:
        """The answer to one message as it came; None to a notification."""
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):
            return _failed(None, McpError(_PARSE, "this is not JSON"))
        name = message.get("id") if isinstance(message, dict) else None
        if not isinstance(name, str | int | None):
            name = None
        try:
            answer = self._dispatch(message)
        except McpError as error:
            return _failed(name, error)
        return None if answer is None or name is None else {"jsonrpc": "2.0", "id": name, "result": answer}

    def _dispatch(self, message: Any) -> dict[str, Any] | None:
        if not isinstance(message, dict) or not isinstance(message.get("method", ""), str):
            raise McpError(_REQUEST, "a message is one JSON object with a method")
        given = message.get("params") or {}
        if not isinstance(given, dict):
            raise McpError(_PARAMETERS, "params must be an object")
        match message.get("method", ""):
            case "initialize":
                wanted = given.get("protocolVersion")
                return {
                    "protocolVersion": wanted if wanted in PROTOCOLS else PROTOCOLS[0],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "trustgauge", "version": version("trustgauge")},
                    "instructions": "Ratings are measurements, not certificates: tell their state, "
                    "certainty, date and assessor with every level.",
                }
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [self._tool(name) for name in self.tools]}
            case "tools/call":
                return self._call(given)
            case name if name.startswith("notifications/") or not name:
                return None
        raise McpError(_METHOD, "no such method")

    def _tool(self, name: str) -> dict[str, Any]:
        words, schema, _ = self.tools[name]
        hints = {"readOnlyHint": True, "openWorldHint": False}
        return {"name": name, "description": words, "inputSchema": schema, "annotations": hints}

    def _call(self, given: Mapping[str, Any]) -> dict[str, Any]:
        name, asked = given.get("name"), given.get("arguments") or {}
        if not isinstance(name, str) or name not in self.tools:
            raise McpError(_PARAMETERS, "no such tool")
        _, schema, run = self.tools[name]
        if fault := _fault(schema, asked):
            return _content({"error": fault}, is_error=True)
        try:
            return _content(run(asked))
        except Problem as error:
            return _content({"error": error.title}, is_error=True)
        except TrustgaugeError as error:
            problem = error.faults[0] if error.faults else error
            return _content({"error": problem.what, "must": problem.must}, is_error=True)

    def _search(self, given: Mapping[str, Any]) -> Any:
        query = RatingQuery.of({name: str(value) for name, value in given.items()})
        page = self.store.list_ratings(query, self.api.site.today(), int(given.get("limit", 20)))
        return {
            "total": page.total,
            "ratings": [rating_summary(row) for row in page.rows],
            "next": page.after or None,
        }

    def _rating(self, given: Mapping[str, Any]) -> Any:
        found = self.store.rating(given["id"])
        if found is None:
            raise Problem(404, "catalogue.not-found", "There is no such rating")
        facts = {
            **rating_summary(found.row),
            "does_not_say": [str(one) for one in views.limits(found.shown)],
            "notes": [{"kind": one["kind"], "text": one["text"], "at": one["at"]} for one in found.notes],
            "superseded_by": found.superseded_by or None,
            "address": self.api.site.rating_address(given["id"]) or None,
        }
        return facts | ({"document": found.document} if given.get("document") else {})

    def _service(self, given: Mapping[str, Any]) -> Any:
        rows = self.store.history(given["service"])
        if not rows:
            raise Problem(404, "catalogue.not-found", "There is no such service")
        return {"ratings": [rating_summary(row) for row in rows]}

    def _compare(self, given: Mapping[str, Any]) -> Any:
        from trustgauge.run.paired_ratings import compare_ratings

        if not (self.store.rating(given["a"]) and self.store.rating(given["b"])):
            raise Problem(404, "catalogue.not-found", "There is no such rating")
        return compare_ratings(self.api.site.ratings, given["a"], given["b"], self.api.site.today())

    def _personal(self, given: Mapping[str, Any]) -> Any:
        from trustgauge.run.profile_ratings import ProfileQuery, rate_for_profile

        whom = ProfileQuery(order=given.get("order", ""), profile=given.get("profile", ""))
        return rate_for_profile(self.api.site.ratings, whom, self.api.site.today())


def _schema(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of the arguments of a tool."""
    facts = {"type": "object", "properties": properties, "additionalProperties": False}
    return facts | ({"required": list(required)} if required else {})


def _fault(schema: Mapping[str, Any], given: Any) -> str:
    """What is wrong with arguments, "" if nothing is; of JSON schema what the tools use."""
    if not isinstance(given, dict):
        return "arguments must be an object"
    kinds = {"string": str, "integer": int, "boolean": bool}
    known = f"the arguments are: {', '.join(schema['properties'])}"
    for name in schema.get("required", ()):
        if name not in given:
            return f"{name} is missing; {known}"
    for name, value in given.items():
        one = schema["properties"].get(name)
        if one is None:
            return f"no argument {name[:80]}; {known}"
        kind = one.get("type", "string")
        if not isinstance(value, kinds[kind]) or (kind == "integer" and isinstance(value, bool)):
            return f"{name} must be of type {kind}"
        if "enum" in one and value not in one["enum"]:
            return f"{name} must be one of: {', '.join(one['enum'])}"
        if kind == "integer" and not one["minimum"] <= value <= one["maximum"]:
            return f"{name} must be {one['minimum']} to {one['maximum']}"
        if isinstance(value, str) and len(value) > one.get("maxLength", 200):
            return f"{name} is too long"
    return ""


def _content(content: Any, *, is_error: bool = False) -> dict[str, Any]:
    text = json.dumps(content, ensure_ascii=False, default=str)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": json.loads(text),
        "isError": is_error,
    }


def _failed(name: str | int | None, error: McpError) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": name, "error": {"code": error.code, "message": error.words}}


def over_pipes(
    tools: McpTools, messages: Iterable[bytes], answers: BinaryIO, look: Callable[[], Any]
) -> None:
    """Answer one message a line until there are no more.

    Args:
        tools: answer them.
        messages: standard input.
        answers: standard output, which carries nothing else.
        look: takes in what is new, before each message.
    """
    for line in messages:
        if not line.strip():
            continue
        look()
        if (answer := tools.reply(line)) is not None:
            answers.write(json.dumps(answer).encode() + b"\n")
            answers.flush()
