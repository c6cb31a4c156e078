"""What can be typed into a live chat beside what is said to the bot."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from trustgauge.apps.chat import ending
from trustgauge.apps.chat import lines as words
from trustgauge.methods.trust.profiles import PAPER_NAMES, PUBLISHED, IssueOrder, order_of, title
from trustgauge.run.chat_store import OWN_ORDER
from trustgauge.run.conversation import ChatTurn
from trustgauge.run.targets import experiment_seed

if TYPE_CHECKING:
    from trustgauge.apps.chat.session import ChatSession

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
