"""A chat service put to the work of a translator or a scorer by a prompt.

    [services.model-translates]
    use = "chat-translator"
    target = "es"
    service = { use = "openai", model = "gpt-4o-mini" }

What is rated is the model with this prompt: another wording is another service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from trustgauge.errors import PlanError
from trustgauge.records import Message, Reply, Task
from trustgauge.services import Service, TranslatorSpec
from trustgauge.services.completions import Template
from trustgauge.services.languages import name
from trustgauge.services.wrapper import ServiceWrapper

TRANSLATE = (
    "Translate this text from {source} to {target}. Answer with the translation and nothing else.\n\n{text}"
)
SCORE = (
    "How positive or negative is the sentiment of this text? Answer with one number from -1 (as negative as "
    "can be) to 1 (as positive as can be), and nothing else.\n\n{text}"
)
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?")


class _Prompted(ServiceWrapper):
    """What both share.

    Attributes:
        service: the table of the chat service.
        prompt: what it is sent, with {text} once.
    """

    prompt: Template

    @property
    def deterministic(self) -> bool:
        return self.service.deterministic

    def identity(self) -> Mapping[str, Any]:
        own = {"use": self.use, "prompt": self.prompt}
        return {**own, "service": self.service.identity()}

    def uses_history(self) -> bool:
        return False

    def check_requirements(self) -> None:
        self.service.check_requirements()


class ChatTranslator(_Prompted, TranslatorSpec):
    """A chat service that is asked to translate.

    Attributes:
        prompt: what it is sent, with {text} once; {source} and {target} are the languages' English names.
    """

    task: ClassVar[Task] = "translate"
    use: str = "chat-translator"
    prompt: Template = TRANSLATE

    @property
    def kind(self) -> str:  # type: ignore[override]  # a class may state it or work it out
        return f"{self.service.kind}, asked to translate"

    def identity(self) -> Mapping[str, Any]:
        return {**super().identity(), "source": self.source, "target": self.target}

    def check_requirements(self) -> None:
        """Raise as the service does; PlanError if no direction is given."""
        if not self.target:
            raise PlanError.of("target", "no target language", must="a language code, such as es")
        super().check_requirements()

    def open(self) -> LivePrompt:
        prompt = self.prompt.replace("{source}", name(self.source)).replace("{target}", name(self.target))
        return LivePrompt(self.service.open(), prompt)


class ChatScorer(_Prompted):
    """A chat service that is asked for a number from -1 to 1; an answer with none, or several, is no score.

    Attributes:
        prompt: what it is sent, with {text} once.
    """

    task: ClassVar[Task] = "score"
    use: str = "chat-scorer"
    prompt: Template = SCORE

    @property
    def kind(self) -> str:
        return f"{self.service.kind}, asked for a score"

    def open(self) -> LivePrompt:
        return LivePrompt(self.service.open(), self.prompt, _score)


class LivePrompt:
    """Puts each text into the prompt; `read` makes of an answer what the task is to give."""

    def __init__(self, service: Service, prompt: str, read: Callable[[str], str | float] = str.strip) -> None:
        self._service, self._prompt, self._read = service, prompt, read

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        texts = [self._prompt.replace("{text}", message.text) for message in messages]
        asked = [replace(message, text=text) for message, text in zip(messages, texts, strict=True)]
        replies = await self._service.ask(asked)
        return [replace(reply, output=self._read(str(reply.output))) for reply in replies]

    async def close(self) -> None:
        await self._service.close()


def _score(answer: str) -> str | float:
    """The one number of an answer; the answer itself where it has none, or several.

    >>> _score("Sentiment: 0,8."), _score("−1"), _score("between 0.2 and 0.4"), _score("positive")
    (0.8, -1.0, 'between 0.2 and 0.4', 'positive')
    """
    found = _NUMBER.findall(answer.replace("\N{MINUS SIGN}", "-"))
    return float(found[0].replace(",", ".")) if len(found) == 1 else answer.strip()
