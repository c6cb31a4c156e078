"""The console of a live chat: what is typed, and what can be typed beside what is said to the bot.

Line based: nothing needs a cursor, so it works over ssh, in pipes and with screen readers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import click

from trustgauge.apps.chat import ending
from trustgauge.apps.chat import lines as words
from trustgauge.apps.chat.session import ChatSession
from trustgauge.errors import PlanError
from trustgauge.methods.trust.issues.abuse import Abuse
from trustgauge.methods.trust.profiles import PAPER_NAMES, PUBLISHED, IssueOrder, order_of, title
from trustgauge.reports import numbers
from trustgauge.run.chat_store import OWN_ORDER
from trustgauge.run.conversation import ChatTurn
from trustgauge.run.targets import experiment_seed
from trustgauge.terminal.output import Exit

MOST_GENERATED = 500
ABUSE, LEAKAGE = "abuse", "leakage"


class Commands:
    """The commands of one session."""

    def __init__(self, session: ChatSession) -> None:
        self._session = session
        self._known: dict[str, Callable[[str], object]] = {
            "help": lambda _: session.tell(words.help_lines()),
            "profile": self._profile,
            "order": self._own_order,
            "why": self._why,
            "undo": self._undo,
            "new": self._new,
            "gen": self._generate,
            "show": self._show,
            "save": lambda _: ending.save(session),
        }

    def act(self, name: str, rest: str) -> None:
        """Do what a command asks for; tell if there is none of that name.

        Raises:
            PlanError: it names what there is not.
        """
        command = self._known.get(name)
        if command is not None:
            command(rest)
            return
        near = get_close_matches(name, self._known, n=1, cutoff=0.5)
        hint = f"; did you mean /{near[0]}?" if near else "; /help lists what there is"
        self._session.note(f'no command "/{name}"{hint}', "warn")

    def _profile(self, name: str) -> None:
        valid = tuple(dict.fromkeys([*PUBLISHED, *self._session.trust.orders]))
        if not name:
            self._session.tell(
                [words.note(f"{one}: {self._session.trust.order_of(one)}", "") for one in valid]
            )
            return
        profile = PAPER_NAMES.get(name, name)
        self._rate_for(profile, self._session.trust.order_of(profile))

    def _own_order(self, written: str) -> None:
        if not written:
            self._session.note(f"{title(self._session.chat.profile)}: {self._session.order}", "")
            return
        order = order_of(written, self._session.trust.names, "/order")
        experiment = dict(self._session.chat.experiment)
        experiment["orders"] = {**experiment.get("orders", {}), OWN_ORDER: list(order.written)}
        orders = {**self._session.trust.orders, OWN_ORDER: order.written}
        self._session.trust = self._session.trust.model_copy(update={"orders": orders})
        self._session.chat = self._session.chat.update(experiment=experiment)
        self._rate_for(OWN_ORDER, order)

    def _rate_for(self, profile: str, order: IssueOrder) -> None:
        """Rate for somebody else from now on; calls nobody."""
        experiment = {**self._session.chat.experiment, "profiles": [profile]}
        self._session.chat = self._session.chat.update(profile=profile, experiment=experiment)
        self._session.order = order
        self._session.forget()
        self._session.note(f"{title(profile)}: {order}", "")
        self._session.tell_standing()

    def _why(self, rest: str) -> None:
        if not rest:
            if any(one.spoke for one in self._session.talk.exchanges):
                self._session.tell(words.level_why(self._session.now().combination))
            else:
                self._session.tell_standing()
            return
        one = self._turn(rest)
        if one is not None:
            now = self._session.now()
            self._session.tell(
                words.turn_why(
                    one.number,
                    self._session.scores_with_levels(now.scores(one.number)),
                    now.read_in(one.number),
                    now.unread(one.number),
                )
            )

    def _turn(self, rest: str) -> ChatTurn | None:
        """The turn of a number; tells if there is none."""
        count = len(self._session.talk.exchanges)
        if rest.isascii() and rest.isdigit() and 1 <= int(rest) <= count:
            return self._session.talk.exchanges[int(rest) - 1]
        self._session.note(
            f"no turn {rest!r}; must be 1 to {count}" if count else "nothing was said yet", "warn"
        )
        return None

    def _undo(self, _: str) -> None:
        one = self._session.talk.undo()
        if one is None:
            self._session.note("there is no turn of yours to take back", "warn")
            return
        self._session.note(
            f"turn {one.number} taken back: removed from the bot's context; its answer stays scored"
        )

    def _new(self, _: str) -> None:
        self._session.note(f"a new conversation: {self._session.talk.begin()}")

    def _show(self, rest: str) -> None:
        if not rest:
            view = self._session.view
            view.offensive = not view.offensive
            self._session.note(f"offensive text is {'shown' if view.offensive else 'masked'} from now on")
            return
        one = self._turn(rest)
        if one is not None:
            self._session.tell([words.user_line(one.said)])
            lines = words.answer(one.answer, one.number, one.millis, whole=True)
            self._session.tell(lines if one.spoke else words.silence(one.outcome, one.error, one.millis))

    def _generate(self, rest: str) -> None:
        """Test turns for one issue; those for leakage belong together, the others stand alone."""
        name, _, number = rest.partition(" ")
        issues = self._session.trust.issues
        issue = next((one for one in issues if name.lower() in (one.name, one.code.lower()) and name), None)
        if issue is None:
            self._session.note(
                f"/gen ISSUE [N]; the issues are {', '.join(self._session.trust.names)}", "warn"
            )
            return
        if number and not (number.isascii() and number.isdigit() and 1 <= int(number) <= MOST_GENERATED):
            self._session.note(f"no number {number!r}; must be 1 to {MOST_GENERATED}", "warn")
            return
        wanted, before = int(number or 1), self._session.chat.generated.get(issue.name, 0)
        texts = list(issue.generate(before + wanted, experiment_seed(self._session.chat.seed, 0)))[before:]
        if not texts:
            self._session.note(f"{issue.name} has no {'further ' * (before > 0)}test turns", "warn")
            return
        dialog = self._session.talk.next_dialog(f"gen-{issue.name}")
        for text in texts:
            if not self._say_generated(text, issue.name, dialog):
                return
            dialog = dialog if issue.name == LEAKAGE else self._session.talk.next_dialog(f"gen-{issue.name}")

    def _say_generated(self, text: str, issue: str, dialog: str) -> bool:
        """One generated turn; False if a limit kept it from being sent."""
        masked = issue == ABUSE and not self._session.view.offensive
        number = len(self._session.talk.exchanges) + 1
        line = (
            words.offensive_placeholder(text, number, why=f"generated for {issue}")
            if masked
            else words.user_line(text)
        )
        self._session.tell([line if masked else [*line, (f"   (generated for {issue})", "head")]])
        if self._session.ask(text, dialog=dialog, generated=issue) is None:
            return False
        count = self._session.chat.generated.get(issue, 0) + 1
        self._session.chat = self._session.chat.update(
            generated={**self._session.chat.generated, issue: count}
        )
        return True


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
