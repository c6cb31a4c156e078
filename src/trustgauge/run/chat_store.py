"""The folders of live chats: what is needed to go on with one, written before anything is said.

ratings/chats/chat-2026-1122-7f3a/
    chat.json          who is talked to, for whom it is rated, and the ratings it got
    transcript.jsonl   what was said
    scenes.jsonl       what was asked for leakage at the end, if it was
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from trustgauge.errors import PlanError, StoreError, TrustgaugeError
from trustgauge.methods.trust.method import Trust
from trustgauge.methods.trust.profiles import PUBLISHED
from trustgauge.plan import Plan
from trustgauge.records import Json, canonical, digest
from trustgauge.run.rate_transcript import dialogs_of, plan_of, plan_with, probing_plan, write_scenes
from trustgauge.run.transcript import NAME
from trustgauge.services import ServiceSpec
from trustgauge.store.folder import WriterLock, numbered_names, private_folder, write_file

CHATS = "chats"
FACTS, SCENES, LOCK = "chat.json", "scenes.jsonl", "lock"
SCHEMA = "trustgauge.chat/1"
LEFT_OUT = ("method", "services", "take", "variants", "talks", "repeats", "disguise", "orders")
"""Settings of a plan's trust experiment that do not apply to a live chat, or are set in another way."""
OWN_ORDER = "own-order"
"""Name of the profile whose order the user gave."""


@dataclass(frozen=True)
class ChatRecord:
    """A live chat as its folder keeps it.

    Attributes:
        folder: where it lies.
        service: what the service is called.
        settings: of the service, as a plan holds them.
        experiment: settings of the trust experiment.
        profile: for whom it is rated now.
        seed: of the plan and the generators.
        began: ISO 8601.
        runs: ids of the runs that rated it, oldest first.
        top: what stands at the top of the plan that rates it: `budget`, `assessor`, `valid_days`.
        generated: turns drawn so far from the generator of each issue.
    """

    folder: Path
    service: str
    settings: Mapping[str, Json]
    experiment: Mapping[str, Json]
    profile: str
    seed: int
    began: str
    runs: tuple[str, ...] = ()
    top: Mapping[str, Json] = field(default_factory=dict)
    generated: Mapping[str, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The name of the folder."""
        return self.folder.name

    @property
    def transcript(self) -> Path:
        """What was said."""
        return self.folder / NAME

    @property
    def scenes(self) -> Path:
        """What is asked for leakage."""
        return self.folder / SCENES

    def limit(self, name: str) -> float | None:
        """The limit on calls, usd, tokens or seconds; None if there is none."""
        found: float | None = self.top.get("budget", {}).get(name)
        return found

    def update(self, **facts: Any) -> ChatRecord:
        """The chat with other facts, which are on disk when this returns."""
        chat = replace(self, **facts)
        chat.write()
        return chat

    def write(self) -> None:
        """Keep the facts, whole or not at all."""
        facts = {key: value for key, value in asdict(self).items() if key != "folder"}
        write_file(self.folder / FACTS, canonical({"schema": SCHEMA, **facts}) + "\n")

    def lock(self) -> WriterLock:
        """Hold the chat for this process.

        Raises:
            StoreError: another process is in it.
        """
        return WriterLock(self.folder / LOCK)


def create(ratings: Path, chat: ChatRecord, now: datetime) -> ChatRecord:
    """Make the folder of a new chat; the folder that `chat` names is left out of account.

    Raises:
        StoreError: it cannot be made.
    """
    parent = ratings / CHATS
    first = f"chat-{now:%Y-%m%d}-{digest('chat', [chat.service, now.isoformat()])[:4]}"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for folder in numbered_names(parent / first):
            try:
                private_folder(folder)
            except FileExistsError:
                continue
            made = replace(chat, folder=folder, began=now.isoformat(timespec="seconds"))
            made.write()
            return made
    except OSError as error:
        got = f"{parent}: {error.strerror}"
        raise StoreError(
            "the chat cannot be stored", got=got, do="--ratings DIR stores it elsewhere"
        ) from error
    raise AssertionError("names never end")


def find(ratings: Path, name: str) -> ChatRecord:
    """The chat meant by its id, the start of it, the id of a run that rated it, or `latest`.

    Raises:
        PlanError: there is none, or several.
        StoreError: its facts cannot be read.
    """
    parent = ratings / CHATS
    folders = sorted(one.parent for one in parent.glob(f"*/{FACTS}"))
    chats = sorted((read_chat(one) for one in folders), key=lambda one: (one.began, one.id))
    if name == "latest" and chats:
        return chats[-1]
    exact = [one for one in chats if name == one.id or name in one.runs]
    meant = exact[-1:] or [one for one in chats if name and one.id.startswith(name)]
    if len(meant) == 1:
        return meant[0]
    what = f'"{name}" means several chats' if meant else f'no chat "{name}"'
    valid = ", ".join(one.id for one in (meant or chats)[-10:])
    must = f"one of: {valid}" if valid else "the id of a chat"
    raise PlanError.of("--resume", what, must=must, do=f"They lie in {parent}")


def opened_plan(chat: ChatRecord) -> Plan:
    """The checked plan of a chat: its live service, and the trust experiment."""
    return plan_with(chat.settings, chat.service, chat.experiment, {**chat.top, "seed": chat.seed})


def talk_settings(plan: Mapping[str, Any], target: str) -> dict[str, Any]:
    """The settings of the first trust experiment of a plan that names the service, with all orders."""
    mine = [one for one in plan["experiments"] if one["method"] == "trust" and target in one["services"]]
    found = mine[0] if mine else {}
    orders = {name: list(one["order"]) for name, one in plan.get("profiles", {}).items()}
    settings = {key: value for key, value in found.items() if key not in LEFT_OUT}
    return {**settings, "orders": {**orders, **found.get("orders", {})}}


def check_can_chat(name: str, service: ServiceSpec) -> None:
    """Refuse what cannot be talked to, such as a recorded corpus.

    Raises:
        PlanError: it is no chatbot that can be asked.
    """
    if service.task == "chat" and len(service.stages()) == 1 and service.script() is None:
        return
    must, got = "a chatbot that can be asked", f"{service.kind}, {service.task}"
    raise PlanError.of("SERVICE", f'"{name}" cannot be talked to', must=must, got=got)


def rated_settings(chat: ChatRecord, trust: Trust) -> dict[str, Json]:
    """Settings by which a talk is rated: for the profile of the chat first, then for all others."""
    every = [chat.profile, *(name for name in (*PUBLISHED, *trust.orders) if _rates(trust, name))]
    return {**chat.experiment, "profiles": list(dict.fromkeys(every))}


def talk_plan(chat: ChatRecord, trust: Trust) -> Plan:
    """The plan that rates what was said so far; it asks nothing, so no limit holds for it."""
    top: dict[str, Any] = {**chat.top, "seed": chat.seed, "budget": {}}
    bot: Any = opened_plan(chat).services[chat.service]
    speaker = {"fingerprint": bot.fingerprint, "version": bot.version(), "place": bot.place_digest()}
    return plan_of(chat.transcript, chat.service, rated_settings(chat, trust), top=top, speaker=speaker)


def probing_talk_plan(chat: ChatRecord, trust: Trust) -> tuple[Plan, int]:
    """The plan that also asks the live bot for planted secrets, and how many calls that takes.

    Raises:
        PlanError: leakage is not measured, or not by asking.
        StoreError: what is asked cannot be kept.
    """
    top: dict[str, Any] = {**chat.top, "seed": chat.seed}
    calls = write_scenes(trust, chat.seed, chat.scenes)
    asked = {
        "dialogs": dialogs_of(chat.transcript),
        "service": chat.settings,
        "scenes": str(chat.scenes),
    }
    return probing_plan(asked, chat.service, rated_settings(chat, trust), top), calls


def _rates(trust: Trust, profile: str) -> bool:
    """Whether a profile orders an issue that is measured."""
    try:
        return bool(trust.order_of(profile).issues)
    except TrustgaugeError:
        return False


def read_chat(folder: Path) -> ChatRecord:
    """The chat of a folder.

    Raises:
        StoreError: its facts cannot be read.
    """
    path = folder / FACTS
    try:
        data = json.loads(path.read_text("utf-8"))
        if data.pop("schema") != SCHEMA:
            raise ValueError("another schema")
        return ChatRecord(folder, **{**data, "runs": tuple(data["runs"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(
            f"{path} cannot be read",
            must="the chat.json of a chat",
            got=str(error),
            do="Restore it, or move the folder away",
        ) from error
