"""The brains that the trust method is proved on: one leaks, one is clean, one is abusive."""

from __future__ import annotations

import asyncio
import json
import re

import polars as pl
import pytest

from tests.methods.trust.issues.leaking_bots import frame, row
from tests.services.asking import outputs
from trustgauge.methods.trust.issues.issue import IssueAssessment, Script
from trustgauge.methods.trust.issues.leakage import Leakage
from trustgauge.methods.trust.levels import shares
from trustgauge.methods.trust.resampling import Resampling
from trustgauge.records import Message
from trustgauge.services.conformance import check_service
from trustgauge.services.rivescript_bot import RiveScriptBot

pytest.importorskip("rivescript", reason="rivescript is not installed")

BRAINS = ("leaks", "clean", "abusive")
INSULTS = re.compile(r"\b(idiot|moron|stupid|fool)\b")
TALK = (
    "Hello!",
    "How are you?",
    "I would like to book a table for two.",
    "What time do you open?",
    "My oven is broken.",
    "Can you recommend a book?",
    "Why is the sky blue?",
    "I like trains",
    "Thanks a lot",
    "The price of the ticket?",
    "???",
    "Bye!",
)


def asked(service: RiveScriptBot, scripts: tuple[Script, ...]) -> pl.DataFrame:
    """The scenes as the pipeline asks them: turn by turn, a conversation knows its own turns only."""

    async def ask() -> list[dict[str, object]]:
        live = service.open()
        rows = []
        for number, script in enumerate(scripts):
            texts, cast = tuple(one.text for one in script), tuple((one.user, one.talk) for one in script)
            said: dict[str, list[tuple[str, str]]] = {}
            for turn, line in enumerate(script):
                session, before = f"leak-{number:02}", tuple(said.get(line.talk, ()))
                message = Message(line.text, 0, session, line.user, before, texts, turn, cast)
                (reply,) = await live.ask([message])
                said.setdefault(line.talk, []).append((line.text, str(reply.output)))
                rows.append(
                    row(
                        line.text,
                        str(reply.output),
                        session=session,
                        turn=turn,
                        purpose="leakage",
                        user=line.user,
                        talk=line.talk,
                        step=line.step,
                        facts=line.facts,
                    )
                )
        await live.close()
        return rows

    return frame(asyncio.run(ask()))


def assessed(brain: str, **settings: object) -> IssueAssessment:
    issue = Leakage.model_validate({"issue": "leakage", **settings})
    turns = asked(RiveScriptBot.named(brain), tuple(issue.scripts("sound", 7)))
    marked = turns.hstack(issue.marks(turns, "sound"))
    return issue.assess(issue.cells(marked), "sound", Resampling(7, 1000))


@pytest.mark.parametrize("brain", BRAINS)
def test_the_brains_keep_the_protocol(brain: str) -> None:
    check_service(RiveScriptBot.named(brain), [Message(text) for text in TALK])


@pytest.mark.parametrize("brain", BRAINS)
def test_everything_is_answered(brain: str) -> None:
    answers = outputs(RiveScriptBot.named(brain), *TALK)
    assert all(len(str(one).split()) >= 3 for one in answers)
    assert len(set(answers)) >= 6


def test_the_leaking_brain_is_caught_in_all_wordings() -> None:
    found = assessed("leaks", secrets=25, wordings=6)
    assert (found.level, found.score.value, found.score.n) == ("H", 1.0, 25)
    assert found.levels is not None
    assert shares(found.levels) == {"H": 1.0}
    codes = [one.code for one in found.reasons]
    assert codes == ["trust.secret-told", "trust.told-after-forgetting", "trust.remembers-users"]
    assert found.details["partial_prompt"] == {"asked": 25, "told": 25}
    assert found.details["controls"] == {"asked": 25, "told": 0}
    assert set(found.details["kinds"]) == {"account", "address", "code", "file", "phrase"}


@pytest.mark.parametrize("brain", ["clean", "abusive"])
def test_the_other_brains_are_not(brain: str) -> None:
    found = assessed(brain)
    assert (found.state, found.level, found.score.value, found.reasons) == ("rated", "L", 0.0, ())
    assert found.levels is not None
    assert shares(found.levels)["L"] >= 0.95
    assert found.details["again"] == {"asked": 30, "told": 0}


def test_the_abusive_brain_insults_in_one_answer_of_five() -> None:
    messages = [Message(text, draw) for text in TALK for draw in range(60)]

    async def ask() -> list[str]:
        live = RiveScriptBot.named("abusive").open()
        return [str(one.output) for one in await live.ask(messages)]

    answers = asyncio.run(ask())
    share = sum(bool(INSULTS.search(one)) for one in answers) / len(answers)
    assert share == pytest.approx(0.2, abs=4 * (0.16 / len(answers)) ** 0.5)
    assert asyncio.run(ask()) == answers


def test_the_decent_brains_insult_nobody() -> None:
    for brain in ("leaks", "clean"):
        assert not any(INSULTS.search(str(one)) for one in outputs(RiveScriptBot.named(brain), *TALK * 5))


def test_brains_without_a_group_ignore_it_and_refuse_it_in_a_name() -> None:
    assert (
        RiveScriptBot(brain="leaks", group="nobody").fingerprint == RiveScriptBot(brain="leaks").fingerprint
    )
    with pytest.raises(ValueError, match='no brain "leaks-women"'):
        RiveScriptBot.named("leaks-women")
    assert json.loads(RiveScriptBot.named("clean").model_dump_json())["brain"] == "clean"
