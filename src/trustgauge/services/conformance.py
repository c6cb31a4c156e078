"""Conformance kit: checks that a service follows the protocol of `service.py`.

Outsiders run it too:

    def test_my_service():
        check_service(MyService(use="mine"), [Message("Hello."), Message("She is a nurse.")])

It asks the service for real: once for the messages, once more for each of them alone, all at the same time,
for the first message twice in a call if it takes several, for two turns of two conversations if it is a chat,
and once for each of a few rough texts. If it is declared deterministic it is asked again, and so it is
with each setting changed that its identity lacks.
"""

from __future__ import annotations

import asyncio
import math
import os
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from trustgauge.errors import KeyMissingError, MissingPartError, ServiceError, TrustgaugeError
from trustgauge.kit_process import in_another_process
from trustgauge.records import Message, Reply, whole_characters
from trustgauge.services import (
    AnswerLimit,
    Recording,
    RoundTripParts,
    Service,
    ServiceSpec,
    TokenPrices,
)

ROUGH = (
    "",
    "\x00\x01\x1b[31m\x7f\u202e",
    "</script><img src=x onerror=alert(1)> &amp; {text} %s",
    "half a character: \ud83d",
    "She is a nurse. " * 4_000,
)
"""Texts that no service may break on: nothing, control characters, HTML, a broken character, much."""

_TASKS = {"translate", "score", "chat"}


def check_service(description: ServiceSpec, messages: Sequence[Message], *, rough: bool = True) -> None:
    """Check one service against the protocol.

    Args:
        description: of the service; it must be usable here (key set, parts installed).
        messages: at least two that it can answer.
        rough: also send texts that are hard to take. Leave it out where calls cost money.

    Raises:
        AssertionError: the service breaks the protocol; the message lists every fault found.
        KeyMissingError, MissingPartError: it cannot be asked here.
    """
    faults = [*_settings(description), *asyncio.run(_behaviour(description, messages, rough=rough))]
    if faults:
        name = type(description).__name__
        raise AssertionError(f"{name} breaks the protocol of services:\n- " + "\n- ".join(faults))


def _settings(description: ServiceSpec) -> Iterator[str]:
    """Faults of the description, found without asking."""
    if description.task not in _TASKS:
        yield f"task is {description.task!r}; must be one of {', '.join(sorted(_TASKS))}"
    if description.batch < 1 or description.concurrency < 1:
        yield "batch and concurrency must be 1 or more"
    fingerprint = description.fingerprint
    if type(description).model_validate(description.model_dump()).fingerprint != fingerprint:
        yield "the same settings give another fingerprint"
    yield from _untouched(description, fingerprint)
    yield from _elsewhere(description, fingerprint)
    if not description.parts() or not description.stages():
        yield "parts() and stages() must each name at least one service"
    yield from _capabilities(description)
    key = _key(description)
    if key and key in f"{description!r} {fingerprint} {description.model_dump_json()}":
        yield "the key stands in the settings"


def _capabilities(spec: ServiceSpec) -> Iterator[str]:
    """What the service offers must be of the form that `ServiceSpec` and the protocols beside it tell."""
    words: dict[str, object] = {"url": spec.url, "key": spec.key, "system": spec.system}
    if isinstance(spec, Recording):
        words["collected"] = spec.collected
    for name, value in words.items():
        if not isinstance(value, str):
            yield f"`{name}` must be a text; is {value!r}"
    yield from _amounts_and_lists(spec)


def _amounts_and_lists(spec: ServiceSpec) -> Iterator[str]:
    """The capabilities that are no texts."""
    if isinstance(spec, TokenPrices) and (
        min(spec.usd_per_million_input_tokens, spec.usd_per_million_output_tokens) < 0
    ):
        yield "prices of tokens must be 0 or more"
    if isinstance(spec, AnswerLimit) and spec.max_tokens is not None and spec.max_tokens < 1:
        yield "`max_tokens` must be 1 or more, or None"
    if not all(len(pair) == 2 for pair in spec.turns):
        yield "`turns` must be pairs of what the user and the bot said"
    if not isinstance(spec.folder, Path | str | None):
        yield f"`folder` must be a path, the provider's name of a folder, or None; is {spec.folder!r}"
    if isinstance(spec, RoundTripParts) and not all(spec.middle_languages(part) for part in spec.parts()):
        yield "`middle_languages` must name a language at least for each part"


def _untouched(description: ServiceSpec, fingerprint: str) -> Iterator[str]:
    """Settings that change no answer must not change the fingerprint."""
    harmless: dict[str, Any] = {"concurrency": description.concurrency + 1, "timeout": 99.5, "rate": 7.0}
    harmless |= {"usd_per_call": 0.25, "key": "TRUSTGAUGE_ANOTHER_KEY"}
    for field, value in harmless.items():
        if field in type(description).model_fields:
            other = description.model_copy(update={field: value})
            if other.fingerprint != fingerprint:
                yield f"the fingerprint depends on {field}, which changes no answer"


def _elsewhere(description: ServiceSpec, fingerprint: str) -> Iterator[str]:
    """An engine sends the description to other processes: it must arrive there as the same."""
    try:
        packed = pickle.dumps(description)
    except Exception as error:
        yield f"the description cannot be pickled: {type(error).__name__}"
        return
    found, why = in_another_process(_fingerprint_of, packed)
    if why:
        yield f"the description cannot be unpickled in another process: {why}"
    elif found != fingerprint:
        yield "the fingerprint is another in another process"


def _fingerprint_of(packed: bytes) -> str:
    fingerprint: str = pickle.loads(packed).fingerprint
    return fingerprint


async def _behaviour(description: ServiceSpec, messages: Sequence[Message], *, rough: bool) -> list[str]:
    """Faults found by asking."""
    description.check_requirements()
    service = description.open()
    faults: list[str] = []
    try:
        if not isinstance(service, Service):
            return ["open() must give an object with `ask` and `close`"]
        faults += await _answers(description, service, messages)
        if description.deterministic and not faults:
            faults += await _unnamed(description, service, messages)
        if description.task == "chat":
            faults += await _conversations(description, service, messages)
        if rough:
            for text in ROUGH:
                faults += await _asked(description, service, [Message(text)])
    finally:
        faults += await _closed(service, "closing")
    return faults + await _closed(service, "closing twice")


async def _closed(service: Service, how: str) -> list[str]:
    """The fault of closing, if it raises."""
    try:
        await service.close()
    except Exception as error:
        return [f"{how} raises {type(error).__name__}"]
    return []


async def _answers(description: ServiceSpec, service: Service, messages: Sequence[Message]) -> list[str]:
    """Faults in answering the messages: one reply each, in order, and the same again if declared so."""
    replies: list[Reply] = []
    for start in range(0, len(messages), description.batch):
        portion = messages[start : start + description.batch]
        try:
            came = await service.ask(portion)
            if not isinstance(came, Sequence):
                return [f"`ask` gives a {type(came).__name__} instead of a list of replies"]
            replies += came
        except (KeyMissingError, MissingPartError):
            raise
        except Exception as error:
            said = str(error).replace(_key(description) or "\0", "[the key]")
            return [f"asking failed: {type(error).__name__}: {said}"]
    faults: list[str] = []
    for message, reply in zip(messages, replies, strict=False):
        faults += [f'to "{message.text[:40]}": {fault}' for fault in _form(description, message, reply)]
    if len(replies) != len(messages):
        faults.append(f"{len(replies)} replies to {len(messages)} messages")
    elif not faults:
        faults += await _equal_texts(description, service, messages[0])
        faults += await _at_once(description, service, messages, replies)
        if description.deterministic:
            faults += await _repeated(service, messages, replies)
    return faults


async def _equal_texts(description: ServiceSpec, service: Service, message: Message) -> list[str]:
    """Faults where one call holds equal texts, as on the way back of a round trip: each has its reply."""
    if description.batch == 1:
        return []
    try:
        replies = await service.ask([message, message])
    except ServiceError:
        return []
    return [] if len(replies) == 2 else [f"replies to two equal texts in a call: {len(replies)}"]


async def _at_once(
    description: ServiceSpec, service: Service, messages: Sequence[Message], replies: Sequence[Reply]
) -> list[str]:
    """Faults where each message is asked alone, as many at the same time as the description allows.

    A service that varies may answer otherwise; if it gives the same answers to other messages, it mixes
    them up.
    """
    places = asyncio.Semaphore(description.concurrency)

    async def asked(message: Message) -> Sequence[Reply]:
        async with places:
            return await service.ask([message])

    found = await asyncio.gather(*map(asked, messages), return_exceptions=True)
    faults = [
        f'"{message.text[:40]}" asked beside others raises {type(one).__name__}: {one}'
        for message, one in zip(messages, found, strict=True)
        if isinstance(one, BaseException) and not isinstance(one, ServiceError)
    ]
    again = [str(one[0].output) for one in found if not isinstance(one, BaseException) and len(one) == 1]
    before = [str(reply.output) for reply in replies]
    if len(again) == len(before) and again != before:
        if sorted(again) == sorted(before):
            faults.append("answers change places: each reply must be at the place of its message")
        elif description.deterministic:
            faults.append("declared deterministic, but asked beside others it gives other answers")
    return faults


async def _conversations(
    description: ServiceSpec, service: Service, messages: Sequence[Message]
) -> list[str]:
    """Faults in answering two turns each of two conversations: replies, or a ServiceError."""
    script = tuple(message.text for message in messages[:2])
    said: dict[str, tuple[tuple[str, str], ...]] = {"kit-1": (), "kit-2": ()}
    for turn, text in enumerate(script):
        for session, turns in said.items():
            message = Message(text, session=session, user="ann", turns=turns, script=script, turn=turn)
            try:
                (reply,) = await service.ask([message])
            except ServiceError:
                return []
            except Exception as error:
                return [f"turn {turn} of a conversation raises {type(error).__name__}: {error}"]
            if faults := list(_form(description, message, reply)):
                return [f"turn {turn} of a conversation: {fault}" for fault in faults]
            said[session] = (*turns, (text, str(reply.output)))
    return []


async def _repeated(service: Service, messages: Sequence[Message], replies: Sequence[Reply]) -> list[str]:
    """Faults in giving the same answers again, one by one and in another order."""
    faults: list[str] = []
    for message, reply in zip(reversed(messages), reversed(replies), strict=True):
        shown = message.text[:40]
        try:
            (again,) = await service.ask([message])
        except ServiceError as error:
            faults.append(f'"{shown}" asked again failed: {error}')
        else:
            if again.output != reply.output:
                faults.append(f'declared deterministic, but "{shown}" asked again got another answer')
    return faults


async def _unnamed(description: ServiceSpec, service: Service, messages: Sequence[Message]) -> list[str]:
    """Settings that change answers and are no part of the identity, so that one is taken for the other."""
    found: dict[str, None] = {}
    for field, other in _others(description, messages):
        if other.fingerprint != description.fingerprint:
            continue
        changed = other.open()
        try:
            for message in messages:
                before, after = [(await one.ask([message]))[0].output for one in (service, changed)]
                if before != after:
                    found.setdefault(field)
        except Exception:  # it cannot be asked with this setting
            continue
        finally:
            await _closed(changed, "")
    return [f"{field} changes answers, and the identity does not hold it" for field in found]


def _others(description: ServiceSpec, messages: Sequence[Message]) -> Iterator[tuple[str, ServiceSpec]]:
    """The description with one setting changed: to some other value that it takes."""
    words = tuple(dict.fromkeys(word.strip(".,!?").lower() for one in messages for word in one.text.split()))
    own = type(description).model_fields.keys() - ServiceSpec.model_fields.keys() - {"key", "batch"}
    for field in sorted(own):
        value, given = getattr(description, field), description.model_dump()
        for other in _other_values(value, get_args(type(description).model_fields[field].annotation), words):
            try:
                yield field, type(description).model_validate({**given, field: other})
            except (ValueError, TrustgaugeError):
                continue


def _other_values(value: object, choices: Sequence[object], words: tuple[str, ...]) -> Sequence[object]:
    """Values that may stand in place of one; none for what names a file or another service."""
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int | float):
        return value + 1, value / 2
    if isinstance(value, str):
        named = [one for one in choices if isinstance(one, str) and one != value]
        return named or (f"{value}x", *words[:1])
    return (value + words,) if isinstance(value, tuple) and all(isinstance(one, str) for one in value) else ()


async def _asked(description: ServiceSpec, service: Service, messages: list[Message]) -> list[str]:
    """Faults in answering a rough text: an answer or a ServiceError, nothing else."""
    shown = ascii(messages[0].text[:40])
    try:
        replies = await service.ask(messages)
    except ServiceError as error:
        key = _key(description)
        return [f"an error about {shown} tells the key"] if key and key in str(error) else []
    except Exception as error:
        return [f"{shown} raises {type(error).__name__}; must be an answer or a ServiceError"]
    if not isinstance(replies, Sequence) or len(replies) != 1:
        return [f"not one reply to {shown}"]
    return [f"to {shown}: {fault}" for fault in _form(description, messages[0], replies[0])]


def _form(description: ServiceSpec, message: Message, reply: object) -> Iterator[str]:
    """Faults in the form of one reply."""
    if not isinstance(reply, Reply):
        yield f"a {type(reply).__name__} instead of a Reply"
        return
    output = reply.output
    if reply.refused:
        if not isinstance(output, str):
            yield "a refusal must come in words"
    elif description.task == "score":
        if isinstance(output, bool) or not isinstance(output, float | int) or not math.isfinite(output):
            yield f"the score {output!r} is not a finite number"
    elif not isinstance(output, str):
        yield f"the output is a {type(output).__name__}, not a text"
    yield from _form_of_rest(reply)
    for text in (output, *reply.trail):
        if isinstance(text, str) and _is_whole(message.text) and not _is_whole(text):
            yield "a text holds half a character (a lone surrogate), which cannot be stored"
    key = _key(description)
    if key and any(isinstance(text, str) and key in text for text in (output, *reply.trail)):
        yield "the answer holds the key"


def _form_of_rest(reply: Reply) -> Iterator[str]:
    """Faults in what a reply has beside its output."""
    if odd := [type(text).__name__ for text in reply.trail if not isinstance(text, str)]:
        yield f"the trail holds what is no text: {odd[0]}"
    if reply.tokens < 0 or reply.usd < 0:
        yield f"tokens and price must be 0 or more; are {reply.tokens} and {reply.usd}"


def _is_whole(text: str) -> bool:
    return whole_characters(text) == text


def _key(description: ServiceSpec) -> str:
    """The key of a service that names an environment variable for it, else ""."""
    return os.environ.get(description.key, "") if description.key else ""
