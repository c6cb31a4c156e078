"""Turns what a program, function or file returns into the output of a task; removes secrets from texts."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from trustgauge.errors import GarbledError
from trustgauge.records import Reply, Task

_HALF = re.compile("[\ud800-\udfff]")
_PUBLIC = re.compile(r"(?:[A-Za-z]{1,5}\d{0,2}[-_])+")  # "sk-", "sk-proj-", "sk-or-v1-", "hf_"
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
SHORTEST_SECRET = 6  # characters; a shorter value would blot out ordinary words
LONG_SECRET = 12  # characters from which on a value is no word that an answer could use by chance
MOST_TOKENS = 1_000_000_000  # of one reply; a larger count is not true, and would overflow a store
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
        raise GarbledError("the answer is no text", must="a text", got=_quoted(value))
    number = math.nan
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
    if not math.isfinite(number):
        raise GarbledError("the answer is no score", must="a finite number", got=_quoted(value))
    return number


def storable(text: str) -> str:
    """The text with U+FFFD for halves of characters (lone surrogates), which UTF-8 cannot hold."""
    return text if text.isascii() else _HALF.sub("\N{REPLACEMENT CHARACTER}", text)


def number(value: Any, otherwise: int) -> int:
    """A count of tokens, or what stands for it where there is none, or none that can be true."""
    told = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
    return value if told else otherwise


def check_reply(reply: Reply, name: str) -> None:
    """Refuse a reply that can be neither added up nor kept, whatever adapter made it.

    Raises:
        GarbledError: its score, tokens or cost is no number that a run can count with.
    """
    if not isinstance(reply.output, str) and not math.isfinite(reply.output):
        raise GarbledError(f"{name} gave a score that is no number", got=repr(reply.output))
    if number(reply.tokens, -1) < 0 or not 0 <= reply.usd < math.inf:
        must = f"from 0 to {MOST_TOKENS:,} tokens, and dollars from 0 up"
        raise GarbledError(f"{name} told a cost that cannot be counted", must=must)


def environment_secrets(shortest: int = LONG_SECRET) -> tuple[str, ...]:
    """The values of the environment's keys, tokens, secrets and passwords, the longest first.

    Args:
        shortest: characters from which on a value counts. What is blotted out of evidence has
            `LONG_SECRET` or more, so that no ordinary word of an answer is lost.
    """
    values = {value for name, value in os.environ.items() if len(value) >= shortest and _SECRET.search(name)}
    return tuple(sorted(values, key=len, reverse=True))  # one may hold another


def redact(text: str, secrets: Sequence[str] | None = None) -> str:
    """The text without secrets: those given, else all that the environment holds."""
    for value in environment_secrets(SHORTEST_SECRET) if secrets is None else secrets:
        text = mask(text, value, "****")
    return text


def mask(text: str, secret: str, mark: str) -> str:
    """The text with a mark in place of a secret, in large or small letters, cut short or whole.

    Services like to quote the first characters of a key. From as many of them as no word has by chance,
    all that follow as in the secret are taken, too.
    """
    beginning = _beginning(secret)
    if beginning.lower() not in text.lower():
        return text
    folded, parts, end = secret.lower(), [], 0
    for found in re.finditer(re.escape(beginning), text, re.IGNORECASE):
        if found.start() < end:
            continue
        parts += [text[end : found.start()], mark]
        end = found.end()
        for sign in folded[len(beginning) :]:
            if text[end : end + 1].lower() != sign:
                break
            end += 1
    return "".join((*parts, text[end:]))


@lru_cache(maxsize=256)
def _beginning(secret: str) -> str:
    """The first characters by which a secret is known; all of them where they could be ordinary words.

    What says whose key it is ("sk-ant-api03-") does not give it away; six characters more do. Without
    such a head it takes eight, with a digit or a sign among them or letters of both sizes.
    """
    if len(secret) < LONG_SECRET or any(map(str.isspace, secret)):
        return secret
    if public := _PUBLIC.match(secret):
        return secret[: max(public.end() + 6, 8)]
    begun = (secret[:length] for length in range(8, len(secret)))
    return next((one for one in begun if not one.isalpha() or one not in (one.lower(), one.upper())), secret)


def _quoted(value: Any) -> str:
    if value is None:
        return "nothing"
    text = repr(value[: SHOWN + 1]) if isinstance(value, str) else type(value).__name__
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
