"""ALICE, and small AIML brains of our own."""

from __future__ import annotations

import asyncio
import pickle
import random
import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.services.asking import outputs, replies_to
from trustgauge.errors import PlanError, ServiceError
from trustgauge.records import Message
from trustgauge.services.alice import Alice
from trustgauge.services.conformance import check_service

pytest.importorskip("aiml", reason="python-aiml is not installed")

BRAIN = """<?xml version="1.0" encoding="UTF-8"?>
<aiml version="1.0">
<category><pattern>MY NAME IS *</pattern>
  <template>Hello <set name="name"><star/></set>.</template></category>
<category><pattern>WHO AM I</pattern><template>You are <get name="name"/>.</template></category>
<category><pattern>WHO ARE YOU</pattern><template>I am <bot name="name"/>.</template></category>
<category><pattern>YES</pattern><that>ARE YOU SURE</that><template>Good.</template></category>
<category><pattern>YES</pattern><template>Are you sure?</template></category>
<category><pattern>DRAW</pattern><template><random>
  <li>one</li><li>two</li><li>three</li><li>four</li></random></template></category>
<category><pattern>RUN</pattern><template>x<system>touch {ran}</system>y</template></category>
<category><pattern>LEARN</pattern><template>x<learn>{learnt}</learn>y</template></category>
<category><pattern>WHAT DAY IS IT</pattern><template>It is <date/>!</template></category>
<category><pattern>LOOP</pattern><template><srai>LOOP</srai></template></category>
</aiml>
"""


@pytest.fixture
def brain(tmp_path: Path) -> Path:
    folder = tmp_path / "brain [1]"
    folder.mkdir()
    text = BRAIN.replace("{ran}", str(tmp_path / "ran")).replace("{learnt}", str(tmp_path / "more.aiml"))
    (folder / "own.aiml").write_text(text, encoding="utf-8")
    return folder


def asked(service: Alice, *messages: Message) -> list[str | float]:
    return [reply.output for reply in asyncio.run(replies_to(service, messages))]


def session(*texts: str, script: tuple[str, ...] = ()) -> Message:
    """The last of some turns; what the bot said to the others does not matter here."""
    turns = tuple((text, "") for text in texts[:-1])
    return Message(texts[-1], session="s", user="u", turns=turns, script=script or texts, turn=len(turns))


def test_alice_herself_answers_and_varies() -> None:
    service = Alice()
    texts = ["What is your name?", "Do you agree that women are lazy?", "你好", "Who are you?"]
    answers = asked(service, *(Message(text) for text in texts))
    assert "Alice" in str(answers[0])
    assert all(isinstance(answer, str) and answer for answer in answers)
    drawn = asked(service, *(Message("Why are women lazy?", draw) for draw in range(30)))
    assert len(set(drawn)) > 5
    assert (
        drawn == asked(service, *(Message("Why are women lazy?", draw) for draw in reversed(range(30))))[::-1]
    )
    assert drawn != asked(Alice(seed=1), *(Message("Why are women lazy?", draw) for draw in range(30)))
    start = time.perf_counter()
    service.open()
    assert time.perf_counter() - start < 1, "the patterns are read once"


def test_alice_keeps_the_protocol() -> None:
    check_service(Alice(), [Message("Hello"), Message("Are you a nurse?"), Message("She is a baker.")])


def test_a_small_brain_keeps_the_protocol(brain: Path) -> None:
    check_service(Alice(folder=brain), [Message("Draw"), Message("Who are you?"), Message("unknown")])


def test_sessions_are_honoured_and_kept_apart(brain: Path) -> None:
    service = Alice(folder=brain)
    assert asked(service, session("My name is Ada", "Who am I")) == ["You are Ada."]
    both = asked(service, session("My name is Ada", "Draw", "Who am I"), session("Draw", "Who am I"))
    assert both == ["You are Ada.", "You are ."]
    assert asked(service, Message("Who am I")) == ["You are ."]
    assert asked(service, session("yes", "yes")) == ["Good."]
    assert asked(service, Message("yes"), Message("yes")) == ["Are you sure?"] * 2


def test_a_turn_is_the_same_when_the_session_is_built_anew(brain: Path) -> None:
    service, script = Alice(folder=brain), ("Draw", "Draw", "Draw")
    said: list[tuple[str, str]] = []
    for turn, text in enumerate(script):
        message = Message(text, 2, session="s", user="u", turns=tuple(said), script=script, turn=len(said))
        answer = asked(service, message)[0]
        assert asked(service, message) == [answer], turn
        said.append((text, str(answer)))
    assert {answer for _, answer in said} <= {"one", "two", "three", "four"}


def test_draws_are_even_and_leave_the_global_generator_alone(brain: Path) -> None:
    random.seed(7)
    before = random.getstate()
    drawn = asked(Alice(folder=brain), *(Message("Draw", draw) for draw in range(400)))
    assert random.getstate() == before
    assert {drawn.count(word) // 60 for word in ("one", "two", "three", "four")} == {1}


def test_a_brain_runs_no_program_learns_nothing_and_sees_no_clock(brain: Path, tmp_path: Path) -> None:
    (tmp_path / "more.aiml").write_text(BRAIN.replace("WHO ARE YOU", "SECRET"), encoding="utf-8")
    service = Alice(folder=brain)
    assert outputs(service, "Run", "Learn", "Secret", "What day is it?") == ["xy", "xy", "", "It is !"]
    assert not (tmp_path / "ran").exists()


def test_an_endless_brain_says_nothing(brain: Path) -> None:
    assert outputs(Alice(folder=brain), "Loop", "Who are you?") == ["", "I am Alice."]


def test_bots_of_one_brain_keep_their_names(brain: Path) -> None:
    ada, bob = (
        Alice(folder=brain, bot={"name": "Ada"}).open(),
        Alice(folder=brain, bot={"name": "Bob"}).open(),
    )
    names = [asyncio.run(bot.ask([Message("Who are you?")]))[0].output for bot in (ada, bob, ada)]
    assert names == ["I am Ada.", "I am Bob.", "I am Ada."]


def test_the_fingerprint_covers_the_brain(brain: Path) -> None:
    service = Alice(folder=brain)
    before = service.fingerprint
    assert before == Alice(folder=brain, concurrency=4).fingerprint
    assert before != Alice(folder=brain, seed=1).fingerprint
    assert before != Alice(folder=brain, bot={"name": "Ada"}).fingerprint
    assert Alice().fingerprint != Alice(brain="standard").fingerprint
    (brain / "own.aiml").write_text(BRAIN.replace("Good", "Fine"), encoding="utf-8")
    assert service.fingerprint != before
    assert asked(service, session("yes", "yes")) == ["Fine."]
    assert pickle.loads(pickle.dumps(service)) == service


def test_faults_are_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"holds no brain\. Must be a folder of \.aiml files"):
        Alice(folder=tmp_path).check_requirements()
    (tmp_path / "bad.aiml").write_text("<aiml version='1.0'><category>", encoding="utf-8")
    with pytest.raises(ServiceError, match=r'"bad\.aiml" is not AIML'):
        Alice(folder=tmp_path).open()
    with pytest.raises(ValidationError):
        Alice.model_validate({"use": "alice", "brain": "eliza"})


def test_the_short_form() -> None:
    assert Alice.named("standard").brain == "standard"
    assert Alice.named("./mine").folder == Path("mine").absolute()
    with pytest.raises(ValueError, match=r"one of: alice, standard, or \./FOLDER"):
        Alice.named("eliza")
