"""Chat logs: OpenAI messages, OpenTelemetry GenAI spans, and exports of Langfuse and Phoenix.

Sources: OpenAI fine-tuning and evals files (one JSON object per line with `messages`); OpenTelemetry semantic
conventions for generative AI (`gen_ai.input.messages`, `gen_ai.output.messages`), their predecessors
(`gen_ai.prompt.0.content`) and OpenInference (`llm.input_messages.0.message.content`) in OTLP/JSON;
observations of Langfuse's API, table and blob exports; spans of Phoenix's client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trustgauge.apps.importers.conversations import ROLES, LoggedCall, Said
from trustgauge.apps.importers.json_stream import EVERY, elements, first_sign
from trustgauge.data.tables import csv_rows, fault
from trustgauge.records import digest
from trustgauge.services import storable

CHAT = ("chat", "generate_content", "text_completion")
"""Operations of GenAI spans that are calls of a model; agents and tools contain them."""
SPANS = (("resourceSpans", EVERY, "scopeSpans", EVERY, "spans", EVERY),)
_PLACE = re.compile(r"(.+?)\.(\d+)\.(.+)")


def openai_jsonl(file: Path) -> Iterator[LoggedCall]:
    """Conversations as OpenAI's `messages`, one a line; each line is a conversation of its own."""
    for number, row in enumerate(elements(file), 1):
        messages = row.get("messages") if isinstance(row, dict) else None
        if not isinstance(messages, list):
            raise fault(file, "FILE", f"record {number:,} has no messages", must='{"messages": [...]} a line')
        said = _said(messages)
        answered = bool(said) and said[-1][0] == "bot"
        named = storable(str(row.get("id") or ""))
        yield LoggedCall(
            said[:-1] if answered else said,
            said[-1][1] if answered else None,
            named,
            whole=True,
            # The id may be that of a person, whose other conversations begin with other words.
            id=digest("call", [named, said[0][1]]) if named and said else "",
        )


def otlp(file: Path) -> Iterator[LoggedCall]:
    """Calls of models among OpenTelemetry spans, as OTLP/JSON: one request, or one a line."""
    silent = spoken = 0
    for span in elements(file, SPANS[0]):
        facts = _attributes(span.get("attributes")) if isinstance(span, dict) else {}
        if not _is_call(facts):
            continue
        call = _call(facts, span.get("startTimeUnixNano"), (span.get("traceId"), span.get("spanId")))
        if call is None:
            silent += 1
            continue
        spoken += 1
        yield call
    if silent and not spoken:
        do = "Record it (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT), or import the application's log"
        raise fault(
            file, "FILE", f"none of {silent:,} calls contains its messages", must="their content", do=do
        )


def phoenix(file: Path) -> Iterator[LoggedCall]:
    """Calls of models among spans of Phoenix: its client's spans or data frame as JSON, or lines of it."""
    place = (EVERY,) if first_sign(file) == "[" else ()
    for row in elements(file, place):
        for span in row["data"] if isinstance(row, dict) and isinstance(row.get("data"), list) else [row]:
            if not isinstance(span, dict):
                raise fault(file, "FILE", "not a Phoenix span", must="JSON objects")
            facts = dict(span["attributes"]) if isinstance(span.get("attributes"), dict) else {}
            prefix = "attributes."
            facts |= {key[len(prefix) :]: cell for key, cell in span.items() if key.startswith(prefix)}
            facts.setdefault("openinference.span.kind", span.get("span_kind"))
            if not _is_call(facts):
                continue
            context = span["context"] if isinstance(span.get("context"), dict) else {}
            ids = (context.get(key, span.get(f"context.{key}")) for key in ("trace_id", "span_id"))
            call = _call(_flat(facts), span.get("start_time"), tuple(ids))
            if call is not None:
                yield call


def langfuse(file: Path) -> Iterator[LoggedCall]:
    """Generations among Langfuse's observations, or its traces: JSON, JSON lines, or CSV of a table."""
    for row in _langfuse_rows(file):
        kind = row.get("type")
        if kind is not None and str(kind).upper() != "GENERATION":
            continue
        sent, came = (_parsed(row.get(side)) for side in ("input", "output"))
        said = _said(_messages(sent, "user"))
        if not said:
            continue
        reply = _reply(came)
        yield LoggedCall(
            said,
            reply,
            str(row.get("sessionId") or row.get("session_id") or ""),
            str(row.get("startTime") or row.get("start_time") or row.get("timestamp") or ""),
            id=str(row.get("id") or ""),
        )


def _langfuse_rows(file: Path) -> Iterator[Mapping[str, Any]]:
    if file.suffix.lower() == ".csv":
        yield from ({key: cell or None for key, cell in row.items()} for row in csv_rows(file, "FILE"))
        return
    for row in elements(file, (EVERY,) if first_sign(file) == "[" else ()):
        if not isinstance(row, dict):
            raise fault(file, "FILE", "not a Langfuse observation", must="JSON objects")
        inside = next((row[key] for key in ("data", "observations") if isinstance(row.get(key), list)), [row])
        session = row.get("sessionId")
        yield from ({"sessionId": session, **one} for one in inside if isinstance(one, dict))


def _is_call(facts: Mapping[str, Any]) -> bool:
    operation, kind = facts.get("gen_ai.operation.name"), facts.get("openinference.span.kind")
    if operation is not None:
        return operation in CHAT
    return kind is None or str(kind).upper() == "LLM"


def _call(facts: Mapping[str, Any], started: Any, ids: tuple[Any, ...]) -> LoggedCall | None:
    """A call as its span tells it; None if the span holds no messages."""
    sent = _parsed(facts.get("gen_ai.input.messages")) or _numbered(facts, "gen_ai.prompt", "")
    sent = sent or _numbered(facts, "llm.input_messages", "message.")
    came = _parsed(facts.get("gen_ai.output.messages")) or _numbered(facts, "gen_ai.completion", "")
    came = came or _numbered(facts, "llm.output_messages", "message.")
    said = _said(sent if isinstance(sent, list) else [])
    if not said:
        return None
    named = facts.get("gen_ai.conversation.id") or facts.get("session.id") or ""
    return LoggedCall(
        said,
        _reply(came or None),
        str(named),
        "" if started is None else str(started),
        id="/".join(map(str, ids)) if all(ids) else "",
    )


def _attributes(listed: Any) -> dict[str, Any]:
    """Attributes of OTLP/JSON, a list of keys and typed values, as a table."""
    if not isinstance(listed, list):
        return {}
    pairs = (one for one in listed if isinstance(one, dict) and isinstance(one.get("key"), str))
    return {one["key"]: _any_value(one.get("value")) for one in pairs}


def _any_value(value: Any) -> Any:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("arrayValue"), dict):
        return [_any_value(one) for one in value["arrayValue"].get("values") or ()]
    if isinstance(value.get("kvlistValue"), dict):
        return _attributes(value["kvlistValue"].get("values"))
    return next(iter(value.values()), None)


def _flat(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of messages as numbered attributes, which is how Phoenix's spans have them."""
    flat = dict(facts)
    for name in ("llm.input_messages", "llm.output_messages"):
        for number, one in enumerate(facts[name] if isinstance(facts.get(name), list) else ()):
            if isinstance(one, dict):
                inner = one.get("message") if isinstance(one.get("message"), dict) else None
                parts = {f"message.{key}": cell for key, cell in inner.items()} if inner else one
                flat |= {f"{name}.{number}.{key}": cell for key, cell in parts.items()}
    return flat


def _numbered(facts: Mapping[str, Any], name: str, inner: str) -> list[dict[str, Any]]:
    """Messages that are spread over numbered attributes, in order."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in facts.items():
        match = _PLACE.fullmatch(key) if key.startswith(f"{name}.") else None
        if match and match[1] == name and match[3].startswith(inner):
            found.setdefault(int(match[2]), {})[match[3].removeprefix(inner)] = value
    for message in found.values():
        if message.get("content") is None:  # parts of a message, each numbered again
            parts = _numbered(message, "contents", "message_content.")
            message["content"] = [one for one in parts if one.get("type") == "text"] or None
    return [found[number] for number in sorted(found)]


def _parsed(value: Any) -> Any:
    """JSON that was written into a text; other texts as they are."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _messages(value: Any, role: str) -> list[Any]:
    """Whatever stands for messages as a list of them; a bare text is one message of the role."""
    if isinstance(value, dict):
        for key in ("messages", "choices"):
            if isinstance(value.get(key), list):
                return [one.get("message", one) if isinstance(one, dict) else one for one in value[key]]
        if "content" in value or "parts" in value:
            return [{"role": role, **value}]
        texts = [one for one in value.values() if isinstance(one, str)]
        return [{"role": role, "content": texts[0]}] if len(texts) == 1 else []
    if isinstance(value, list):
        return value
    return [] if value is None else [{"role": role, "content": str(value)}]


def _reply(came: Any) -> str | None:
    """The first choice's text; None if there is none."""
    said = [one for one in _messages(came, "assistant") if isinstance(one, dict)]
    texts = [_text(one) for one in said if ROLES.get(str(one.get("role", "assistant")).lower()) == "bot"]
    return next((text for text in texts if text is not None), None)


def _said(messages: Sequence[Any]) -> list[Said]:
    """What both sides said; the bot's calls of tools and the words of others are left out."""
    said: list[Said] = []
    for one in messages:
        who = ROLES.get(str(one.get("role", "")).lower()) if isinstance(one, dict) else None
        text = _text(one) if who else None
        if who and (text is not None or who == "user"):
            said.append((who, text or ""))
    return said


def _text(message: Mapping[str, Any]) -> str | None:
    """The text of a message; None if it has none, as where a model calls a tool."""
    content = message.get("content", message.get("parts"))
    if isinstance(content, str):
        return storable(content)
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return None
    parts = [one if isinstance(one, dict) else {"type": "text", "text": one} for one in content]
    texts = [one.get("text", one.get("content")) for one in parts if "text" in str(one.get("type", "text"))]
    written = [one for one in texts if isinstance(one, str)]
    return storable("\n".join(written)) if written else None
