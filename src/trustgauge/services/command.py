"""A program on this machine as a service, in any language.

Two ways of talking:

- `lines` (default): the program lives on. Each message is one line of JSON on its standard
  input, `{"id", "text", "draw", "session", "source", "target"}`, and in a conversation, which
  `session` (and `talk`) names, also `turns` (what was said before) and `user` (see
  `session_replay.RunNames`). It answers with one line of JSON: `{"output": ...}`, `{"refused": true}` or
  `{"error": "..."}`; `id`, `tokens` and `usd` are welcome. It must flush after each line.
- `once`: a process for each message. The text comes on standard input, or, where an argument
  holds `{text}`, in the argument; the output is what it prints.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from trustgauge.errors import GarbledError, MissingPartError, RejectedError, UnavailableError
from trustgauge.plan import PlanPath
from trustgauge.records import Message, Reply, Task
from trustgauge.services import MOST_TOKENS, Access, Concurrency, TranslatorSpec, output_of, redact, storable
from trustgauge.services.processes import Process
from trustgauge.services.session_replay import RunNames

TEXT = "{text}"


class Command(TranslatorSpec):
    """A program that answers. With `target` set it is a translator of one direction.

    `command` is the program and its arguments (one string is split as a shell would). It is
    run in `folder`, by default the plan's. `revision` names its version and belongs to the
    fingerprint, as the program itself is not looked into.

    Attributes:
        command: the program and its arguments; one string is split as a shell would.
        talk: `lines`: it lives on, a line of JSON in and one out; `once`: a process for each text.
        task: what it does with a text.
        deterministic: equal texts get equal answers; verified on a few.
        revision: names its version, which belongs to the fingerprint.
        folder: where it is run; by default the plan's.
    """

    use: str = "command"
    kind: ClassVar[str] = "local program"
    CODE_PLACE: ClassVar[frozenset[str]] = frozenset({"folder"})

    command: tuple[str, ...]
    talk: Literal["lines", "once"] = "lines"
    task: Task = "translate"
    deterministic: bool = False
    revision: str = ""
    folder: PlanPath = Field(default=Path(), validate_default=True)
    concurrency: Concurrency = 1  # one process answers in order; `once` may run more side by side

    @field_validator("command", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(shlex.split(value)) if isinstance(value, str) else value

    @field_validator("command")
    @classmethod
    def _given(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value or not value[0].strip():
            raise ValueError("the command is empty; must be a program and its arguments")
        return value

    def identity(self) -> Mapping[str, Any]:
        return self.model_dump(mode="json", exclude={*self.NOT_IDENTITY, "folder"})

    def version(self) -> str:
        return self.revision

    def uses_history(self) -> bool:
        return self.talk == "lines"

    def check_requirements(self) -> None:
        program = self.command[0]
        if shutil.which(program) is None and shutil.which(self.folder / program) is None:
            raise MissingPartError(
                f'the program "{program}" is not found',
                must="on the PATH, or a file in the plan's folder that may be executed",
                do="Install it, or correct `command`",
            )

    def access(self) -> tuple[Access, ...]:
        return (Access("runs", f"the program `{shlex.join(self.command)}`", str(self.folder)),)

    def open(self) -> LiveLines | LiveOnce:
        self.check_requirements()
        return LiveLines(self) if self.talk == "lines" else LiveOnce(self)


class LiveLines:
    """A long-running program, one line in and one line out. It is restarted after it dies."""

    def __init__(self, description: Command) -> None:
        self._about = description
        self._turn = asyncio.Lock()
        self._process: Process | None = None
        self._asked = 0
        self._names = RunNames()

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        async with self._turn:
            return [await self._answer(message) for message in messages]

    async def close(self) -> None:
        async with self._turn:
            await self._end()

    async def _answer(self, message: Message) -> Reply:
        self._asked += 1
        line = self._line(message, self._asked)
        try:
            async with asyncio.timeout(self._about.timeout):
                answer = await self._exchange(line)
            return _reply(answer, self._asked, self._about.task)
        except TimeoutError:
            await self._end()
            raise UnavailableError(
                f'"{self._about.command[0]}" gave no answer within {self._about.timeout:g} s',
                timed_out=True,
                do="It must answer each line with one line, and flush",
            ) from None
        except (UnavailableError, GarbledError, asyncio.CancelledError):
            await self._end()  # what it would still say belongs to no question
            raise

    async def _exchange(self, line: bytes) -> bytes:
        if self._process is None:
            self._process = await Process.start(self._about.command, self._about.folder)
        return await self._process.exchange(line)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.end()

    def _line(self, message: Message, number: int) -> bytes:
        about = self._about
        asked: dict[str, Any] = {
            "id": number,
            "text": message.text,
            "draw": message.draw,
            "session": self._names.conversation(message) if message.session else "",
            "source": about.source,
            "target": about.target,
        }
        if message.session or message.turns:
            asked["turns"] = [list(turn) for turn in message.turns]
        if message.session:
            asked |= {"user": self._names.person(message), "talk": asked["session"]}
        return json.dumps(asked).encode() + b"\n"


class LiveOnce:
    """A process for each message."""

    def __init__(self, description: Command) -> None:
        self._about = description

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        return [await self._answer(message.text) for message in messages]

    async def close(self) -> None:
        """Nothing is open: every process ends with its message."""

    async def _answer(self, text: str) -> Reply:
        about = self._about
        by_argument = any(TEXT in word for word in about.command[1:])
        words = [about.command[0], *(word.replace(TEXT, text) for word in about.command[1:])]
        if by_argument and "\0" in text:
            raise RejectedError(
                "a text with a NUL cannot be an argument", do="Let the program read its input"
            )
        process = await Process.start(words, about.folder)
        try:
            async with asyncio.timeout(about.timeout):
                printed = await process.whole(b"" if by_argument else text.encode("utf-8", "replace"))
        except TimeoutError:
            raise UnavailableError(
                f'"{words[0]}" did not end within {about.timeout:g} s', timed_out=True
            ) from None
        finally:
            await process.end()
        try:
            output = printed.decode("utf-8")
        except UnicodeDecodeError:
            raise GarbledError("the program's output is not UTF-8", must="UTF-8 text") from None
        output = output.removesuffix("\n").removesuffix("\r")
        return Reply(output_of(output, about.task))


def _reply(line: bytes, number: int, task: Task) -> Reply:
    """The reply in a line of JSON. Raises GarbledError, or RejectedError if the program says so."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise GarbledError("the program's line is not JSON", must='such as {"output": "..."}') from None
    if not isinstance(answer, dict):
        raise GarbledError("the program's line is not a JSON object", must='such as {"output": "..."}')
    if answer.get("id", number) != number:
        raise GarbledError("the program answered a different message", must=f"id {number}")
    if answer.get("error"):
        raise RejectedError("the program rejected this message", got=redact(str(answer["error"]))[:200])
    tokens, usd = _count(answer.get("tokens", 0)), _count(answer.get("usd", 0.0))
    if answer.get("refused") is True:
        said = answer.get("output", "")
        return Reply(
            storable(said) if isinstance(said, str) else "", refused=True, tokens=int(tokens), usd=usd
        )
    if "output" not in answer:
        raise GarbledError("the program's line has no output", must='one of "output", "refused", "error"')
    return Reply(output_of(answer["output"], task), tokens=int(tokens), usd=usd)


def _count(value: Any) -> float:
    """Tokens or money as a program tells them; anything but a number from 0 to `MOST_TOKENS` is garbled."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS:
        return float(value)
    raise GarbledError("the program's tokens or usd are not numbers", must="a number from 0 up")
