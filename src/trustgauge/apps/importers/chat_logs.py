"""Chat logs: OpenAI messages, OpenTelemetry GenAI spans, and exports of Langfuse and Phoenix.

Sources: OpenAI fine-tuning and evals files (one JSON object per line with `messages`); files of ShareGPT
(`conversations` of `from` and `value`); OpenTelemetry semantic conventions for generative AI
(`gen_ai.input.messages`, `gen_ai.output.messages`), their predecessors (`gen_ai.prompt.0.content`) and
OpenInference (`llm.input_messages.0.message.content`) in OTLP/JSON; observations of Langfuse's API, table and
blob exports; spans of Phoenix's client.

Messages as chat logs write them: lists, numbered attributes, JSON in a text, objects of an application.

What cannot be read is kept apart from what is not there. Exporters cut attributes at a length, and a list of
messages that was cut is neither side's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trustgauge.apps.importers.conversations import ROLES, Lack, LoggedCall, Said
from trustgauge.apps.importers.json_stream import EVERY, elements, elements_with_head, first_sign
from trustgauge.data.tables import csv_rows, ending, fault
from trustgauge.records import digest, json_or_none
from trustgauge.services import storable, without_thinking

FIELDS = {
    "user": ("question", "prompt", "input", "query"),
    "assistant": ("answer", "output", "response", "text", "completion"),
}
"""Role -> keys under which applications keep its words, if they have no messages."""
PARTS = {
    *("text", "input_text", "output_text", "refusal", "reasoning", "thinking", "image", "image_url"),
    *("input_image", "audio", "input_audio", "video", "file", "input_file", "document", "blob", "uri"),
    *("tool_use", "tool_call", "tool_result", "tool_call_response", "function_call"),
}
"""Types of the parts of a message."""
UNTYPED = {"text", "image", "document", "toolUse", "toolResult"}
"""The one key of a part that has no type."""
_PLACE = re.compile(r"(.+?)\.(\d+)\.(.+)")
_SOURCE = re.compile(
    r'\s*(?:\[\s*\{\s*"(?:role|type|parts|content|message|finish_reason)"|\{\s*"(?:role|parts)")\s*:'
)
"""How messages begin that are written as JSON."""


def read_exchange(sent: Any, came: Any) -> tuple[list[Said], str | None, Lack]:
    """What was said before, the reply, and what of them cannot be read."""
    asked, answers = list_messages(sent, "user"), list_messages(came, "assistant")
    said = [] if is_cut(sent) or any(map(_has_cut, asked)) else utterances(asked)
    if not said:
        return [], None, "prompt"
    reply = _reply(answers)
    lack: Lack = ""
    if reply is None:
        if any(map(_calls_tool, answers)):
            lack = "tool"
        elif is_cut(came) or any(map(_has_cut, answers)) or (came and not answers):
            lack = "reply"
    return said, reply, lack


def parse(value: Any) -> Any:
    """JSON that was written into a text; other texts as they are."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        found = json_or_none(value)
        return value if found is None else found
    return value


def is_cut(value: Any) -> bool:
    """Whether a text begins as messages in JSON and does not end as such."""
    return isinstance(value, str) and _SOURCE.match(value) is not None and isinstance(parse(value), str)


def parse_content(value: Any) -> Any:
    """The content of a message; of a text that is a JSON list of parts, these parts."""
    found = parse(value) if isinstance(value, str) else value
    return found if isinstance(found, list) and found and all(map(_is_part, found)) else value


def _is_part(one: Any) -> bool:
    if not isinstance(one, dict):
        return False
    return str(one["type"]) in PARTS if "type" in one else set(one) <= UNTYPED


def numbered_messages(facts: Mapping[str, Any], name: str, inner: str) -> list[dict[str, Any]]:
    """Messages that are spread over numbered attributes, in order."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in facts.items():
        match = _PLACE.fullmatch(key) if key.startswith(f"{name}.") else None
        if match and match[1] == name and match[3].startswith(inner):
            found.setdefault(int(match[2]), {})[match[3].removeprefix(inner)] = value
    for message in found.values():
        if message.get("content") is None:  # parts of a message, each numbered again
            parts = numbered_messages(message, "contents", "message_content.")
            message["content"] = [one for one in parts if one.get("type") == "text"] or None
        else:
            message["content"] = parse_content(message["content"])
    return [found[number] for number in sorted(found)]


def list_messages(value: Any, role: str) -> list[Any]:
    """Whatever stands for messages as a list of them; a bare text is one message of the role."""
    if isinstance(value, dict):
        for key in ("messages", "choices"):
            if isinstance(value.get(key), list):
                return [one.get("message", one) if isinstance(one, dict) else one for one in value[key]]
        if "content" in value or "parts" in value:
            return [{"role": role, **value}]
        text = _field(value, role)
        return [] if text is None else [{"role": role, "content": text}]
    if isinstance(value, list):
        return value
    return [] if value is None else [{"role": role, "content": str(value)}]


def _field(value: Mapping[str, Any], role: str) -> str | None:
    """The words in an object of an application: under the one key that means them, else its only text."""
    named = [value[key] for key in FIELDS[role] if isinstance(value.get(key), str)]
    if len(named) == 1:
        return str(named[0])
    texts = [one for one in value.values() if isinstance(one, str)]
    return texts[0] if len(texts) == 1 else None


def utterances(messages: Sequence[Any]) -> list[Said]:
    """What both sides said; the bot's calls of tools and the words of others are left out."""
    said: list[Said] = []
    for one in messages:
        who = ROLES.get(str(one.get("role", "")).lower()) if isinstance(one, dict) else None
        text = _text(one) if who else None
        if who and (text is not None or who == "user"):
            said.append((who, without_thinking(text or "") if who == "bot" else text or ""))
    return said


def _reply(messages: Sequence[Any]) -> str | None:
    """The first choice's text; None if there is none."""
    said = [one for one in messages if isinstance(one, dict)]
    texts = [_text(one) for one in said if ROLES.get(str(one.get("role", "assistant")).lower()) == "bot"]
    return next((without_thinking(text) for text in texts if text is not None), None)


def _text(message: Mapping[str, Any]) -> str | None:
    """The text of a message, a refusal included; None if it has none, as where a model calls a tool."""
    content, refusal = _content(message), message.get("refusal")
    written = [content] if isinstance(content, str) and not is_cut(content) else []
    if isinstance(content, list):
        parts = [one if isinstance(one, dict) else {"type": "text", "text": one} for one in content]
        written = [text for text in map(_part_text, parts) if isinstance(text, str)]
    if isinstance(refusal, str) and not any(written):
        written = [refusal]
    return storable("\n".join(written)) if written else None


def _content(message: Mapping[str, Any]) -> Any:
    content = message.get("content")
    content = message.get("parts") if content is None else content
    return [content] if isinstance(content, dict) else content


def _part_text(part: Mapping[str, Any]) -> Any:
    kind = str(part.get("type", "text"))
    if kind == "refusal":
        return part.get("refusal", part.get("content"))
    return part.get("text", part.get("content")) if "text" in kind else None


def _has_cut(message: Any) -> bool:
    return isinstance(message, dict) and is_cut(message.get("content"))


def _calls_tool(message: Any) -> bool:
    """Whether a message calls a tool, in any of the ways that logs have for it."""
    if not isinstance(message, dict):
        return False
    content = _content(message)
    parts = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    if any(
        one.get("type") in ("tool_call", "tool_use", "function_call") or "toolUse" in one for one in parts
    ):
        return True
    return any(value and key.startswith(("tool_call", "function_call")) for key, value in message.items())


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
