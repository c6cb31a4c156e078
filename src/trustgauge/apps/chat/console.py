"""The live chat console: reads lines, asks the bot, prints what it scores.

Line based: nothing needs a cursor, so it works over ssh, in pipes and with screen readers.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from trustgauge.apps.chat import ending
from trustgauge.apps.chat import lines as words
from trustgauge.apps.chat.commands import Commands
from trustgauge.apps.chat.session import ChatSession
from trustgauge.errors import PlanError
from trustgauge.methods.trust.issues.abuse import Abuse
from trustgauge.methods.trust.profiles import title
from trustgauge.reports import numbers
from trustgauge.terminal.output import Exit


class Console:
    """Reads lines from the user until the chat ends."""

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._interrupts = 0
        self._commands = Commands(session)

    def run(self) -> Exit | None:
        """Talk until the user ends, then rate.

        Raises:
            StoreError: a turn could not be kept.
        """
        session = self._session
        with session:
            self._greet()
            self._listen()
            probe = session.options["probe_leaks"]
            if probe and self._interrupts > 1:
                probe = False
                later = f"trustgauge chat --resume {session.chat.id} --probe-leaks"
                session.note(f"leaks are not probed; {later} does")
            return ending.end(session, probe=probe)

    def _greet(self) -> None:
        described: Any = self._session.opened.services[self._session.chat.service]
        name = f"{self._session.chat.service} {described.version()}".strip()
        self._session.tell(
            [words.greeting(name, title(self._session.chat.profile), str(self._session.order))]
        )
        go_on = f"trustgauge chat --resume {self._session.chat.id}"
        click.echo(f"{'chat':<9}{self._session.chat.id}: every turn is saved; {go_on}", err=True)
        if self._session.talk.exchanges:
            count = len(self._session.talk.exchanges)
            self._session.note(f"{numbers.count(count)} turn{'s' * (count != 1)} from before")
            self._session.tell_standing()

    def _listen(self) -> None:
        """Lines until the user ends. A Ctrl-C may come at any moment, also while one is answered."""
        while self._interrupts < 2:
            try:
                self._lines()
            except KeyboardInterrupt:
                self._interrupts += 1
            else:
                return

    def _lines(self) -> None:
        """Lines until the user ends, or interrupts twice."""
        while self._interrupts < 2:
            try:
                text = self._read()
            except KeyboardInterrupt:
                self._interrupted("Ctrl-C again ends; so do /end and Ctrl-D")
                continue
            if text is None:
                return
            if text.strip() in ("/end", "/quit", "/exit"):
                return
            try:
                self._act(text)
            except KeyboardInterrupt:
                self._interrupted("interrupted; Ctrl-C again ends")
            else:
                self._interrupts = 0

    def _interrupted(self, said: str) -> None:
        self._interrupts += 1
        if self._interrupts < 2:
            self._session.tell([[("", "")], words.note(said)])

    def _read(self) -> str | None:
        """The next line without its end, None where there is none; a piped one is shown like a typed one."""
        typed = sys.stdin.isatty()
        if typed:
            click.echo(words.YOU, nl=False, err=self._session.options["as_json"])
        line = sys.stdin.buffer.readline()
        if not line:
            self._session.tell([[("", "")]] if typed else [])
            return None
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        if not typed:
            self._echo(text)
        return text

    def _echo(self, text: str) -> None:
        """Show a piped line; an offensive one is masked like all offensive text."""
        if not text.strip():
            return
        command = text.startswith("/") and not text.startswith("//")
        if not command and not self._session.view.offensive and self._offends(text):
            self._session.tell([words.offensive_placeholder(text, len(self._session.talk.exchanges) + 1)])
        else:
            self._session.tell([words.user_line(text)])

    def _offends(self, text: str) -> bool:
        """Whether the checker of abuse has something against a text; without one nothing is masked."""
        checkers = [one for one in self._session.trust.issues if isinstance(one, Abuse)]
        return any(any(one.utterance_scores([text])) for one in checkers)

    def _act(self, text: str) -> None:
        """Do what a line asks for: a command, or something to say to the bot."""
        if not text.strip():
            return
        if text.startswith("//") or not text.startswith("/"):
            self._session.ask(text.removeprefix("/") if text.startswith("//") else text)
            return
        name, _, rest = text[1:].strip().partition(" ")
        try:
            self._commands.act(name, rest.strip())
        except PlanError as error:
            for fault in error.faults:
                self._session.note(fault.what + (f"; must be {fault.must}" if fault.must else ""), "warn")
