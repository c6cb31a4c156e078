r"""Language models in files of llama.cpp (GGUF), run on this machine.

[services.gemma]
use = "llama-cpp"
file = "models/gemma-3-270m-q4_k_m.gguf"
template = "Question: {text}\nAnswer:"   # a base model; without it the chat template of the file is used
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from trustgauge.errors import PlanError, RejectedError, ServiceError
from trustgauge.plugins import need_library
from trustgauge.records import Message, Reply, Task
from trustgauge.services import (
    Concurrency,
    Seconds,
    Seed,
    ServiceSpec,
    place_of,
    redact,
    storable,
    without_thinking,
)
from trustgauge.services.chat import OpenAi
from trustgauge.services.chat_protocol import AT_THE_LIMIT
from trustgauge.services.completions import Stops, Template, completion, prompt


class LlamaCpp(ServiceSpec):
    """A model file as a chatbot.

    With `template` the model continues a text, in which {text} is the question; without it, questions
    go through the chat template of the file. Answers end at one of `stop` or after `max_tokens`, and are
    then marked as cut. With `temperature` 0 each token is the most likely one, and questions are answered
    one at a time without reusing what was computed for others, so that an answer does not depend on them.

    Attributes:
        file: the model, in the format of llama.cpp.
        template: the prompt, with the question as {text}; by default the chat template of the file.
        stop: texts that end an answer.
        system: the system prompt, left out if empty.
        temperature: 0: each token is the likeliest one; above it, tokens are drawn.
        max_tokens: tokens of an answer, at most.
        context: tokens of question and answer together, at most.
        seed: of the tokens that are drawn.
        threads: processor threads; 0: one for each core but one.
    """

    use: str = "llama-cpp"
    task: ClassVar[Task] = "chat"
    kind: ClassVar[str] = "language model"
    provider: ClassVar[str] = "llama.cpp"
    NOT_IDENTITY: ClassVar[frozenset[str]] = ServiceSpec.NOT_IDENTITY | {"threads"}

    file: Path
    template: Template | None = None
    stop: Stops = ()
    system: str = ""
    temperature: float = Field(0.0, ge=0, le=10)
    max_tokens: int = Field(256, ge=1)
    context: int = Field(2048, ge=256)
    seed: Seed = 0
    threads: int = Field(0, ge=0)
    concurrency: Concurrency = 1
    timeout: Seconds = 600.0

    @field_validator("file")
    @classmethod
    def _from_plan(cls, value: Path, info: ValidationInfo) -> Path:
        return Path((info.context or {}).get("folder", ""), value).absolute()

    @model_validator(mode="after")
    def _room_for_a_question(self) -> Self:
        if self.max_tokens >= self.context:
            raise ValueError("`max_tokens` must be smaller than `context`, which holds the question too")
        return self

    @classmethod
    def named(cls, model: str) -> Self:
        """`llama-cpp/FILE`, behind the name of the service."""
        return cls.model_validate({"file": Path(model).expanduser().absolute()})

    @property
    def deterministic(self) -> bool:
        return self.temperature == 0

    def identity(self) -> Mapping[str, Any]:
        """The content of the file, the version of llama.cpp, and how the model is asked."""
        from trustgauge.data.tables import content_hash

        engine = version("xllamacpp") if find_spec("xllamacpp") else "absent"
        settings = self.model_dump(mode="json", exclude={*self.NOT_IDENTITY, "file"})
        return {**settings, "content": content_hash(self.file), "engine": engine}

    def version(self) -> str:
        return self.file.stem

    def place_digest(self) -> str:
        """The model, by the name of its file."""
        return place_of({"use": self.use, "model": self.file.stem})

    def check_requirements(self) -> None:
        """Raise MissingPartError for a missing library, PlanError for a file that is no model."""
        need_library("xllamacpp", "pip install 'trustgauge[llm]'")
        try:
            with self.file.open("rb") as opened:
                found = opened.read(4)
        except OSError:
            found = b""
        if found != b"GGUF":
            got = "another kind of file" if found else "no readable file"
            raise PlanError.of(
                "file", f'"{self.file}" is not a model', must="a model in the format GGUF", got=got
            )

    def open(self) -> LiveLlama:
        """The loaded model.

        Raises:
            MissingPartError, PlanError: see `check_requirements`.
            ServiceError: the file cannot be loaded.
        """
        self.check_requirements()
        import xllamacpp

        settings = xllamacpp.CommonParams()
        settings.verbosity = -1  # stderr is for our progress; the library writes six lines an answer there
        settings.model.path = str(self.file)
        settings.n_ctx = self.context
        settings.n_parallel = (
            1  # batches of several questions would change the last digits, and so the answers
        )
        settings.warmup = False
        settings.api_keys = [secrets.token_hex()]  # the library also listens on 127.0.0.1: to nobody
        settings.cache_ram_mib = 0  # prompts are not used again, and it would keep up to 8 GB of them
        # Its threads wait for each other: where one shares its core with other work, all of them do.
        settings.cpuparams.n_threads = self.threads or max(1, _cores() - 1)
        try:
            return LiveLlama(self, xllamacpp.Server(settings))
        except RuntimeError as error:
            do = "Check the file; a newer model may need a newer xllamacpp"
            raise ServiceError(f'"{self.file}" cannot be loaded', got=redact(str(error)), do=do) from error


class LiveLlama:
    """A loaded model; answers one message at a time in a thread."""

    def __init__(self, about: LlamaCpp, server: Any) -> None:
        self._about, self._server = about, server

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        return [await asyncio.to_thread(self._reply, message) for message in messages]

    async def close(self) -> None:
        self._server = None

    def _reply(self, message: Message) -> Reply:
        about = self._about
        body = {
            "temperature": about.temperature,
            "max_tokens": about.max_tokens,
            "stop": list(about.stop),
            "seed": (about.seed + message.draw) % 2**32,
            "cache_prompt": False,
        }
        if about.template is None:
            chat = OpenAi(model=about.file.stem, system=about.system)
            body["messages"] = chat.request(message)["messages"]
            answer = self._server.handle_chat_completions(body)
            said = None if "error" in answer else chat.read(answer)
        else:
            body["prompt"] = prompt(about.template, about.system, message)
            answer = self._server.handle_completions(body)
            said = None if "error" in answer else completion(answer)
        if said is None:
            raise _fault(answer)
        text = storable(without_thinking(said.text).strip())
        return Reply(text, tokens=said.read + said.written, cut=said.end in AT_THE_LIMIT)


def _cores() -> int:
    """The cores that this process may use: of a container fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _fault(answer: Mapping[str, Any]) -> ServiceError:
    error = answer.get("error") or {}
    got = str(error.get("message", ""))[:200]
    if error.get("type") == "exceed_context_size_error":
        do = "Raise `context`, or shorten the session"
        return RejectedError("the session is too long for the model", got=got, do=do)
    return ServiceError("the model failed on a text", got=got)
