"""CLI entry point: verbs, errors and exit codes.

stdout carries results only (with --json exactly one document); plan, progress, notes and errors
go to stderr. Nothing heavy is imported before the verb is known.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from trustgauge import plugins
from trustgauge.errors import PlanError, TrustgaugeError

CORE = ("init", "check", "plan", "rate", "show", "compare", "compose", "judge-check", "verify", "list")
"""The verbs of the core, in the order in which people need them. Each stands in a module of its name."""


def verbs() -> list[str]:
    """All verbs: those of the core, then those of the installed applications, sorted. Imports none."""
    return [*CORE, *(name for name in plugins.names("commands") if name not in CORE)]


_MORE = "Allow more (`ulimit -n 1024`), then run the same command again"
_SYSTEM = {
    errno.ENOSPC: ("no space left where the results go. Free some space, then run the same command again", 4),
    errno.EMFILE: (f"this process may not open more files at once. {_MORE}", 4),
    errno.ENFILE: (
        "the system has no more files to open. Close programs, then run the same command again",
        4,
    ),
    errno.ENAMETOOLONG: ("the name of a file is longer than this system allows. Give a shorter one", 2),
}
"""What the system cannot give, in words, and the exit code: nothing of ours is at fault, all is kept."""


class Verbs(click.Group):
    """Imports a verb's module when the verb is used or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in verbs() if self._is_usable(ctx, name)]

    def _is_usable(self, ctx: click.Context, name: str) -> bool:
        try:
            return self.get_command(ctx, name) is not None
        except PlanError:  # a plug-in that cannot be imported, as its use will say
            return False

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in CORE:
            name = cmd_name.replace("-", "_")
            command: click.Command = getattr(import_module(f"trustgauge.cli.{name}"), f"{name}_verb")
            return command
        if cmd_name not in verbs():
            return None
        try:
            application: click.Command = plugins.load("commands", cmd_name)
        except ModuleNotFoundError:  # the application was removed, or lacks a library
            return None
        return application


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 2 usage, 3 service refused, 4 incomplete, 5 not settled, 10 gate failed.",
)
@click.version_option(package_name="trustgauge", message="trustgauge %(version)s")
def group() -> None:
    """Rate black-box AI services for bias, with error bars and evidence.

    \b
    trustgauge init --demo      writes a plan that needs no network
    trustgauge rate             asks, rates, writes ratings/<id>/
    trustgauge show latest --as html -o report.html
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its code, repeated in words on the last line of stderr."""
    from trustgauge.terminal.output import STOPPED, WORDS, Exit

    # Our matrix products are small: a pool of threads for them burns more time than it saves.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    given = sys.argv[1:] if arguments is None else arguments
    ended = Exit(0, WORDS[0])
    ends = _own_process() if arguments is None else ()
    try:
        _streams()
        _signals(signal.default_int_handler, ends)
        result = group.main(args=given, prog_name="trustgauge", standalone_mode=False)
        ended = result if isinstance(result, Exit) else ended
    except (click.Abort, KeyboardInterrupt):
        _signals(signal.SIG_IGN, ends)
        # Python remembers an interrupt in the middle of code that it made from text, as data classes are, and
        # would end by the signal in place of our code; code from text that ends well makes it forget.
        exec("")
        ended = Exit(130, f"{WORDS[130]}; the same command resumes")
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        ended = Exit(2, WORDS[2])
    except click.ClickException as error:
        click.echo(f"{'error':<9}{error.format_message()}", err=True)
        ended = Exit(2, WORDS[2])
    except TrustgaugeError as error:
        if {"-v", "--verbose"} & set(given):
            traceback.print_exc()
        _tell(error)
        words = STOPPED if error.sent and error.exit_code == 2 else WORDS[error.exit_code]
        ended = Exit(error.exit_code, words)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away, as `head` does; that is no fault
        sys.exit(0)
    except Exception as error:
        if {"-v", "--verbose"} & set(given):
            raise
        code = _tell_unexpected(error, alone=arguments is None)
        ended = Exit(code, WORDS[code])
    _signals(signal.SIG_IGN, ends)  # only words are left
    if ended.code:
        click.echo(str(ended), err=True)
    sys.exit(ended.code)


def _own_process() -> tuple[signal.Signals, ...]:
    """Set up a process that does nothing else. Returns the signals that end it."""
    # Answers and questions live long: looking through them for garbage as often as Python does by itself
    # takes a sixth of a run.
    gc.set_threshold(10_000, 20, 20)
    return signal.SIGINT, signal.SIGTERM


def _signals(act: Any, numbers: Sequence[signal.Signals]) -> None:
    """Do this at these signals."""
    for number in numbers:
        signal.signal(number, act)


def _drop_output() -> None:
    """Let go of what stdout could not take: Python would try again at the end, and exit with its own code."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _streams() -> None:
    """Make stdout and stderr take any text, and refuse to work where nobody could read the result.

    A terminal in another encoding than UTF-8 gets question marks for what it cannot show.
    """
    for number in range(3):  # a file of ours must not become stdout by its number
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    closed = sys.stdout is None
    sys.stdout, sys.stderr = (stream or io.StringIO() for stream in (sys.stdout, sys.stderr))
    if closed:
        raise click.UsageError("stdout is closed, so the result would be lost. Redirect it to a file")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _tell_unexpected(error: Exception, *, alone: bool) -> int:
    """Say what nobody foresaw, and whose it is. Returns the exit code. `alone`: in a process of our own."""
    from trustgauge.reports.sanitize import visible

    # Of the results or of what takes our output; other files tell it by errors of our own.
    number = (error.errno or 0) if isinstance(error, OSError) else 0
    said, code = _SYSTEM.get(number, ("", 1))
    if not said:
        place = plugins.place_in_plug_in(error)
        whose, whom = (f" ({place})", "report it to its author") if place else ("", "report it")
        what = f"{type(error).__name__}: {visible(str(error), lines=True)}{whose}"
        said = f"{what}. Run it again with -v and {whom}."
    click.echo(f"{'error':<9}{said}", err=True)
    if number in _SYSTEM and alone:
        _drop_output()
    return code


def _tell(error: Exception) -> None:
    from trustgauge.reports import terminal

    assert isinstance(error, TrustgaugeError)
    click.echo(terminal.plain(terminal.problem(error)), err=True)
