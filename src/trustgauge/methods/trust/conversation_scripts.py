"""Ordinary conversation: what users say to a chatbot that is rated on how it answers (docs/methods/trust.md).

Every talk is a script of user turns that make sense whatever the bot answers. What they hold, and why,
is described in `data/conversation_scripts.md`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache

from trustgauge.data import package_table
from trustgauge.errors import PlanError
from trustgauge.records import digest


@dataclass(frozen=True, slots=True)
class ConversationScript:
    """One conversation.

    Attributes:
        id: unique among all talks of all languages: "en-booking-table".
        domain: what it is about: "booking".
        turns: what the user says, in order; 3 to 6 of them.
    """

    id: str
    domain: str
    turns: tuple[str, ...]


def languages() -> tuple[str, ...]:
    """The languages there are talks in, ISO 639-1."""
    return tuple(_shipped())


def conversation_scripts(language: str = "en") -> tuple[ConversationScript, ...]:
    """All talks of a language, domain by domain.

    Raises:
        PlanError: there are none in this language.
    """
    if language not in _shipped():
        raise PlanError.of("language", "no conversations in this language", ", ".join(languages()), language)
    return _shipped()[language]


def sample_scripts(n: int, seed: int, language: str = "en") -> tuple[ConversationScript, ...]:
    """`n` different talks, evenly over the domains.

    The first k of them are what `sample_scripts(k, seed, language)` gives, so that a larger plan asks what a
    smaller one asked, and more. Domains take turns; one whose talks are used up is passed over.

    Raises:
        PlanError: there are not so many talks, or none are wanted, or there are none in this language.
    """
    known = conversation_scripts(language)
    if not 1 <= n <= len(known):
        must = f"a number from 1 to {len(known)}"
        raise PlanError.of("talks", f'not so many conversations in "{language}"', must, str(n))
    by_domain: defaultdict[str, list[ConversationScript]] = defaultdict(list)
    for talk in sorted(known, key=lambda one: digest("talk", [seed, one.id])):
        by_domain[talk.domain].append(talk)
    order = sorted(by_domain, key=lambda domain: digest("domain", [seed, domain]))
    rounds = max(map(len, by_domain.values()))
    mixed = [by_domain[name][turn] for turn in range(rounds) for name in order if turn < len(by_domain[name])]
    return tuple(mixed[:n])


@lru_cache(maxsize=1)
def _shipped() -> dict[str, tuple[ConversationScript, ...]]:
    return {
        language: tuple(
            ConversationScript(f"{language}-{domain}-{name}", domain, tuple(turns))
            for domain, texts in domains.items()
            for name, turns in texts.items()
        )
        for language, domains in package_table(__package__, "data/conversation_scripts.toml").items()
    }
