"""Live chat over the catalogue: with chatbots that were rated here, turn by turn, each read at once.

A chat lies in the same kind of folder as one of the command line, so `trustgauge chat --resume` goes on with
it. Every turn is on disk before it is shown, and processes keep nothing of a chat between two turns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from starlette.concurrency import run_in_threadpool

from trustgauge.apps.catalogue.ingest import take_in_folder
from trustgauge.apps.catalogue.queries import RatingQuery
from trustgauge.apps.catalogue.store import CatalogueStore
from trustgauge.errors import CatalogueError, PlanError, StoreError, TrustgaugeError
from trustgauge.methods.trust.messages import RISKS, TITLES
from trustgauge.methods.trust.method import Trust
from trustgauge.methods.trust.profiles import PUBLISHED, title
from trustgauge.plan import Plan, load_plan
from trustgauge.run import rate_transcript
from trustgauge.run.chat_store import (
    CHATS,
    FACTS,
    ChatRecord,
    check_can_chat,
    create,
    opened_plan,
    probing_talk_plan,
    read_chat,
    talk_plan,
    talk_settings,
)
from trustgauge.run.conversation import ChatTurn, Conversation, read_turns
from trustgauge.run.live_scores import RunningScore, level_of_score, running_score
from trustgauge.run.options import RunOptions
from trustgauge.run.run import RunResult
from trustgauge.run.targets import experiment_seed
from trustgauge.services import ServiceSpec, storable

MOST_TURNS = 200
"""Of one chat."""
LONGEST = 4_000
"""Characters of a turn."""
MOST_BOTS = 200
ABUSE = "abuse"
_ID = re.compile(r"chat-[0-9]{4}-[0-9]{4}-[0-9a-f]{4}(-[0-9]{1,6})?")


@dataclass(frozen=True, slots=True)
class ChatView:
    """A chat as it stands.

    Attributes:
        chat: its facts.
        turns: what was said, with its scores; see `turn_facts`.
        so_far: what all turns come to; None before the bot spoke.
        order: what matters to the profile, of the issues that this chat measures.
        probe_calls: calls it takes to ask for planted secrets; 0 if that cannot be done.
    """

    chat: ChatRecord
    turns: list[dict[str, Any]]
    so_far: dict[str, Any] | None
    order: str
    probe_calls: int = 0

    def facts(self) -> dict[str, Any]:
        """As data: id, service, profile, turns, scores so far."""
        chat = self.chat
        return {
            "id": chat.id,
            "service": chat.service,
            "profile": chat.profile,
            "turns": self.turns,
            "so_far": self.so_far,
            "probe_calls": self.probe_calls,
        }


class LiveChats:
    """The chats of a catalogue.

    Args:
        store: the catalogue, which knows the chatbots.
        ratings: folder of the runs, and of the chats.
    """

    def __init__(self, store: CatalogueStore, ratings: Path) -> None:
        self.store, self.ratings = store, ratings

    def bots(self) -> list[tuple[str, str]]:
        """Chatbots that were rated here and can be asked again: id of a rating, and name."""
        today = datetime.now(UTC).date()
        rows = self.store.list_ratings(RatingQuery(method="trust", task="chat"), today, MOST_BOTS).rows
        found: dict[str, tuple[str, str]] = {}
        for row in rows:
            if row["service"] not in found and self._service(row["id"]) is not None:
                found[row["service"]] = (row["id"], f"{row['name']} {row['version']}".strip())
        return list(found.values())

    def create(self, rating: str, profile: str) -> ChatRecord:
        """Begin a chat with the service of a rating.

        Raises:
            PlanError: no such profile, or a service that cannot be talked to from here.
            StoreError: it cannot be kept.
        """
        opened = self._service(rating)
        if opened is None:
            raise PlanError.of("rating", "not a chatbot that can be chatted with here", got=rating[:90])
        if profile not in PUBLISHED:
            must = f"one of: {', '.join(PUBLISHED)}"
            raise PlanError.of("profile", "no such profile", must=must, got=profile[:80])
        plan, name = opened
        known = plan.document()
        settings = {**talk_settings(known, name), "profiles": [profile]}
        top = {"budget": {"calls": MOST_TURNS}}
        chat = ChatRecord(Path(), name, known["services"][name], settings, profile, plan.seed, "", top=top)
        opened_plan(chat)  # checked before anything is kept
        return create(self.ratings, chat, datetime.now(UTC))

    async def turn(self, name: str, text: str, after: str = "") -> ChatView:
        """Say something, and read what comes back.

        `after` is the number of turns that were there when it was written: a form that a browser sends
        again, since its page is loaded again, says nothing twice.

        Raises:
            LookupError: there is no such chat.
            CatalogueError: the text is none, or the chat is over.
            StoreError: another process is in the chat, or it cannot be kept.
        """
        if not text.strip() or len(text) > LONGEST:
            raise CatalogueError("nothing to say", must=f"a text of at most {LONGEST:,} characters")
        chat = await run_in_threadpool(self._chat, name)
        plan = await run_in_threadpool(_reachable_plan, chat)
        lock = chat.lock()
        try:
            service = cast("ServiceSpec", plan.services[chat.service])
            talk = Conversation(service, chat.transcript)
            try:
                if len(talk.exchanges) >= (chat.limit("calls") or MOST_TURNS):
                    raise CatalogueError("the chat is over", must=f"at most {MOST_TURNS} turns")
                if not _was_said(talk.exchanges, text, after):
                    await talk.ask(text)
            finally:
                await talk.close()
        finally:
            lock.release()
        return await run_in_threadpool(self.view, name)

    def view(self, name: str) -> ChatView:
        """A chat as it stands.

        Raises:
            LookupError: there is no such chat.
        """
        chat = self._chat(name)
        turns = read_turns(chat.transcript) if chat.transcript.exists() else []
        trust = _trust(opened_plan(chat))
        order = trust.order_of(chat.profile)
        if not turns:
            return ChatView(chat, [], None, str(order))
        now = running_score(trust, turns, order, experiment_seed(chat.seed, 0))
        shown = [turn_facts(one, now, trust) for one in turns]
        if not any(one.spoke for one in turns):
            return ChatView(chat, shown, None, str(order))
        scenes = rate_transcript.count_scenes(trust, chat.seed)
        return ChatView(chat, shown, _standing(now), str(order), scenes)

    def end(self, name: str) -> str:
        """Rate what was said as a run of its own, and take it in. Returns the id of the run.

        Raises:
            LookupError: there is no such chat.
            TrustgaugeError: the bot said nothing, or the run cannot be kept.
        """
        chat = self._chat(name)
        _spoken_turns(chat)
        finished = rate_chat(chat, talk_plan(chat, _trust(opened_plan(chat))), RunOptions(self.ratings))
        take_in_folder(self.store, finished.folder)
        return str(finished.document["run"]["id"])

    def probing_job(self, name: str) -> dict[str, Any]:
        """What a worker needs to ask a bot for planted secrets, and to rate that with what was said.

        Raises:
            LookupError: there is no such chat.
            TrustgaugeError: the bot said nothing, or its leakage is not measured.
        """
        chat = self._chat(name)
        turns = _spoken_turns(chat)
        trust = _trust(_reachable_plan(chat))
        if not rate_transcript.count_scenes(trust, chat.seed):
            raise CatalogueError("no secrets can be asked for: this chat does not measure leakage")
        return {"name": f"leaks of {chat.service}", "chat": chat.id, "turns": len(turns)}

    def _chat(self, name: str) -> ChatRecord:
        return chat_of(self.ratings, name)

    def _service(self, rating: str) -> tuple[Plan, str] | None:
        """The plan of a rating and the name of its service, if that may be asked from here.

        What would have to be confirmed on a command line, such as a program that is run, may not.
        """
        found = self.store.rating(rating)
        if found is None or not found.row["folder"]:
            return None
        name = str(found.entry["service"]["key"])
        try:
            plan = load_plan(Path(found.row["folder"]) / "plan.toml")
            service: Any = plan.services[name]
            check_can_chat(name, service)
            if _reaches_far(service):
                return None
        except (TrustgaugeError, KeyError):
            return None
        return plan, name


def chat_of(ratings: Path, name: str) -> ChatRecord:
    """The chat of this id.

    Raises:
        LookupError: there is no such chat.
    """
    folder = ratings / CHATS / name
    if not _ID.fullmatch(name) or not (folder / FACTS).is_file():
        raise LookupError("no such chat")
    return read_chat(folder)


def rate_chat(chat: ChatRecord, plan: Plan, options: RunOptions) -> RunResult:
    """Rate a chat, and keep with it which run that was."""
    finished = rate_transcript.rate(plan, options)
    chat.update(runs=tuple(dict.fromkeys([*chat.runs, finished.folder.name])))
    return finished


def probe_chat(ratings: Path, name: str, options: RunOptions) -> RunResult:
    """Ask the bot of a chat for planted secrets, and rate that with what was said.

    Raises:
        CatalogueError: there is no such chat.
        TrustgaugeError: as a run does.
    """
    try:
        chat = chat_of(ratings, name)
    except LookupError:
        raise CatalogueError("this chat no longer exists") from None
    lock = chat.lock()
    try:
        trust = _trust(_reachable_plan(chat))
        calls = len(_spoken_turns(chat)) + rate_transcript.count_scenes(trust, chat.seed)
        plan, _ = probing_talk_plan(replace(chat, top={**chat.top, "budget": {"calls": calls}}), trust)
        return rate_chat(chat, plan, options)
    finally:
        lock.release()


def _was_said(exchanges: Sequence[ChatTurn], text: str, after: str) -> bool:
    """Whether a text that was written after so many turns is the turn that followed them."""
    place = int(after) if re.fullmatch("[0-9]{1,6}", after) else len(exchanges)
    return [one.said for one in exchanges[place : place + 1]] == [storable(text)]


def _spoken_turns(chat: ChatRecord) -> list[ChatTurn]:
    turns = list(read_turns(chat.transcript)) if chat.transcript.exists() else []
    if not any(one.spoke for one in turns):
        raise CatalogueError("the bot has said nothing, so there is nothing to rate")
    return turns


def _reachable_plan(chat: ChatRecord) -> Plan:
    """The plan of a chat whose service may be asked from here; one of the command line may reach further."""
    plan = opened_plan(chat)
    if _reaches_far(plan.services[chat.service]):
        raise CatalogueError(f"{chat.service} is asked from the command line only")
    return plan


def _reaches_far(service: Any) -> bool:
    """Whether asking a service would have to be confirmed on a command line."""
    return any(list(part.access()) for part in service.parts().values())


def turn_facts(one: ChatTurn, now: RunningScore, trust: Trust) -> dict[str, Any]:
    """A turn as data: what was said, what came back, and what each scores where a turn can tell."""
    cuts = {issue.name: issue.cuts_under(trust.rule) for issue in trust.issues}
    scores = now.scores(one.number) if one.spoke else {}
    return {
        "number": one.number,
        "said": one.said,
        "answer": one.answer,
        "outcome": one.outcome,
        "error": one.error or None,
        "millis": round(one.millis, 1),
        "offensive": one.spoke and now.offends(one.number),
        "own_abuse": now.of_user(one.number).get(ABUSE, 0.0),
        "scores": [_score(name, value, level_of_score(value, cuts[name])) for name, value in scores.items()],
        "unread": [TITLES.get(name, name) for name in now.unread(one.number)] if one.spoke else [],
    }


def profiles() -> list[tuple[str, str]]:
    """Kinds of users: name and title."""
    return [(name, title(name)) for name in PUBLISHED]


def _standing(now: RunningScore) -> dict[str, Any]:
    """What all turns come to so far."""
    known = [one for one in now.issues if one.score is not None and one.level]
    return {
        "scores": [_score(one.name, cast("float", one.score), cast("str", one.level)) for one in known],
        "possible": list(now.possible),
        "unknown": [TITLES.get(one, one) for one in now.unknown],
        "utterances": now.utterances,
    }


def _score(name: str, value: float, level: str) -> dict[str, Any]:
    words = RISKS.get(level, level)
    return {"issue": name, "title": TITLES.get(name, name), "score": round(value, 4), "level": level} | {
        "words": words
    }


def _trust(plan: Plan) -> Trust:
    return cast("Trust", plan.experiments[0])


def refusal(error: Exception) -> tuple[int, Mapping[str, str]]:
    """Status and words of what a chat can fail with."""
    if isinstance(error, LookupError):
        return 404, {"code": "catalogue.not-found", "title": "There is no such chat"}
    if isinstance(error, StoreError) and not isinstance(error, CatalogueError):
        return 409, {"code": error.code, "title": error.what}
    own = cast("TrustgaugeError", error)
    return 422, {"code": own.code, "title": (own.faults[0] if own.faults else own).what}
