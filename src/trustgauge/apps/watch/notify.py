"""Telling a program of the user's that a level has changed."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress

from trustgauge.errors import PlanError
from trustgauge.records import Json, canonical
from trustgauge.services import process_guard, redact

SECONDS = 30.0
SHOWN = 200  # characters of its last words


def split_command(command: str) -> list[str]:
    """The words of a command. No shell reads them.

    Raises:
        PlanError: there are none, or a quote is not closed.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        words, got = [], str(error)
    else:
        got = "nothing"
    if not words:
        must = "a program and its arguments, as in 'mail -s changed me@example.org'"
        raise PlanError.of("--notify", "no command", must=must, got=got)
    return words


def check_program(words: list[str]) -> None:
    """Raise PlanError if there is no such program to start; else nobody knows until something changes."""
    if shutil.which(words[0]) is None:
        what, must = "no such program", "a file that can be started, or the name of one on the PATH"
        do = "Give its path, and make it executable (chmod +x)"
        raise PlanError.of("--notify", what, must=must, got=words[0], do=do)


def notify(words: list[str], event: Mapping[str, Json], seconds: float = SECONDS) -> str:
    """Start the program with the event as JSON on its standard input, and wait for it.

    Returns "" if it ended well, else why not. It is ended, with all that it started, after `seconds`.
    """
    process_guard.prepare()
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return f'"{words[0]}" cannot be started: {error.strerror or type(error).__name__}'
    process_guard.guard(-process.pid)
    try:
        _, errors = process.communicate(canonical(event).encode("utf-8", "replace") + b"\n", seconds)
    except BaseException as error:  # Ctrl-C too: the program has a session of its own and does not hear it
        _end(process)
        if isinstance(error, subprocess.TimeoutExpired):
            return f'"{words[0]}" did not end within {seconds:g} s'
        raise
    finally:
        process_guard.release(-process.pid)
    if not process.returncode:
        return ""
    said = redact(errors.decode("utf-8", "replace")).strip()[-SHOWN:]
    return f'"{words[0]}" ended with code {process.returncode}' + (f": {said}" if said else "")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program that nobody has waited for yet, with all that it started."""
    process_guard.end_group(process.pid)
    process.wait()
    for pipe in (process.stdin, process.stderr):
        with suppress(BrokenPipeError):
            if pipe is not None:
                pipe.close()
