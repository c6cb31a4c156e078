"""A long-running pipeline of programs: texts go in as frames that end in NUL and come out in order.

Each program flushes at NUL. Every text has its own frame, ended by a mark that no text can
hold, so an answer that has lost its place is noticed and never given to another text.
"""

from __future__ import annotations

import os
import re
import secrets
import selectors
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import IO

from trustgauge.errors import GarbledError, MissingPartError, UnavailableError
from trustgauge.services import process_guard

LEARNS = "apertium-tagger"
"""A program that reads a word it does not know differently the first time it meets one.

The first answer would depend on what was translated before, so each text passes twice and the
second answer counts: it is what a server that has run for a while gives, whatever the order.
"""

PIECE = 2_000  # characters of one frame: the time of some programs grows with its square


_SPECIAL = re.compile(r"([\[\]{}^$/\\@<>])")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
# Lone surrogates have no UTF-8; noncharacters end the stream inside Apertium's readers.
_NO_CHARACTER = re.compile(
    "[\ud800-\udfff\ufdd0-\ufdef"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(17))
    + "]"
)
_SENTENCE_END = re.compile(r"[.!?…]\s+")


class Pipeline:
    """Programs that each read what the one before writes. `name` stands in messages."""

    def __init__(self, name: str, stages: Sequence[Sequence[str]]) -> None:
        self._name = name
        self._names = [stage[0] for stage in stages]
        self._programs: list[subprocess.Popen[bytes]] = []
        self._held = threading.RLock()
        self._nonce = secrets.token_hex(8)
        # Nothing else of the environment: the programs need no keys that may stand there.
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}
        before: IO[bytes] | None = None
        for stage in stages:
            program = self._start(stage, before, environment)
            if before is not None:
                before.close()
            self._programs.append(program)
            before = program.stdout
        self._into, self._out = _pipe(self._programs[0].stdin), _pipe(self._programs[-1].stdout)
        os.set_blocking(self._into.fileno(), False)

    def _start(
        self, stage: Sequence[str], before: IO[bytes] | None, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        process_guard.prepare()
        try:
            program = subprocess.Popen(
                stage,
                stdin=subprocess.PIPE if before is None else before,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                bufsize=0,
                start_new_session=True,  # Ctrl-C ends the run in its own order, not the translator
            )
        except OSError as error:
            self.close()
            raise MissingPartError(
                f'the program "{stage[0]}" cannot be started', got=error.strerror or ""
            ) from None
        process_guard.guard(-program.pid)
        return program

    @property
    def alive(self) -> bool:
        return not self._into.closed and all(program.poll() is None for program in self._programs)

    def translate(self, pieces: Sequence[str], timeout: float) -> list[str]:
        """The translation of each piece, in order; blocks. After an error the pipeline is closed."""
        rounds = 2 if any(name.endswith(LEARNS) for name in self._names) else 1
        marks = [f"[{self._nonce}-{number}]" for number in range(rounds * len(pieces))]
        # The full stop ends the sentence for the tagger, as Apertium's own filter for plain text does.
        frames = [
            f"{_escape(piece)}.[]{mark}\0" for piece, mark in zip([*pieces] * rounds, marks, strict=True)
        ]
        data = "".join(frames).encode("utf-8", "replace")
        with self._held:
            try:
                answered = self._exchange(data, len(frames), timeout)
                translated = [_unframe(frame, mark) for frame, mark in zip(answered, marks, strict=True)]
                return translated[-len(pieces) :]
            except BaseException:
                self.close()
                raise

    def _exchange(self, data: bytes, count: int, timeout: float) -> list[str]:
        """Write and read at once, so that no full pipe stops both sides."""
        deadline = time.monotonic() + timeout
        rest, received, frames = memoryview(data), bytearray(), 0
        with selectors.DefaultSelector() as ready:
            ready.register(self._into, selectors.EVENT_WRITE)
            ready.register(self._out, selectors.EVENT_READ)
            while frames < count:
                events = ready.select(max(0.0, deadline - time.monotonic()))
                if not events:
                    raise UnavailableError(
                        f"{self._name} gave no answer within {timeout:g} s", timed_out=True
                    )
                for key, _ in events:
                    if key.fileobj is self._into:
                        rest = rest[self._write(rest) :]
                        if not rest:
                            ready.unregister(self._into)
                    else:
                        chunk = os.read(self._out.fileno(), 1 << 16)
                        if not chunk:
                            raise self._ended()
                        frames += chunk.count(0)
                        received += chunk
        return received.decode("utf-8", "replace").split("\0")[:count]

    def _write(self, rest: memoryview) -> int:
        try:
            return os.write(self._into.fileno(), rest[: 1 << 16])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise self._ended() from None

    def _ended(self) -> UnavailableError:
        codes = [
            f"{name} with code {program.poll()}"
            for name, program in zip(self._names, self._programs, strict=True)
            if program.poll()
        ]
        return UnavailableError(
            f"the pipeline of {self._name} ended ({', '.join(codes) or 'closed'}); it is started again"
        )

    def kill(self) -> None:
        """End the programs at once; safe from another thread."""
        for program in self._programs:
            program.kill()

    def close(self) -> None:
        """End the programs and let go of their pipes; waits for a translation under way to notice."""
        self.kill()
        with self._held:
            for program in self._programs:
                program.wait()
                process_guard.release(-program.pid)
                for stream in (program.stdin, program.stdout):
                    if stream is not None:
                        stream.close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise UnavailableError("the pipeline could not be built")
    return stream


def pieces_of(text: str) -> list[tuple[str, str]]:
    """A text as pieces of at most PIECE characters, each with the white space that follows it."""
    text = _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", _CONTROL.sub(" ", text)).strip()
    pieces = []
    while text:
        cut = len(text) if len(text) <= PIECE else _cut(text)
        piece, text = text[:cut].rstrip(), text[cut:]
        pieces.append((piece, " " if text and (text[0].isspace() or len(piece) < cut) else ""))
        text = text.lstrip()
    return pieces


def _cut(text: str) -> int:
    """Where to end the first piece: after a sentence, else at white space, else anywhere."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, PIECE)]
    if ends:
        return ends[-1]
    space = max(text.rfind(" ", 1, PIECE), text.rfind("\n", 1, PIECE))
    return space if space > 0 else PIECE


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


def _unframe(frame: str, mark: str) -> str:
    """The text of a frame: mark, added full stop and escapes taken away.

    Raises GarbledError if the frame is not the one that was sent.
    """
    body, found, rest = frame.partition(mark)
    if not found or "\0" in frame:
        raise GarbledError(
            "the pipeline's answers are out of step with its input", do="The pipeline is restarted"
        )
    body = (body.removesuffix("[]") + rest).rstrip().removesuffix(".")
    return _ESCAPED.sub(r"\1", body)


def tidy(text: str) -> str:
    """White space as people write it: single spaces, none before a full stop or a comma; lines are kept."""
    text = re.sub(r"[^\S\n]+", " ", text)
    text = re.sub(r" ?\n ?", "\n", text)
    return re.sub(r" +([.,])(?=[\s.,]|$)", r"\1", text).strip()
