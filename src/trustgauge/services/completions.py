"""Completion services: any server of `POST /v1/completions`, and base models that only continue a text.

A base model knows no roles; it goes on where a text ends. `Prompt` turns a question, and the
turns before it, into such a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from trustgauge.records import Message
from trustgauge.services import storable
from trustgauge.services.chat_protocol import ChatAnswer, ChatSpec, gather_events

QUESTION = "Question: {text}\nAnswer:"


def _holds_text(template: str) -> str:
    if template.count("{text}") != 1:
        raise ValueError(f"must hold {{text}} once, where the question goes, such as {QUESTION!r}")
    return template


Template = Annotated[str, AfterValidator(_holds_text)]
Stops = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(max_length=16)]


def prompt(template: str, system: str, message: Message) -> str:
    r"""The text that a base model continues: system text, earlier turns with their answers, the question.

    >>> prompt("Q: {text}\nA:", "Be kind.", Message("Why?", turns=(("Hello", "Hi"),)))
    'Be kind.\n\nQ: Hello\nA: Hi\n\nQ: Why?\nA:'
    """
    before = [f"{template.replace('{text}', user)} {bot}" for user, bot in message.turns]
    return storable(
        "\n\n".join([*([system] if system else []), *before, template.replace("{text}", message.text)])
    )


class Completions(ChatSpec):
    """Any server of `/v1/completions`: base models, or chat models asked through a prompt of your own.

    `template` holds the question as {text}; an answer ends at one of `stop`, by default at the end of
    its line. Set `url` up to the version, such as http://127.0.0.1:8080/v1.

    Attributes:
        template: the prompt, with the question as {text}.
        stop: texts that end an answer; by default the end of its line.
    """

    provider: ClassVar[str] = "the completion server"
    url_variable: ClassVar[str] = ""
    path: ClassVar[str] = "/completions"
    key_needed: ClassVar[bool] = False

    use: str = "completions"
    key: str = ""
    template: Template = QUESTION
    stop: Stops = ("\n",)
    temperature: float | None = Field(0.0, ge=0, allow_inf_nan=False)
    max_tokens: int | None = Field(256, ge=1)

    def request(self, message: Message) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "prompt": prompt(self.template, self.system, message)}
        given = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        body |= {name: value for name, value in given.items() if value is not None}
        if self.stop:
            body["stop"] = list(self.stop)
        if self.seed is not None:
            body["seed"] = self.seed + message.draw
        if self.stream:
            body["stream_options"] = {"include_usage": True}
        return body

    def read(self, whole: Mapping[str, Any]) -> ChatAnswer | None:
        said = completion(whole)
        if said is not None:
            said.text = said.text.strip()  # a base model begins with the space behind the prompt
        return said

    def gather(self, stream: Iterable[dict[str, Any] | None]) -> ChatAnswer | None:
        said = gather_events(stream, _add_event)
        if said is not None:
            said.text = said.text.strip()
        return said


def completion(body: Mapping[str, Any]) -> ChatAnswer | None:
    """What a completion says; None if it has not the form of one."""
    said = ChatAnswer()
    if not _add(said, body):
        return None
    said.count(body.get("usage"))
    return said


def _add_event(said: ChatAnswer, event: Mapping[str, Any]) -> bool:
    """Add an event of a stream; a last one may hold only the count of tokens."""
    return not event.get("choices") or _add(said, event)


def _add(said: ChatAnswer, body: Mapping[str, Any]) -> bool:
    """Add the text of a completion, or of an event of a streamed one; False if it has none."""
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or not isinstance(first.get("text"), str):
        return False
    said.text += first["text"]
    said.end = str(first.get("finish_reason") or said.end)
    return True
