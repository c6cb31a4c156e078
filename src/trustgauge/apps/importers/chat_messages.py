"""Messages as chat logs write them: lists, numbered attributes, JSON in a text, objects of an application.

What cannot be read is kept apart from what is not there. Exporters cut attributes at a length, and a list of
messages that was cut is neither side's words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from trustgauge.apps.importers.conversations import ROLES, Lack, Said
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
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
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
