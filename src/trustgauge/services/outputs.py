"""What a program, a function or a file gave, as the output of a task; and what of its words may be told."""

from __future__ import annotations

import math
import os
import re
from typing import Any

from trustgauge.errors import GarbledError
from trustgauge.records import Task

_HALF = re.compile("[\ud800-\udfff]")
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
SHORTEST_SECRET = 6  # characters; a shorter value would blot out ordinary words
SHOWN = 80  # characters of a bad value that an error shows


def output_of(value: Any, task: Task) -> str | float:
    """The output that `value` stands for: a finite number for `score`, else a text.

    A number may be written as text; a text is never made of a number, a list or nothing.

    Raises:
        GarbledError: `value` is no output of this task.
    """
    if task != "score":
        if isinstance(value, str):
            return storable(value)
        raise GarbledError("the answer is no text", must="a text", got=_shown(value))
    number = math.nan
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
    if not math.isfinite(number):
        raise GarbledError("the answer is no score", must="a finite number", got=_shown(value))
    return number


def storable(text: str) -> str:
    """The text with U+FFFD for halves of characters (lone surrogates), which UTF-8 cannot hold."""
    return text if text.isascii() else _HALF.sub("\N{REPLACEMENT CHARACTER}", text)


def redacted(text: str) -> str:
    """The text without the values of the environment's keys, tokens, secrets and passwords."""
    for name, value in os.environ.items():
        if _SECRET.search(name) and len(value) >= SHORTEST_SECRET:
            text = text.replace(value, "****")
    return text


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = repr(value[: SHOWN + 1]) if isinstance(value, str) else type(value).__name__
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
