"""A running program: write to it, read its output and errors, stop it with its children."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from trustgauge.errors import GarbledError, MissingPartError, RejectedError, UnavailableError
from trustgauge.services import process_guard, redact

LARGEST = 8 << 20  # bytes of one answer; more is garbled
LAST_WORDS = 500  # characters of standard error that a message shows


class Process:
    """One running program. `end` must be awaited, whatever happened."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self._name, self._process = name, process
        self._errors = b""
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, words: Sequence[str], folder: Path) -> Process:
        """Start a program in a session of its own, so that it can be ended with its children.

        Raises MissingPartError if it cannot be started, RejectedError if its arguments are too long.
        """
        process_guard.prepare()
        try:
            process = await asyncio.create_subprocess_exec(
                *(word.encode("utf-8", "replace") for word in words),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=folder,
                limit=LARGEST,
                start_new_session=True,
            )
        except OSError as error:
            if error.errno == errno.E2BIG:
                raise RejectedError(
                    "the text is too long for an argument", do="Let the program read its input"
                ) from None
            raise MissingPartError(
                f'the program "{words[0]}" cannot be started', got=error.strerror or str(error)
            ) from None
        process_guard.guard(-process.pid)
        return cls(words[0], process)

    async def exchange(self, line: bytes) -> bytes:
        """Send one line and read one line.

        Raises UnavailableError if the program ends first, GarbledError if its line is too long.
        """
        into, out = self._process.stdin, self._process.stdout
        if into is None or out is None:
            raise UnavailableError(f'"{self._name}" has no input or output')
        writing = asyncio.create_task(self._write(into, line))
        try:
            answer = await out.readline()
        except ValueError:
            raise GarbledError(f"a line of more than {LARGEST:,} bytes") from None
        finally:
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
        if not answer.endswith(b"\n"):
            raise await self._died()
        return answer

    async def whole(self, data: bytes) -> bytes:
        """Send `data`, end the input, and read all that the program prints until it ends.

        Raises UnavailableError if it ends with an error, GarbledError if it prints too much.
        """
        into, out = self._process.stdin, self._process.stdout
        if into is None or out is None:
            raise UnavailableError(f'"{self._name}" has no input or output')
        writing = asyncio.create_task(self._write(into, data, last=True))
        printed = bytearray()
        try:
            while chunk := await out.read(1 << 16):
                printed += chunk
                if len(printed) > LARGEST:
                    raise GarbledError(f"more than {LARGEST:,} bytes of output")
            await writing
        finally:
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await writing
        if await self._process.wait() != 0:
            raise await self._died()
        return bytes(printed)

    async def end(self) -> None:
        """End the program, and what it started, at once."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        process_guard.end_group(self._process.pid)
        await self._process.wait()
        process_guard.release(-self._process.pid)
        self._listening.cancel()
        with suppress(asyncio.CancelledError):
            await self._listening

    async def _write(self, into: asyncio.StreamWriter, data: bytes, *, last: bool = False) -> None:
        # A program may end without reading its input; what it printed tells.
        with suppress(BrokenPipeError, ConnectionResetError):
            into.write(data)
            await into.drain()
            if last:
                into.close()

    async def _listen(self) -> None:
        """Read standard error as it comes, and keep its end, so that a full pipe never stops the program."""
        stream = self._process.stderr
        while stream is not None and (chunk := await stream.read(1 << 14)):
            self._errors = (self._errors + chunk)[-4 * LAST_WORDS :]

    async def _died(self) -> UnavailableError:
        try:
            async with asyncio.timeout(1.0):
                code = await self._process.wait()
                await asyncio.shield(self._listening)
            what = f'"{self._name}" ended with code {code}'
        except TimeoutError:
            what = f'"{self._name}" closed its output'
        said = redact(self._errors.decode("utf-8", "replace")).strip()[-LAST_WORDS:]
        last = " | ".join(line.strip() for line in said.splitlines()[-5:] if line.strip())
        return UnavailableError(what + (f"; its last words: {last}" if last else ""))
