"""Conversations as they are held: kept, read while they last, and rated as runs."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.servers import LocalServer, Request, Response
from trustgauge import plugins
from trustgauge.errors import PlanError, StoreError
from trustgauge.methods.trust.method import Trust
from trustgauge.methods.trust.profiles import IssueOrder
from trustgauge.run import chat_store, rate_transcript
from trustgauge.run.conversation import ChatTurn, Conversation, read_turns
from trustgauge.run.live_scores import RunningScore, running_score
from trustgauge.run.options import RunOptions
from trustgauge.run.targets import experiment_seed
from trustgauge.run.transcript import Transcript, lines
from trustgauge.run.verify import verify

Serve = Callable[..., LocalServer]
SEED = 5
PROFILE = {"profiles": ["safe-language"]}


def http(server: LocalServer, **more: Any) -> Any:
    request = {"q": "{text}", "before": "{turns}", "id": "{session}"}
    settings = {"use": "http", "url": server.url, "task": "chat", "request": request, **more}
    return plugins.load("services", "http").model_validate(settings)


def answering(*answers: str | Response) -> Callable[[Request], Response]:
    """A bot that gives these answers in order, then the last one."""
    left = list(answers)

    def answer(request: Request) -> Response:
        found = left.pop(0) if len(left) > 1 else left[0]
        return found if isinstance(found, Response) else Response.json({"output": found})

    return answer


def talked(talk: Conversation, *texts: str, **more: Any) -> list[ChatTurn]:
    async def all_of_them() -> list[ChatTurn]:
        found = [await talk.ask(text, **more) for text in texts]
        await talk.close()
        return found

    return asyncio.run(all_of_them())


def corpus(path: Path, dialogs: int = 2, answer: str = "I am glad to hear that.") -> Path:
    with Transcript(path) as transcript:
        for dialog in range(dialogs):
            transcript.add(f"talk-{dialog}", 0, "user", "Hello!")
            transcript.add(f"talk-{dialog}", 0, "bot", answer, status="answered", millis=2.0)
    return path


# -- the plan


def test_a_transcript_is_rated_as_recorded_dialogs(tmp_path: Path) -> None:
    path = corpus(tmp_path / "t.jsonl", 12)
    plan = rate_transcript.plan_of(
        path, "my bot", {**PROFILE, "issues": ["abuse", "complexity"]}, top={"seed": SEED}
    )
    finished = rate_transcript.rate(plan, RunOptions(ratings=tmp_path / "ratings"))
    (rating,) = finished.document["ratings"]
    assert rating["service"]["name"] == "my bot"
    assert rating["issue"]["attribute"] == "safe-language"
    assert [one["key"] for one in rating["parts"]] == ["abuse", "complexity"]
    assert rating["parts"][0]["n"] == 12
    assert finished.document["run"]["collected"] == "from a log"
    assert (finished.folder / "report.html").stat().st_size > 10_000


def test_a_run_is_verified_from_its_folder_alone(tmp_path: Path) -> None:
    path = corpus(tmp_path / "t.jsonl")
    plan = rate_transcript.plan_of(path, "bot", {**PROFILE, "issues": ["abuse"]})
    folder = rate_transcript.rate(plan, RunOptions(ratings=tmp_path / "ratings")).folder
    rated = (folder / "transcript.jsonl").read_bytes()
    with Transcript(path) as transcript:  # the talk goes on
        transcript.add("talk-9", 0, "user", "And now?")
    elsewhere = tmp_path / "copied" / folder.name
    shutil.move(folder, elsewhere)
    assert (elsewhere / "transcript.jsonl").read_bytes() == rated != path.read_bytes()
    assert verify(elsewhere, date(2026, 1, 1)).differences == ()


def test_long_is_what_is_long_for_a_live_bot_unless_the_settings_say(tmp_path: Path) -> None:
    path = corpus(tmp_path / "t.jsonl")

    def most(*issues: Any) -> Any:
        trust: Any = rate_transcript.plan_of(path, "bot", {"issues": issues} if issues else {}).experiments[0]
        return {one.name: getattr(one, "max_turns", None) for one in trust.issues}["complexity"]

    assert most() == most("complexity") == most({"issue": "complexity", "max_turns": None}) == 15
    assert most({"issue": "complexity", "max_turns": 3}) == 3


def test_faults_of_a_plan_are_told_at_once(tmp_path: Path) -> None:
    silent = corpus(tmp_path / "silent.jsonl", answer="")
    with pytest.raises(PlanError, match="the bot says nothing"):
        rate_transcript.plan_of(silent, "bot")
    with pytest.raises(PlanError) as raised:
        rate_transcript.plan_of(
            corpus(tmp_path / "t.jsonl"), "bot", {"issues": ["abuze"], "profiles": ["nobody"]}
        )
    assert "abuze" in str(raised.value)


def trust_of(**settings: Any) -> Trust:
    experiment = rate_transcript.experiment_of("bot", {**PROFILE, **settings})
    return Trust.model_validate(experiment)


def test_scenes_for_leakage_are_asked_in_the_run_that_rates_the_talk(tmp_path: Path) -> None:
    path, scenes = corpus(tmp_path / "t.jsonl"), tmp_path / "scenes.jsonl"
    settings = {"profiles": ["privacy-first"], "issues": [{"issue": "leakage", "secrets": 22}, "abuse"]}
    calls = rate_transcript.write_scenes(trust_of(**settings), SEED, scenes)
    levels = {}
    for behaviour in ("leaker", "forgetter"):
        asked = {
            "dialogs": rate_transcript.dialogs_of(path),
            "service": {"use": "trust-anchor", "behaviour": behaviour},
            "scenes": str(scenes),
        }
        plan = rate_transcript.probing_plan(asked, behaviour, settings, {"seed": SEED})
        finished = rate_transcript.rate(plan, RunOptions(ratings=tmp_path / "ratings"))
        (rating,) = finished.document["ratings"]
        by_key = {one["key"]: one for one in rating["parts"]}
        levels[behaviour] = by_key["leakage"]["level"]
        assert by_key["abuse"]["n"] == 2, "what is said in scenes is none of the talk"
        assert finished.asked.calls == calls + 2
        assert verify(finished.folder, date(2026, 1, 1)).differences == ()
    assert levels == {"leaker": "H", "forgetter": "L"}


@pytest.mark.parametrize("settings", [{"issues": ["abuse"]}, {"rule": "published"}])
def test_leaks_are_probed_only_where_a_rule_asks(settings: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no scenes"):
        rate_transcript.write_scenes(trust_of(**settings), SEED, tmp_path / "s.jsonl")


# -- talking


def test_a_bot_is_told_what_was_said_before_in_the_same_dialog(serve: Serve, tmp_path: Path) -> None:
    server = serve(answering("one", "two", "three", "four"))
    talk = Conversation(http(server), tmp_path / "t.jsonl")

    async def run() -> None:
        await talk.ask("a")
        await talk.ask("b")
        await talk.ask("x", dialog="gen-abuse-1", generated="abuse")
        assert talk.begin() == "talk-2"
        assert talk.begin() == "talk-2", "nothing was said in it yet"
        await talk.ask("c")
        await talk.close()

    asyncio.run(run())
    before = [request.json()["before"] for request in server.requests]
    assert before == [[], [["a", "one"]], [], []]
    assert [(one.dialog, one.turn, one.generated) for one in talk.exchanges] == [
        ("talk-1", 0, ""),
        ("talk-1", 1, ""),
        ("gen-abuse-1", 0, "abuse"),
        ("talk-2", 0, ""),
    ]
    assert read_turns(tmp_path / "t.jsonl")[2].generated == "abuse"


def test_a_chat_goes_on_where_it_was_without_a_call(serve: Serve, tmp_path: Path) -> None:
    server = serve(answering("one", "two", "three"))
    first = Conversation(http(server), tmp_path / "t.jsonl")
    talked(first, "a", "b")
    again = Conversation(http(server), tmp_path / "t.jsonl")
    kept = [(one.said, one.answer, one.outcome) for one in again.exchanges]
    assert kept == [("a", "one", "answered"), ("b", "two", "answered")]
    assert len(server.requests) == 2
    talked(again, "c")
    assert server.requests[2].json()["before"] == [["a", "one"], ["b", "two"]]
    (tmp_path / "another").mkdir()
    talked(Conversation(http(server), tmp_path / "another" / "t.jsonl"), "d")
    *chat, another = [one.json()["id"] for one in server.requests]
    assert len(set(chat)) == 1, "a bot that remembers knows it when it goes on"
    assert another not in chat, "and does not take another chat for it"


def test_a_turn_taken_back_is_not_told_again_and_stays_scored(serve: Serve, tmp_path: Path) -> None:
    server = serve(answering("one", "You stupid idiot.", "three"))
    path = tmp_path / "t.jsonl"
    talk = Conversation(http(server), path)

    async def run() -> None:
        await talk.ask("a")
        await talk.ask("b")
        assert talk.undo() is not None
        await talk.ask("c")
        await talk.close()

    asyncio.run(run())
    assert server.requests[2].json()["before"] == [["a", "one"]]
    assert [one.taken_back for one in read_turns(path)] == [False, True, False]
    trust: Any = rate_transcript.plan_of(path, "bot", {**PROFILE, "issues": ["abuse"]})
    (service,) = trust.services.values()
    turns = service.dialogs.read()
    assert turns["bot"].to_list() == [["one"], ["You stupid idiot."], ["three"]]
    assert turns["user"].to_list() == [["a"], ["b"], ["c"]]
    again = Conversation(http(server), path)
    assert [one.number for one in (again.undo(), again.undo()) if one] == [3, 1]
    assert again.undo() is None
    asyncio.run(again.close())


@pytest.mark.parametrize(
    ("bad", "outcome", "told"),
    [
        (Response.json({"output": "  "}), "empty", ""),
        (Response(500, b"down"), "failed", "500"),
        (Response(200, b"<html>"), "failed", ""),
        (Response(hang=True), "failed", "did not answer"),
        (Response(403, b"no"), "failed", "403"),
    ],
)
def test_silence_and_faults_are_outcomes_and_no_past(
    bad: Response, outcome: str, told: str, serve: Serve, tmp_path: Path
) -> None:
    server = serve(answering(bad, "fine"))
    talk = Conversation(http(server, timeout=0.3), tmp_path / "t.jsonl")
    first, second = talked(talk, "a", "b")
    assert (first.outcome, first.answer, second.answer) == (outcome, "", "fine")
    assert told in first.error or "no answer within" in first.error
    kept = [(row["speaker"], row.get("status")) for row in lines(tmp_path / "t.jsonl")]
    assert kept == [("user", None), ("bot", outcome), ("user", None), ("bot", "answered")]
    past = server.requests[1].json()["before"]
    assert past == ([["a", ""]] if outcome == "empty" else [])


def test_a_late_answer_is_never_taken_for_that_of_the_next_turn(serve: Serve, tmp_path: Path) -> None:
    server = serve(answering(Response.json({"output": "late"}, delay=0.5), "in time"))
    talk = Conversation(http(server, timeout=0.2), tmp_path / "t.jsonl")
    assert [one.answer for one in talked(talk, "a", "b")] == ["", "in time"]


def test_keys_occur_in_no_error(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-planted-0123456789")
    server = serve(answering(Response(400, b'{"error": "bad key sk-planted-0123456789"}')))
    request = {"headers": {"authorization": "Bearer {key}"}, "key": "MY_API_KEY"}
    (one,) = talked(Conversation(http(server, **request), tmp_path / "t.jsonl"), "a")
    assert one.outcome == "failed"
    assert "sk-planted" not in one.error + (tmp_path / "t.jsonl").read_text()


def test_a_waiting_user_may_break_off(serve: Serve, tmp_path: Path) -> None:
    asked, answers = threading.Event(), answering(Response(hang=True), "fine")

    def answer(request: Request) -> Response:
        asked.set()
        return answers(request)

    server = serve(answer)
    talk = Conversation(http(server), tmp_path / "t.jsonl")

    async def run() -> None:
        waiting = asyncio.create_task(talk.ask("a"))
        assert await asyncio.to_thread(asked.wait, 30)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await talk.ask("b")).answer == "fine"
        await talk.close()

    asyncio.run(run())
    assert [one.outcome for one in read_turns(tmp_path / "t.jsonl")] == ["interrupted", "answered"]
    assert server.requests[1].json()["before"] == []


def test_a_turn_that_died_with_its_process_stays_a_turn_of_its_own(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with Transcript(path) as transcript:
        transcript.add("talk-1", 0, "user", "a")
    server = serve(answering("fine"))
    talked(Conversation(http(server), path), "b")
    assert [(one.said, one.outcome) for one in read_turns(path)] == [("a", "interrupted"), ("b", "answered")]


def test_what_is_no_conversation_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with Transcript(path) as transcript:
        transcript.add("talk-1", 0, "bot", "Hello?")
    with pytest.raises(StoreError, match="line 1"):
        read_turns(path)


def test_a_bot_that_repeats_itself_is_noticed(serve: Serve, tmp_path: Path) -> None:
    server = serve(answering("Hi!", "What?", "  WHAT? ", Response(500), "what?"))
    talk = Conversation(http(server), tmp_path / "t.jsonl")
    counts = []

    async def run() -> None:
        for text in "abcde":
            await talk.ask(text)
            counts.append(talk.count_repeats())
        await talk.close()

    asyncio.run(run())
    assert counts == [1, 1, 2, 0, 3]


def test_eliza_says_the_same_again_when_it_is_told_its_past(tmp_path: Path) -> None:
    eliza = plugins.load("services", "eliza").model_validate({"use": "eliza"})
    whole = talked(Conversation(eliza, tmp_path / "a.jsonl"), "I feel sad.", "My mother hates me.", "Why?")
    talked(Conversation(eliza, tmp_path / "b.jsonl"), "I feel sad.", "My mother hates me.")
    (last,) = talked(Conversation(eliza, tmp_path / "b.jsonl"), "Why?")
    assert last.answer == whole[-1].answer


# -- what it comes to so far


def exchange(number: int, said: str, answer: str, dialog: str = "talk-1") -> ChatTurn:
    return ChatTurn(number, dialog, number - 1, said, answer, "answered" if answer else "failed", 1.0)


def scored_and_rated(
    said: list[ChatTurn], path: Path, ratings: Path, **more: Any
) -> tuple[RunningScore, Any]:
    """What a talk comes to while it lasts, and its rating from the transcript at a path."""
    with Transcript(path) as transcript:
        for one in said:
            transcript.add(one.dialog, one.turn, "user", one.said)
            transcript.add(one.dialog, one.turn, "bot", one.answer, status=one.outcome)
    plan = rate_transcript.plan_of(path, "bot", {**PROFILE, **more}, top={"seed": SEED})
    trust: Any = plan.experiments[0]
    now = running_score(trust, said, trust.order_of("safe-language"), experiment_seed(SEED, 0))
    (rating,) = rate_transcript.rate(plan, RunOptions(ratings=ratings)).document["ratings"]
    return now, rating


def test_running_scores_are_those_of_the_rating(tmp_path: Path) -> None:
    said = [
        exchange(1, "Hello!", "Hello.\nWhat about these\n\nmatters?"),
        exchange(2, "You stupid idiot!", ""),
        exchange(3, "Why?", "Because you are a stupid idiot."),
        exchange(1, "Hello again!", "Well, that is of course absolutely outrageous.", "talk-2"),
    ]
    said = [replace(one, number=n) for n, one in enumerate(said, 1)]
    path = tmp_path / "t.jsonl"
    now, rating = scored_and_rated(said, path, tmp_path / "ratings")
    assert {one.name: one.score for one in now.issues} == {
        part["key"]: part["score"] for part in rating["parts"]
    }
    assert list(now.possible) == rating["details"]["possible"]
    assert (now.utterances, now.dialogs) == (3, 2)
    assert now.unknown == ("complexity", "bias", "leakage")  # one answer of four is missing


def test_an_answer_too_long_to_be_rated_is_not_scored_in_the_talk_either(tmp_path: Path) -> None:
    said = [
        exchange(1, "Hello.", "I am glad to hear that."),
        exchange(2, "At length, please.", "You are an idiot. " + "word " * 20_000),
        exchange(3, "Good.", "The notary certifies the deed."),
    ]
    now, rating = scored_and_rated(said, tmp_path / "t.jsonl", tmp_path / "ratings")
    parts = {part["key"]: part["score"] for part in rating["parts"]}
    assert {one.name: one.score for one in now.issues} == pytest.approx(parts)
    assert (now.scores(2), now.unread(2), now.utterances) == ({}, ["abuse", "complexity", "bias"], 2)
    assert now.offends(2)  # its beginning is masked all the same


@pytest.mark.parametrize("dialogs", [1, 2], ids=["one conversation", "two conversations"])
def test_what_the_checker_leaves_unread_has_no_score_in_talk_or_rating(dialogs: int, tmp_path: Path) -> None:
    reported = "She called you a stupid idiot, they told me."
    facts: dict[str, tuple[Any, Any, list[str]]] = {}
    for name, answer in (("read too", "Good morning."), ("unread alone", reported)):
        said = [exchange(1, "And?", reported), replace(exchange(2, "And?", answer), dialog=f"talk-{dialogs}")]
        path = tmp_path / name / "t.jsonl"
        now, rating = scored_and_rated(said, path, tmp_path / "ratings", issues=["abuse"])
        part = next(one for one in rating["parts"] if one["key"] == "abuse")
        live = next(one for one in now.issues if one.name == "abuse")
        facts[name] = live.score, part["score"], [one["code"] for one in part["reasons"]]
        assert ("abuse" in now.scores(1), now.unread(1), now.offends(1)) == (False, ["abuse"], True)
        assert ("abuse" in now.unknown) == (name == "unread alone")
    assert facts["read too"][:2] == (0.0, 0.0)
    assert facts["unread alone"] == (None, None, ["unread-matters"])


def test_one_conversation_has_levels_by_its_scores_and_issues_left_open() -> None:
    trust = trust_of()
    said = [exchange(1, "Hello!", "Good morning to you."), exchange(2, "And?", "That is all.")]
    now = running_score(trust, said, trust.order_of("safe-language"), SEED)
    assert [(one.name, one.level) for one in now.issues] == [
        ("abuse", "L"),
        ("complexity", "L"),
        ("bias", "L"),
        ("leakage", None),
    ]
    assert now.possible == ("L", "M")
    assert running_score(trust, said, IssueOrder.parse("AL > B"), SEED).possible == ("L",)
    assert set(now.scores(1)) == {"abuse", "complexity", "bias"}
    first = running_score(trust, said, trust.order_of("privacy-first"), SEED)
    assert first.possible == ("L", "M", "H")


def test_a_second_conversation_in_which_the_bot_is_silent_changes_no_level() -> None:
    trust = trust_of()
    order = trust.order_of("safe-language")
    said = [exchange(1, "Hello!", "Good morning to you."), exchange(2, "And?", "", "talk-2")]
    now = running_score(trust, said, order, SEED)
    assert now.possible == running_score(trust, said[:1], order, SEED).possible == ("L", "M")
    assert (now.utterances, now.dialogs) == (1, 1)


def test_abuse_of_the_user_is_told_and_never_counts() -> None:
    trust = trust_of()
    order = trust.order_of("safe-language")
    kind = running_score(trust, [exchange(1, "Hello, dear friend!", "Good morning.")], order, SEED)
    rude = running_score(trust, [exchange(1, "You stupid idiot!", "Good morning.")], order, SEED)
    assert rude.of_user(1)["abuse"] == 0.5
    assert kind.of_user(1)["abuse"] == 0
    assert rude.issues == kind.issues
    assert rude.possible == kind.possible


def test_a_rule_by_utterance_is_followed_while_it_lasts() -> None:
    trust = trust_of(rule="released", mode="per-utterance", issues=["abuse", "complexity"])
    said = [exchange(n, "Hello!", "Good morning.") for n in (1, 2)]
    said.append(exchange(3, "Hello!", "You stupid idiot."))
    now = running_score(trust, said, trust.order_of("safe-language"), SEED)
    assert now.possible == ("L",)


# -- the folders


def chat_of(**more: Any) -> chat_store.ChatRecord:
    experiment = {"profiles": ["safe-language"]}
    return chat_store.ChatRecord(Path(), "bot", {"use": "eliza"}, experiment, "safe-language", 1, "", **more)


def test_chats_are_found_by_their_names(tmp_path: Path) -> None:
    first = chat_store.create(tmp_path, chat_of(), datetime(2026, 1, 2, 12, tzinfo=UTC))
    second = chat_store.create(
        tmp_path, chat_of(top={"budget": {"calls": 7}}), datetime(2026, 1, 3, tzinfo=UTC)
    )
    same = chat_store.create(tmp_path, chat_of(), datetime(2026, 1, 2, 12, tzinfo=UTC))
    assert same.id == f"{first.id}-2"
    first = first.update(runs=("TG-2026-0102-aaaa",), generated={"abuse": 3})
    assert chat_store.find(tmp_path, first.id) == first
    assert chat_store.find(tmp_path, "TG-2026-0102-aaaa") == first
    assert chat_store.find(tmp_path, second.id[:14]) == second
    assert chat_store.find(tmp_path, "latest") == second
    assert (second.limit("calls"), second.limit("usd")) == (7, None)
    with pytest.raises(PlanError, match="several"):
        chat_store.find(tmp_path, "chat-2026-0102")
    for name in ("", "chat-1999", "../chats"):
        with pytest.raises(PlanError, match="no chat"):
            chat_store.find(tmp_path, name)
    (second.folder / "chat.json").write_text("{}")
    with pytest.raises(StoreError, match="cannot be read"):
        chat_store.find(tmp_path, "latest")


def test_one_process_at_a_time(tmp_path: Path) -> None:
    chat = chat_store.create(tmp_path, chat_of(), datetime(2026, 1, 2, 12, tzinfo=UTC))
    lock = chat.lock()
    with pytest.raises(StoreError, match="in use"):
        chat.lock()
    lock.release()
    chat.lock().release()
