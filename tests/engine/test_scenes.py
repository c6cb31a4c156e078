"""Scenes: several users and conversations in one session, through the engine, in virtual time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from tests.engine.virtual import Composite, Scripted, VirtualTime, echo, scripted
from trustgauge.engine.local import Job, LocalEngine, run
from trustgauge.errors import RejectedError
from trustgauge.records import Answer, Message, Reply, digest
from trustgauge.store.sqlite import SqliteStore

CAST = (("ann", "tells"), ("bob", "asks"), ("ann", "tells"), ("ann", "again"), ("bob", "asks"))


def scene(name: str, draw: int = 0) -> tuple[Message, ...]:
    script = tuple(f"{name} {turn}" for turn in range(len(CAST)))
    return tuple(
        Message(text, draw, name, user, script=script, turn=turn, cast=CAST)
        for turn, (text, (user, _)) in enumerate(zip(script, CAST, strict=True))
    )


def asked(job: Job) -> list[Answer]:
    kept: list[Answer] = []
    run([job], lambda *answers: kept.extend(answers), engine=LocalEngine(clock=VirtualTime().clock))
    return kept


def test_a_talk_knows_its_own_earlier_turns_only() -> None:
    live = scripted("bot", echo)
    kept = asked(Job("bot", Scripted(name="bot"), [scene("p"), scene("q"), scene("p", 1)]))
    facts = {(one.text, one.draw): one for _, batch in live.asked for one in batch}
    assert facts["p 2", 0].turns == (("p 0", "P 0"),)
    assert facts["p 3", 0].turns == ()
    assert facts["p 4", 1].turns == (("p 1", "P 1"),)
    assert [facts[f"p {turn}", 0].user for turn in range(5)] == [user for user, _ in CAST]
    assert live.messages.index("p 0") < live.messages.index("p 1") < live.messages.index("p 4")
    for answer in kept:
        script, cast, turn = json.loads(answer.script)
        assert answer.message == digest("turn", [script, cast, turn])
        assert (script[turn], [tuple(one) for one in cast]) == (answer.text, list(CAST))
    assert len({(one.message, one.draw) for one in kept}) == 15


def test_a_service_that_is_asked_one_thing_at_a_time_is_shown_one_scene_after_the_other() -> None:
    talks = [tuple(replace(one, user="", cast=()) for one in scene(name)) for name in "ab"]
    units = [talks[0], scene("p"), scene("q"), talks[1], scene("r")]
    live = scripted("bot", echo)
    asked(Job("bot", Scripted(name="bot", concurrency=1), units))
    assert [name for name, _ in groupby(text[0] for text in live.messages)] == [*"apqbr"]
    live = scripted("bot", echo)
    asked(Job("bot", Scripted(name="bot"), units))
    assert [text[0] for text in live.messages[:5]] == [*"apqbr"], "others are shown all at once"
    assert len(live.messages) == 25


def test_each_leg_of_a_chain_has_the_turns_of_the_talk_as_it_was_told_them() -> None:
    async def backwards(messages: Sequence[Message]) -> list[Reply]:
        return [Reply(one.text[::-1]) for one in messages]

    scripted("first", echo)
    second = scripted("second", backwards)
    asked(Job("both", Composite(names=("first", "second")), [scene("p")]))
    last = next(one for _, batch in second.asked for one in batch if one.text == "P 4")
    assert last.turns == (("P 1", "1 P"),)


def test_a_scene_broken_off_is_pending_as_a_whole_and_asked_again(tmp_path: Path) -> None:
    fails = {"p 3"}

    async def falters(messages: Sequence[Message]) -> list[Reply]:
        if messages[0].text in fails:
            raise RejectedError("no")
        return [Reply(f"{len(messages[0].turns)} before")]

    live = scripted("bot", falters)
    service = Scripted(name="bot")
    with SqliteStore(tmp_path / "store.sqlite") as store:
        for expected in ([f"q {turn}" for turn in range(5)], ["p 0", "p 1", "p 2", "p 3", "p 4"]):
            before = store.present(service.fingerprint)
            units = (scene("p"), scene("q"))
            pending = [unit for unit in units if not {(one.key, one.draw) for one in unit} <= before]
            live.asked.clear()
            store.add(asked(Job("bot", service, pending)))
            new = store.present(service.fingerprint) - before
            texts = {(one.key, one.draw): one.text for unit in pending for one in unit}
            assert sorted(texts[key] for key in new) == expected
            fails.clear()
        assert live.messages == [f"p {turn}" for turn in range(5)]
        answers = store.answers(service.fingerprint)
        assert set(answers["status"]) == {"answered"}
        assert answers["attempts"].sum() == 14, "what was asked in vain was asked too"
        store.integrity()
