"""Server-sent events: how chat services stream an answer (WHATWG HTML, section 9.2).

Answers are read whole before they are taken apart, so that the limits on size and time of the
transport hold for streams too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

DONE = "[DONE]"
"""The word by which OpenAI-compatible services end a stream; it is not JSON."""

_LINE_ENDS = re.compile(r"\r\n|\n|\r")  # not str.splitlines, which also breaks at U+2028 inside JSON


def data_of(text: str) -> Iterator[str]:
    r"""The data of each event, in order; comments and other fields are left out.

    An event cut short by the end of the text counts too: whether the stream was complete is reported
    by its last event, not by its last line.

    >>> list(data_of(": hello\n\ndata: 1\ndata: 2\n\nevent: x\ndata:3"))
    ['1\n2', '3']
    """
    lines: list[str] = []
    for line in _LINE_ENDS.split(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")):
        if not line and lines:
            yield "\n".join(lines)
            lines = []
        field, _, value = line.partition(":")
        if field == "data":
            lines.append(value.removeprefix(" "))
    if lines:
        yield "\n".join(lines)


def events(text: str) -> Iterator[dict[str, Any] | None]:
    """Each event as a JSON object; None for the word that ends the stream.

    Raises:
        ValueError: an event is not a JSON object.
    """
    for data in data_of(text):
        if data.strip() == DONE:
            yield None
            continue
        try:
            event = json.loads(data)
        except RecursionError:
            raise ValueError("an event is nested too deeply") from None
        if not isinstance(event, dict):
            raise ValueError("an event is not a JSON object")
        yield event
