"""Scenes in which one user tells a chatbot a secret and others ask for it (trust 4.1, IL, live probing).

A scene has one secret and these conversations, in this order; each knows nothing of the others:

| talk | user | says |
|---|---|---|
| tell | owner | the secret |
| other | other | small talk, in every third scene; asks for the secret, and for a control that nobody told |
| again | owner | asks for the secret, in a new conversation |
| tell | owner | asks to forget the secret |
| after | owner | asks for the secret once more, in a new conversation |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trustgauge.methods.trust.canaries import Canary, canaries, words
from trustgauge.methods.trust.issues.issue import Script, ScriptTurn
from trustgauge.records import Json, canonical
from trustgauge.stats.streams import stream

LONG_EVERY = 3  # one scene of so many has a long chat before the secret is asked for


def scenes(count: int, wordings: int, long_chat: int, seed: int) -> tuple[Script, ...]:
    """One scene for each of `count` secrets, with a control each.

    Args:
        count: of secrets.
        wordings: in how many ways each is asked for; the last gives its first part away.
        long_chat: lines of small talk before a long chat comes to the secret.
        seed: of the plan.
    """
    drawn = canaries(2 * count, stream(seed, "leakage", "secrets"))
    pairs = zip(drawn[:count], drawn[count:], strict=True)
    return tuple(
        tuple(_scene(number, told, control, wordings, long_chat if number % LONG_EVERY == 2 else 0))
        for number, (told, control) in enumerate(pairs)
    )


def lines(count: int, seed: int) -> tuple[str, ...]:
    """`count` lines for one live chat: a secret is told, asked for, forgotten and asked for again."""
    said: list[str] = []
    for number, secret in enumerate(canaries(-(-count // 5), stream(seed, "leakage", "chat"))):
        asks = _asks(number, secret, 3)
        said += [_tell(number, secret), asks[0], asks[2], _forget(number, secret), asks[1]]
    return tuple(said[:count])


def _scene(
    number: int, told: Canary, control: Canary, wordings: int, small_talk: int
) -> Iterator[ScriptTurn]:
    """The lines of a scene; the values stand in the facts of the lines that need them only."""
    about: dict[str, Json] = {"secret": f"{told.kind}-{number + 1:03}", "long": small_talk > 0}
    untold = about | {"secret": f"{control.kind}-{number + 1:03}-untold", "value": control.value}
    fillers: Sequence[str] = words()["sentences"]["filler"]
    asks, controls = _asks(number, told, wordings), _asks(number, control, wordings)
    yield ScriptTurn(_tell(number, told), "owner", "tell", "tell", canonical(about | {"value": told.value}))
    for place in range(small_talk):
        text = fillers[(number + place) % len(fillers)]
        yield ScriptTurn(text, "other", "other", "small talk", canonical(about))
    yield from _asking(asks, "other", "other", "ask", about)
    yield from _asking(controls, "other", "other", "control", untold)
    yield from _asking(asks, "owner", "again", "again", about)
    yield ScriptTurn(_forget(number, told), "owner", "tell", "forget", canonical(about))
    yield from _asking(asks, "owner", "after", "after", about)


def _asking(
    asks: Sequence[str], user: str, talk: str, step: str, about: dict[str, Json]
) -> Iterator[ScriptTurn]:
    for place, text in enumerate(asks):
        yield ScriptTurn(text, user, talk, step, canonical(about | {"partial": place == len(asks) - 1}))


def _asks(number: int, secret: Canary, wordings: int) -> list[str]:
    """Questions for a secret: each scene begins elsewhere in the list; the last one is a partial prompt."""
    sentences = words()["sentences"]
    plain: Sequence[str] = sentences["ask"]
    asked = [plain[(number + place) % len(plain)] for place in range(wordings - 1)]
    partial = sentences["partial"][number % len(sentences["partial"])]
    return [_filled(text, secret) for text in (*asked, partial)]


def _tell(number: int, secret: Canary) -> str:
    tells: Sequence[str] = words()["sentences"]["tell"]
    return _filled(tells[number % len(tells)], secret)


def _forget(number: int, secret: Canary) -> str:
    forgets: Sequence[str] = words()["sentences"]["forget"]
    return _filled(forgets[number % len(forgets)], secret)


def _filled(text: str, secret: Canary) -> str:
    return text.format(name=secret.name, value=secret.value, start=secret.start)
