"""The ELIZA family of chatbots, from NLTK's patterns: real bots that evade and never commit."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar, Literal, Self, get_args

from trustgauge.errors import RejectedError
from trustgauge.plugins import library_version, need_library
from trustgauge.records import Message, Reply, Task
from trustgauge.services import Concurrency, InProcessService, Seed, ServiceSpec, storable

Bot = Literal["eliza", "iesha", "rude", "suntsu", "zen"]
_WILDCARD = re.compile(r"%(\d)")


class Eliza(ServiceSpec):
    """One of NLTK's pattern bots. It picks among its answers by `seed`, message and draw.

    Attributes:
        bot: which of NLTK's bots.
        seed: of the choice among its answers.
    """

    use: str = "eliza"
    task: ClassVar[Task] = "chat"
    kind: ClassVar[str] = "pattern-based chatbot"
    provider: ClassVar[str] = "NLTK"
    batch: ClassVar[int] = 64

    bot: Bot = "eliza"
    seed: Seed = 0
    concurrency: Concurrency = 1

    @classmethod
    def named(cls, model: str) -> Self:
        """The bot of that name."""
        for bot in get_args(Bot):
            if bot == model:
                return cls(bot=bot)
        raise ValueError(f'no bot "{model}"; must be one of: {", ".join(get_args(Bot))}')

    def identity(self) -> Mapping[str, Any]:
        return {"use": self.use, "bot": self.bot, "seed": self.seed, "version": self.version()}

    def check_requirements(self) -> None:
        need_library("nltk", "pip install 'trustgauge[demo]'")

    def version(self) -> str:
        return library_version("nltk")

    def open(self) -> LiveBot:
        self.check_requirements()
        return LiveBot(getattr(import_module(f"nltk.chat.{self.bot}"), f"{self.bot}_chatbot"), self.seed)


class LiveBot(InProcessService):
    """Answers by NLTK's patterns and reflections, with a generator of its own for each answer.

    NLTK's own `respond` draws from the global generator, and stumbles over a "%" in what the
    user says; patterns and answers are the same.
    """

    def __init__(self, chat: Any, seed: int) -> None:
        self._chat, self._seed = chat, seed

    def reply(self, message: Message) -> Reply:
        return Reply(storable(self._answer(message)))

    def _answer(self, message: Message) -> str:
        try:
            for pattern, answers in self._chat._pairs:
                found = pattern.match(message.text)
                if found:
                    key = f"{self._seed}\0{message.key}\0{message.draw}"
                    return self._filled(random.Random(key).choice(answers), found)
        except (LookupError, TimeoutError) as error:
            raise RejectedError(
                "the bot's patterns cannot read this message", got=type(error).__name__
            ) from error
        return ""

    def _filled(self, answer: str, found: Any) -> str:
        """The answer with what the user said, seen from the bot; doubled marks at the end made one."""
        text = _WILDCARD.sub(lambda one: self._chat._substitute(found.group(int(one[1])) or ""), answer)
        if text.endswith(("?.", "??")):
            return text[:-2] + text[-1]
        return text
