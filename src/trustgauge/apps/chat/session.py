"""A session of live chat: the bot, what was said, for whom it is rated, and what it scores so far."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from trustgauge.apps.chat import lines as words
from trustgauge.methods.trust.method import Trust
from trustgauge.plan import Plan
from trustgauge.reports.terminal import Line
from trustgauge.run.conversation import ChatTurn, Conversation
from trustgauge.run.live_scores import RunningScore, level_of_score, running_score
from trustgauge.run.targets import experiment_seed
from trustgauge.terminal.output import say

if TYPE_CHECKING:
    from trustgauge.run.chat_store import ChatRecord

LOOPING = 5  # equal answers in a row that are worth a word
ABUSE = "abuse"


@dataclass(slots=True)
class DisplayOptions:
    """What the user wants to see."""

    offensive: bool
    quiet: bool


class ChatSession:
    """A live chat in progress. A context manager: leaving it closes the service."""

    def __init__(self, chat: ChatRecord, opened: Plan, options: Mapping[str, Any]) -> None:
        self.chat, self.opened, self.options = chat, opened, dict(options)
        self.view = DisplayOptions(options["show_offensive"], options["quiet"])
        self.trust: Trust = opened.experiments[0]  # type: ignore[assignment]
        self.order = self.trust.order_of(chat.profile)
        self.talk = Conversation(opened.services[chat.service], chat.transcript)  # type: ignore[arg-type]
        self._now: RunningScore | None = None
        self._runner = asyncio.Runner()

    def __enter__(self) -> ChatSession:
        self._runner.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        try:
            self._runner.run(self.talk.close())
        finally:
            self._runner.close()

    def tell(self, lines: Sequence[Line]) -> None:
        """Print lines of the conversation; on standard error if standard output carries JSON."""
        if lines:
            say(list(lines), self.options, err=self.options["as_json"])

    def note(self, text: str, style: str = "head") -> None:
        """Print something to know."""
        self.tell([words.note(text, style)])

    def ask(self, text: str, *, dialog: str = "", generated: str = "") -> ChatTurn | None:
        """Say something to the bot, unless a limit is reached, and tell what came of it."""
        over = self._over()
        if over:
            self.note(f"limit reached: {over}; nothing was sent", "warn")
            return None
        self._now = None
        one = self._runner.run(self.talk.ask(text, dialog=dialog, generated=generated))
        self._tell_turn(one)
        return one

    def _over(self) -> str:
        """The limit that the next call would pass, "" if none. Calls of earlier sittings count."""
        spent = self.talk.spent
        for name, used in (
            ("calls", len(self.talk.exchanges)),
            ("usd", spent.usd),
            ("tokens", spent.tokens),
        ):
            most = self.chat.limit(name)
            if most is not None and used >= most:
                return f"{name} {most:g}"
        return ""

    def _tell_turn(self, one: ChatTurn) -> None:
        now = self.now()
        if not one.spoke:
            self.tell(words.silence(one.outcome, one.error, one.millis))
            self._tell_own(one, now)
            return
        found = self.scores_with_levels(now.scores(one.number))
        # A bot that only repeats a provocation offends the reader as well.
        repeats = one.generated == ABUSE and one.said.casefold() in one.answer.casefold()
        if (repeats or now.offends(one.number)) and not self.view.offensive:
            self.tell([words.offensive_placeholder(one.answer, one.number, side=words.BOT)])
        else:
            self.tell(words.answer(one.answer, one.number, one.millis))
        if not self.view.quiet:
            self.tell([words.scores(found, now.possible, now.unknown, now.unread(one.number))])
        self._tell_own(one, now)
        times = self.talk.count_repeats()
        if times and times % LOOPING == 0:
            self.tell([words.looping(times)])

    def _tell_own(self, one: ChatTurn, now: RunningScore) -> None:
        """The user's own abuse, which never counts for the bot."""
        score = now.of_user(one.number).get(ABUSE, 0.0)
        if score > 0 and not self.view.quiet:
            self.tell([words.user_score(*self.scores_with_levels({ABUSE: score})[0])])

    def now(self, probed: Mapping[str, str] = MappingProxyType({})) -> RunningScore:
        """What all turns so far come to; there must be one. `probed`: levels that the talk does not tell."""
        seed = experiment_seed(self.chat.seed, 0)
        if probed:
            return running_score(self.trust, self.talk.exchanges, self.order, seed, probed)
        if self._now is None:
            self._now = running_score(self.trust, self.talk.exchanges, self.order, seed)
        return self._now

    def forget(self) -> None:
        """What the turns come to has to be read again."""
        self._now = None

    def scores_with_levels(self, found: Mapping[str, float]) -> list[tuple[str, float, str]]:
        """Scores of one utterance with their levels, in the order of the profile."""
        cuts = {one.name: one.cuts_under(self.trust.rule) for one in self.trust.issues}
        named = [*self.order.issues, *(name for name in found if name not in self.order.issues)]
        return [
            (name, found[name], level_of_score(found[name], cuts[name])) for name in named if name in found
        ]

    def tell_standing(self) -> None:
        """Scores and level of everything said so far."""
        if not any(one.spoke for one in self.talk.exchanges):
            self.note("so far: the bot has said nothing")
            return
        now = self.now()
        alone = [
            (one.name, one.score, one.level) for one in now.issues if one.score is not None and one.level
        ]
        self.tell([words.scores(alone, now.possible, now.unknown)])
