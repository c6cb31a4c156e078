"""Chat logs: OpenAI messages, OpenTelemetry GenAI spans, and exports of Langfuse and Phoenix.

Sources: OpenAI fine-tuning and evals files (one JSON object per line with `messages`); files of ShareGPT
(`conversations` of `from` and `value`); OpenTelemetry semantic conventions for generative AI
(`gen_ai.input.messages`, `gen_ai.output.messages`), their predecessors (`gen_ai.prompt.0.content`) and
OpenInference (`llm.input_messages.0.message.content`) in OTLP/JSON; observations of Langfuse's API, table and
blob exports; spans of Phoenix's client.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trustgauge.apps.importers.chat_messages import (
    is_cut,
    numbered_messages,
    parse,
    parse_content,
    read_exchange,
    utterances,
)
from trustgauge.apps.importers.conversations import LoggedCall
from trustgauge.apps.importers.json_stream import EVERY, elements, elements_with_head, first_sign
from trustgauge.data.tables import csv_rows, ending, fault
from trustgauge.records import digest
from trustgauge.services import storable

CHAT = ("chat", "generate_content", "text_completion")
"""Operations of GenAI spans that are calls of a model; agents and tools contain them."""
OTHER_REQUESTS = ("embedding", "rerank")
"""Requests of spans without an operation that are no chats."""
SPANS = ("resourceSpans", EVERY, "scopeSpans", EVERY, "spans", EVERY)
RESOURCE = ("scopeSpans", "resource")
"""The key on the way to the spans beside which their resource stands."""
PROMPT = ("gen_ai.input.messages", "gen_ai.prompt", "llm.input_messages", "input.value")
REPLY = ("gen_ai.output.messages", "gen_ai.completion", "llm.output_messages", "output.value")
"""Attributes: messages as JSON, numbered, numbered by OpenInference, and what an application made of them."""
DETAILS = "gen_ai.client.inference.operation.details"
SHARE_GPT = {"gpt": "assistant", "chatgpt": "assistant"}
"""Who speaks in files of ShareGPT, where `conversations.ROLES` does not know it."""
_TURN = re.compile(r"gen_ai\.(user|system|assistant|tool)\.message")


def openai_jsonl(file: Path) -> Iterator[LoggedCall]:
    """Conversations as OpenAI's `messages` or ShareGPT's `conversations`, one a line, or a list of them."""
    place = (EVERY,) if first_sign(file) == "[" else ()
    for number, row in enumerate(elements(file, place), 1):
        messages = _messages(row)
        if messages is None:
            must = '{"messages": [...]} a line, or {"conversations": [...]} of ShareGPT'
            raise fault(file, "FILE", f"record {number:,} has no messages", must=must)
        said = utterances(messages)
        cut = any(isinstance(one, dict) and is_cut(one.get("content")) for one in messages)
        answered = bool(said) and said[-1][0] == "bot"
        named = storable(str(row.get("id") or ""))
        yield LoggedCall(
            said[:-1] if answered else said,
            said[-1][1] if answered else None,
            named,
            whole=True,
            # The id may be that of a person, whose other conversations begin with other words.
            id=digest("call", [named, said[0][1]]) if named and said else "",
            model=_name(row.get("model")),
            lack="prompt" if cut or not said else "",
        )


def _messages(row: Any) -> list[Any] | None:
    """The messages of a conversation; nothing if there are none."""
    if not isinstance(row, dict):
        return None
    if isinstance(row.get("messages"), list):
        return list(row["messages"])
    turns = row.get("conversations")
    if not isinstance(turns, list):
        return None
    return [_shared(one) if isinstance(one, dict) and "from" in one else one for one in turns]


def _shared(turn: Mapping[str, Any]) -> dict[str, Any]:
    """A turn of ShareGPT as a message of OpenAI."""
    who = str(turn["from"]).lower()
    return {"role": SHARE_GPT.get(who, who), "content": turn.get("value")}


def otlp(file: Path) -> Iterator[LoggedCall]:
    """Calls of models among OpenTelemetry spans, as OTLP/JSON: one request, or one a line."""
    silent = spoken = 0
    for span, resource in elements_with_head(file, SPANS, RESOURCE):
        if not isinstance(span, dict):
            continue
        facts = _events(span.get("events")) | _attributes(span.get("attributes"))
        if not _is_call(facts):
            continue
        ids = (span.get("traceId"), span.get("spanId"), span.get("parentSpanId"))
        call = _call(facts, span.get("startTimeUnixNano"), ids, _service(resource))
        spoken += call.lack != "prompt"
        silent += call.lack == "prompt" and not _recorded(facts, PROMPT)
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
            trace, own = (context.get(key, span.get(f"context.{key}")) for key in ("trace_id", "span_id"))
            yield _call(_flat(facts), span.get("start_time"), (trace, own, span.get("parent_id")))


def langfuse(file: Path) -> Iterator[LoggedCall]:
    """Generations among Langfuse's observations, or its traces: JSON, JSON lines, or CSV of a table."""
    for row in _langfuse_rows(file):
        kind = row.get("type")
        if kind is not None and str(kind).upper() != "GENERATION":
            continue
        said, reply, lack = read_exchange(parse(row.get("input")), parse(row.get("output")))
        # A row without a type is a trace, which is the piece of work itself.
        trace = _either(row, "traceId", "trace_id") or ("" if kind else _either(row, "id"))
        yield LoggedCall(
            said,
            reply,
            _either(row, "sessionId", "session_id"),
            _either(row, "startTime", "start_time", "timestamp"),
            id=_either(row, "id"),
            trace=trace,
            parent=_either(row, "parentObservationId", "parent_observation_id"),
            model=_name(*(row.get(key) for key in ("model", "providedModelName", "provided_model_name"))),
            lack=lack,
        )


def _either(row: Mapping[str, Any], *keys: str) -> str:
    """What stands under the first of these keys that has something; "" if none has."""
    return str(next((row[key] for key in keys if row.get(key)), ""))


def _name(*values: Any) -> str:
    """The first of these that is a name; "" if none is."""
    return next((storable(one) for one in values if isinstance(one, str) and one), "")


def _langfuse_rows(file: Path) -> Iterator[Mapping[str, Any]]:
    if ending(file) == ".csv":
        yield from ({key: cell or None for key, cell in row.items()} for row in csv_rows(file, "FILE"))
        return
    for row in elements(file, (EVERY,) if first_sign(file) == "[" else ()):
        if not isinstance(row, dict):
            raise fault(file, "FILE", "not a Langfuse observation", must="JSON objects")
        yield from _unfolded(row)


def _unfolded(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The observations in a page of the API or in a trace; the row itself if it has only their ids."""
    page, parts = row.get("data"), row.get("observations")
    inside = page if isinstance(page, list) else parts if isinstance(parts, list) else []
    objects = [one for one in inside if isinstance(one, dict)]
    if not objects and not isinstance(page, list):
        yield row
    for one in objects:
        yield from _unfolded({**one, "sessionId": one.get("sessionId") or row.get("sessionId")})


def _is_call(facts: Mapping[str, Any]) -> bool:
    operation, kind = facts.get("gen_ai.operation.name"), facts.get("openinference.span.kind")
    if operation is not None:
        return operation in CHAT
    if kind is not None:
        return str(kind).upper() == "LLM"
    if facts.get("llm.request.type") in OTHER_REQUESTS or "traceloop.span.kind" in facts:
        return False  # the latter are workflows, agents and tools
    return any(key.startswith(("gen_ai.", "llm.")) for key in facts)


def _call(facts: Mapping[str, Any], started: Any, ids: tuple[Any, Any, Any], service: str = "") -> LoggedCall:
    """A call as its span tells it, whose trace, own id and parent's id are given."""
    trace, own, parent = ids
    said, reply, lack = read_exchange(_recorded(facts, PROMPT), _recorded(facts, REPLY) or None)
    return LoggedCall(
        said,
        reply,
        str(facts.get("gen_ai.conversation.id") or facts.get("session.id") or ""),
        "" if started is None else str(started),
        id=f"{trace}/{own}" if trace and own else "",
        trace=str(trace or ""),
        parent=f"{trace}/{parent}" if trace and parent else "",
        model=_model(facts),
        service=service,
        lack=lack,
    )


def _recorded(facts: Mapping[str, Any], names: tuple[str, str, str, str]) -> Any:
    """Messages under the first of these names that has some, whole ones before those that were cut."""
    modern, older, inference, value = names
    found = (
        parse(facts.get(modern)),
        numbered_messages(facts, older, ""),
        numbered_messages(facts, inference, "message."),
        parse(facts.get(value)),
    )
    written = [one for one in found if one]
    return next((one for one in written if not is_cut(one)), written[0] if written else None)


def _model(facts: Mapping[str, Any]) -> str:
    settings = parse(facts.get("llm.invocation_parameters"))  # all that a failed call of Phoenix has
    asked = settings.get("model") if isinstance(settings, dict) else None
    names = ("gen_ai.request.model", "llm.model_name", "gen_ai.response.model")
    return _name(*map(facts.get, names), asked)


def _service(resource: Any) -> str:
    facts = _attributes(resource.get("attributes")) if isinstance(resource, dict) else {}
    return _name(facts.get("service.name"))


def _events(listed: Any) -> dict[str, Any]:
    """Content that a span has as events, under the names of the attributes that hold it elsewhere."""
    found: dict[str, Any] = {}
    sent, came = [], []
    for event in listed if isinstance(listed, list) else ():
        name = str(event.get("name")) if isinstance(event, dict) else ""
        facts = _attributes(event.get("attributes")) if name else {}
        if name == DETAILS:
            found |= facts
        elif name == "gen_ai.choice":
            came.append(_event_message(facts, "assistant"))
        elif match := _TURN.fullmatch(name):
            sent.append(_event_message(facts, match[1]))
    found |= {PROMPT[0]: sent} if sent else {}
    return found | ({REPLY[0]: came} if came else {})


def _event_message(facts: Mapping[str, Any], role: str) -> dict[str, Any]:
    """The message of an event: its attributes, or what one of them holds as JSON."""
    whole = parse(facts.get("gen_ai.event.content"))
    body = whole if isinstance(whole, dict) else facts
    message = parse(body.get("message"))
    if isinstance(message, dict):
        body = message
    elif message is not None:
        body = {"content": body["message"]}
    return {**body, "role": role, "content": parse_content(body.get("content"))}


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
