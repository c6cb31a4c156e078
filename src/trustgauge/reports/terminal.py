"""Ratings in a terminal: lines of plain text, coloured when asked.

A line is a list of (text, style). `plain` joins it; `coloured` makes Rich text of it, never
markup. Words come before symbols, nothing is said by colour alone, and what a service is
called or answers is shown with its control characters visible.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from trustgauge.errors import TrustgaugeError, sentence
from trustgauge.records import Reason
from trustgauge.reports import numbers, sentences, views
from trustgauge.reports.components import Heads, view_by_name, view_of
from trustgauge.reports.document import certainty, levels, lossy, usable
from trustgauge.reports.sanitize import short, terminal
from trustgauge.reports.svg import DARK, step

if TYPE_CHECKING:
    from rich.text import Text

    from trustgauge.reports.document_model import PartEntry, RatingEntry, RunDocument


Line = list[tuple[str, str]]

STYLES = {
    "level1": f"bold {DARK['l1']}",
    "level2": f"bold {DARK['l2']}",
    "level3": f"bold {DARK['l3']}",
    "pill1": "bold #ffffff on #1f6fb2",
    "pill2": "bold #1b1f27 on #e0a100",
    "pill3": "bold #ffffff on #a3162e",
    "head": "dim",
    "strong": "bold",
    "warn": DARK["l2"],
    "bad": f"bold {DARK['l3']}",
    "": "",
}
HEAD = 9  # columns of "controls " and its like
NAME = 40  # columns of a name in a table
REPEATED = 80  # characters up to which a reason is said again
MANY = 4  # parts that a line names one by one


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What is said of an experiment before anything is sent.

    Calls, time and cost are those of the whole run, the same in all its experiments.
    """

    services: Sequence[str]
    method: str
    attribute: str
    blocks: int
    texts: int
    rule: str
    calls: int
    kept: int
    seconds: float
    usd: float
    parts: int = 1
    effect: float | None = None  # smallest effect found 8 times in 10
    effects: Mapping[float, float | None] = field(default_factory=dict)  # the same at other design effects
    measured: tuple[float, str] = (0.0, "")  # the design effect of an earlier run, and which; 0 for none
    limit_usd: float | None = None
    tokens: int = 0  # estimated from characters
    unpriced: Sequence[str] = ()  # services whose price is not known
    untimed: Sequence[str] = ()  # services of which nobody knows how quickly they answer
    unversioned: Sequence[str] = ()  # services with stored answers, whose code may have changed unseen
    timed_in: Sequence[str] = ()  # runs that timed the others
    shared: int = 0  # messages that are asked once for several experiments
    effort: float = 1.0  # how many times as long as usual rating an answer takes
    best_case: Reason | None = None  # why no service could be settled at the best level
    by_turns: Sequence[str] = ()  # services that cannot know which turns belong to one conversation


RATING_SECONDS = 0.0006
"""What reading, rating and reporting take for each answer, stored or not, as measured of 25,000.

Times the `rating_effort` of the method, if it has one.
"""
SHORT = 10.0  # seconds of work after asking that nobody needs to be told of


def line(head: str, said: str, style: str = "head") -> Line:
    """A line such as "report   ratings/..."."""
    return [(f"{head:<{HEAD}}", style), (terminal(said), "")]


def plan(experiments: Sequence[PlanFacts]) -> list[Line]:
    """The lines that say what the experiments of a run will ask and find, and what the run costs in all."""
    if not experiments:
        return []
    whole = experiments[0]
    several = len(experiments) > 1
    most = whole.limit_usd
    limit = f" · limit {numbers.usd(most) if most else '$0'}" if most is not None else ""
    if limit and whole.unpriced:
        limit += f", which does not hold for {', '.join(whole.unpriced)}"
    before = f"{numbers.count(whole.kept)} stored before"
    if whole.shared:
        before += f", {numbers.count(whole.shared)} shared between experiments"
    calls = f"{numbers.count(whole.calls)} ({before})"
    all_of_them = "in all, " if several else ""
    takes = f"{_time(whole)}{_rating_time(experiments)}"
    finds: dict[
        tuple[str, str], str
    ] = {}  # experiments that differ in services or language only find the same
    for one in experiments:
        if one.effect is not None:
            finds.setdefault((one.method, _finds(one, one.effect)), _who(one.services))
    methods = [method for method, _ in finds]
    named = {
        (method, said): f"{method} ({who})" if methods.count(method) > 1 else method
        for (method, said), who in finds.items()
    }
    return [
        *(_experiment(one) for one in experiments),
        line("calls", f"{all_of_them}{calls} · {takes} · {_cost(whole)}{limit}"),
        *([line("note", _unversioned(whole.unversioned), "warn")] if whole.unversioned else []),
        *(line("note", _by_turns(one.by_turns), "warn") for one in experiments if one.by_turns),
        *(line("finds", f"{named[key]}: {key[1]}" if several else key[1]) for key in finds),
        *(line("note", said, "warn") for said in dict.fromkeys(map(_best_case, experiments)) if said),
    ]


def _who(services: Sequence[str]) -> str:
    """The services of an experiment: the first, and how many more."""
    return f"{services[0]} and {len(services) - 1} more" if len(services) > 1 else services[0]


def _unversioned(services: Sequence[str]) -> str:
    """That stored answers are of the code as it was."""
    who = ", ".join(services) if len(services) <= views.MOST_NAMES else f"{len(services)} services"
    return (
        f"{who}: stored answers are used, and whether its code has changed since is not seen. If so, give it "
        "another `revision` in the plan, or ask again with --fresh."
    )


def _by_turns(services: Sequence[str]) -> str:
    """That a bot is asked conversations of which it sees single turns."""
    return (
        f"{', '.join(services)}: each turn of a conversation is asked by itself, as neither {{session}} nor "
        "{turns} stands in what is sent. A bot that remembers is then not rated as its users meet it."
    )


def _best_case(facts: PlanFacts) -> str:
    """Why no service could be settled at the best level; "" where one could, or nobody knows."""
    return "" if facts.best_case is None else sentences.reason(facts.best_case)


def looks(number: int, share: float, most: int) -> Line:
    """What planned looks save: the calls that are expected, and the most there can be."""
    expected = numbers.count(round(share * most))
    return line("looks", f"{number}, so about {expected} calls are expected, at most {numbers.count(most)}")


def _finds(facts: PlanFacts, effect: float) -> str:
    """What a plan finds, and at other design effects, or at the one that an earlier run measured."""
    view = view_by_name(facts.method)
    said = view.detectable_effect(effect)
    deff, run = facts.measured
    if deff:
        return f"{said}, at the design effect of {deff:g} that {run} measured"
    others = [
        f"{'none' if found is None else view.effect_size(found)} at {deff:g}"
        for deff, found in facts.effects.items()
    ]
    return (
        f"{said}; by design effect: {view.effect_size(effect)} at 1, {', '.join(others)}" if others else said
    )


def _experiment(facts: PlanFacts) -> Line:
    count = len(facts.services)
    who = terminal(facts.services[0]) if count == 1 else f"{count} services"
    parts = f"{facts.parts} languages × " if facts.parts > 1 else ""
    what = f"{facts.method}, {facts.attribute}"
    view = view_by_name(facts.method)
    size = f"{parts}{view.size(facts.blocks, facts.texts)}"
    return line("plan", f"{who} · {what} · {size} · rule {facts.rule}")


def _rating_time(experiments: Sequence[PlanFacts]) -> str:
    """How long the work takes that begins when all is asked; "" where that is hardly noticed."""
    answers = experiments[0].calls + experiments[0].kept
    seconds = answers * RATING_SECONDS * max(one.effort for one in experiments)
    return f", then {numbers.about(seconds)} to rate the answers" if seconds >= SHORT else ""


def _time(facts: PlanFacts) -> str:
    """How long a run will take, and how far that is known."""
    known = numbers.about(facts.seconds)
    if not facts.calls:
        return known
    if facts.untimed:
        partly = "partly " if facts.timed_in else ""
        who = (
            ", ".join(facts.untimed)
            if len(facts.untimed) < views.MOST_NAMES
            else f"{len(facts.untimed)} services"
        )
        return f"{known} ({partly}estimated: no earlier run timed {who} yet)"
    return f"{known} (as timed in {facts.timed_in[-1]})" if facts.timed_in else known


def _cost(facts: PlanFacts) -> str:
    """What a run will cost, and how far that is known."""
    known = numbers.usd(facts.usd)
    if facts.tokens and facts.usd:
        known = f"about {known} (about {numbers.count(facts.tokens)} tokens, estimated from characters)"
    if not facts.unpriced:
        return known
    unknown = f"price of {', '.join(facts.unpriced)} not in the plan"
    return f"{known}, and {unknown}" if facts.usd else unknown


def result(document: RunDocument) -> list[Line]:
    """The outcome of a run: a headline and the table of its services, or of the parts of the only one."""
    ratings, run = document["ratings"], document["run"]
    lines: list[Line] = []
    if run["state"] == "void":
        lines.append(line("void", sentences.controls(run["anchors"]), "bad"))
        return lines
    if len(ratings) == 1 and len(ratings[0]["parts"]) > 1:
        lines += [headline(ratings[0]), *part_table(ratings[0])]
    else:
        lines += service_table(ratings)
        shown: set[tuple[str, str]] = set()
        for rating in ratings:
            if len(rating["parts"]) > 1:
                # Ratings of one service for several profiles rest on the same issues: shown once.
                key = (str(rating["method"]["name"]), str(rating["service"]["key"]))
                again = view_of(rating).ordered and key in shown
                shown.add(key)
                lines += [headline(rating)] if again else [[("", "")], headline(rating), *part_table(rating)]
    if run["stopped"]:
        lines.append(line("stopped", f"{run['stopped']}; all received answers are saved", "warn"))
    if made_good := views.recovered_calls(run, ratings):
        lines.append(line("retried", f"recovered {made_good}"))
    lines.append(line("controls", sentences.controls(run["anchors"])))
    lines += notes(ratings, plain(lines))
    return lines


def headline(rating: RatingEntry, *, brackets: bool = False) -> Line:
    """One line: the level and the sentence. With `brackets`, "[BS]", for one-line output."""
    overall = rating["overall"]
    known = overall["level"] is not None and rating["state"] != "incomplete"
    named = rating["state"] if rating["state"] in {"not tested", "not settled"} else "not rated"
    none = "measured" if view_of(rating).gives_no_level(rating) else named
    letters = _mark(rating, str(overall["level"])) if known else none
    settled = rating["state"] == "rated"
    tone = f"pill{_tone(rating, overall['level'])}" if known and settled else "strong"
    shape = (
        f"[{letters}]"
        if brackets and (settled or not known)
        else f" {letters} "
        if settled
        else f"({letters})"
    )
    name = terminal(f"{rating['service']['name']} {rating['service']['version']}".strip())
    words = sentences.verdict(rating, directed=False)
    said = words[3:] if words.startswith("It ") else words
    joined = f" {name} {said}" if words.startswith("It ") else f" {name}: {said}"
    several = len(rating["parts"]) > 1 and settled and not view_of(rating).ordered
    worst = sentences.verdict_parts(rating) if several else []
    text = terminal(re.sub(r", even when[^.]*", "", joined).rstrip("."))
    alike = len(worst) == len(rating["parts"]) > MANY
    note = f"all {len(worst)} {sentences.noun(rating, len(worst))} alike" if alike else ", ".join(worst)
    if view_of(rating).ordered and settled:
        note = f"certainty {numbers.certainty(certainty(overall), tight=True)}"
    return [(shape, tone), (text, "strong"), (f" ({terminal(note)})" if note else "", "")]


def service_table(ratings: Sequence[RatingEntry]) -> list[Line]:
    """One row a service; a table for each method and kind of columns."""
    lines: list[Line] = []
    apart = views.distinctions(ratings)
    for group in views.by_table(ratings):
        members = [rating for _, rating in group]
        rows = [
            _row(rating, None, "; ".join(filter(None, (apart[number - 1], views.overall_notes(rating)))))
            for number, rating in group
        ]
        lines += [[("", "")], *_table("service", view_of(members[0]).heads(members), rows)]
    return lines[1:]


def part_table(rating: RatingEntry) -> list[Line]:
    """One row a part, worst first."""
    rows = [_row(rating, part, "; ".join(_notes(part, rating))) for part in sentences.worst_first(rating)]
    return _table(sentences.noun(rating, 1), view_of(rating).heads([rating]), rows)


WITHOUT = "overall.without"
"""Code of the reason that says what the rating would be without the parts that a plan excludes."""


def notes(ratings: Sequence[RatingEntry], above: str = "") -> list[Line]:
    """Cautions that must stand with a result; why a level is open only where it is not said `above`."""
    named = [*zip(_names(ratings), ratings, strict=True)]
    cautions: dict[str, list[str]] = {}
    for who, rating in named:
        for one in dict.fromkeys(view_of(rating).cautions(rating)):
            cautions.setdefault(one, []).append(who)
    said = [
        _of(list(dict.fromkeys(some)), one) if len(some) < len(ratings) else one
        for one, some in cautions.items()
    ]
    said += [
        _of([who], without) if len(ratings) > 1 else without
        for who, rating in named
        for without in sentences.reasons([one for one in rating["reasons"] if one["code"] == WITHOUT], rating)
    ]
    said += [sentences.import_note(rating) for rating in ratings]
    said += [f"{one['service']['name']}: {repeat}" for one in ratings if (repeat := sentences.retest(one))]
    still_open: dict[str, list[str]] = {}
    for who, rating in named:
        if rating["state"] == "not settled":
            still_open.setdefault(sentences.settle(rating), []).append(who)
        elif rating["state"] == "not tested" and rating["reasons"]:
            why = f"{sentences.no_level(rating)} {sentences.next_step(rating)}"
            still_open.setdefault(why, []).append(who)
    said += [_of(some, why) for why, some in still_open.items() if why.rstrip(".") not in above]
    return [line("note", one) for one in dict.fromkeys(said) if one]


def _of(who: Sequence[str], said: str) -> str:
    """What is said of some ratings, with their names, or how many they are."""
    return f"{views.few_names(who)}: {said}"


def _names(ratings: Sequence[RatingEntry]) -> list[str]:
    """Services by name; where one has several ratings, with what tells them apart."""
    return [
        ", ".join(filter(None, (str(rating["service"]["name"]), apart)))
        for rating, apart in zip(ratings, views.distinctions(ratings), strict=True)
    ]


def _because(rating: RatingEntry, verdict: str) -> list[str]:
    """How the level follows, and what only the whole rating says beyond its verdict and `differs`."""
    whole = [] if views.recognition_note(rating) else views.overall_reasons(rating)
    return [one for one in (sentences.follows(rating), *whole) if one and one not in verdict]


def show(document: RunDocument) -> list[Line]:
    """The whole rating as text: levels of depth 1, 2 and 4."""
    run = document["run"]
    lines = result(document)
    given_for: dict[tuple[str, str], str] = {}  # a service and its reasons -> for whom they are given first
    ratings = document["ratings"]
    named = zip(ratings, _names(ratings), views.distinctions(ratings), strict=True)
    for rating, full_name, apart in named:
        name = terminal(f"{rating['service']['name']} {rating['service']['version']}".strip())
        lines += [[("", "")], [(name, "strong"), (f" · {terminal(apart)}" if apart else "", "")]]
        lines.append(line("says", verdict := sentences.verdict(rating)))
        lines += [line("because", one) for one in _because(rating, verdict)]
        if differs := views.recognition_note(rating):
            lines.append(line("differs", differs))
        for who, reasons in views.part_reasons(rating):
            said = " ".join(reasons)
            mark = (str(rating["service"]["key"]), said.replace(rating["id"], ""))
            first = given_for.setdefault(mark, full_name)
            if first != full_name and len(said) > REPEATED:
                said = f"as for {first}, above."
            lines.append(line("reason", f"{who + ': ' if who else ''}{said}"))
        if gate := rating.get("gate"):
            lines.append(line("gate", sentences.gate(gate)))
        lines.append(line("method", f"{rating['method']['name']}, rule {rating['method']['rule']}"))
        lines.append(line("rated by", sentences.assessor(rating)))
    lines.append([("", "")])
    lines += [line("limits", one) for one in views.limits(document)]
    lines.append(
        line("valid", f"tested {numbers.day(run['ended'])}, valid until {numbers.day(run['expires'])}")
    )
    lines.append(line("check", f"trustgauge verify {run['id']}   (sends no requests)"))
    return lines


def problem(error: TrustgaugeError) -> list[Line]:
    """An error in its parts: what, what it must be, what was got, what to do.

    What to do about several faults in a row stands once, below the last of them.
    """
    if error.faults:
        lines = []
        for fault, after in zip_longest(error.faults, error.faults[1:]):
            where = f"  line {fault.line}" if fault.line else ""
            lines.append(
                line("error", f"{fault.place}: {_parts(fault.what, fault.must, fault.got)}{where}", "bad")
            )
            if fault.do and (after is None or after.do != fault.do):
                lines.append(line("", fault.do))
        return lines
    first = line("error", f"{_parts(error.what, error.must, error.got)} ({error.code})", "bad")
    return [first, line("", error.do)] if error.do else [first]


def plain(lines: Sequence[Line]) -> str:
    """The lines without colour; blanks at line ends are cut."""
    return "\n".join("".join(text for text, _ in one).rstrip() for one in lines)


def rich_text(lines: Sequence[Line]) -> Text:
    """The lines as Rich text, never markup."""
    from rich.text import Text  # Rich is slow to import, and pipes do without it

    whole = Text(no_wrap=True)
    for index, one in enumerate(lines):
        if index:
            whole.append("\n")
        for text, style in one:
            whole.append(text, style=STYLES.get(style, ""))
    return whole


def _parts(what: str, must: str, got: str) -> str:
    return sentence(what, must, got).removesuffix(".")


def _tone(rating: RatingEntry, level: str | None) -> int:
    order = levels(rating)
    return step(order.index(level), len(order)) if level is not None and level in order else 2


def _notes(part: PartEntry, rating: RatingEntry) -> list[str]:
    lines = [note for note in sentences.notes(part, rating) if not note.startswith("not settled")]
    if part["state"] == "not settled":
        more = part["more_texts"]
        asked = "texts" in rating["method"]["options"]  # not every method has the option
        about = f"--texts {more}" if asked else f"about {numbers.count(more or 0)} texts would"
        lines.append(f"not settled: {about}" if more else sentences.unsettled_state(part))
    return lines


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table: cells as they are printed, and the style of the rating."""

    name: str
    rating: str
    cells: Sequence[str]  # before the certainty, the certainty, after it
    note: str
    style: str


def _row(rating: RatingEntry, part: PartEntry | None, note: str) -> TableRow:
    """A service (no part) or part as a row; what has no level has no figures, and missing is never zero."""
    one, level = (rating, rating["overall"]["level"]) if part is None else (part, part["level"])
    state, style, view = one["state"], "", view_of(rating)
    if state in {"rated", "inferred"} and level is not None:
        word, style = _mark(rating, level), f"level{_tone(rating, level)}"
        word = f"inferred {word}" if state == "inferred" else word
    elif state == "assumed" and level is not None:
        word, style = f"{_mark(rating, level)}*", f"level{_tone(rating, level)}"
    elif state == "not settled" and level is not None:
        word, style = f"({_mark(rating, level)})", f"level{_tone(rating, level)}"
    elif state == "not applicable":
        word = numbers.NONE
    elif state in {"not tested", "not settled"}:
        word = state
    else:
        cover = one["coverage"]
        count = f" {usable(cover)}/{cover['planned']}" if lossy(cover) else ""
        word = f"not rated{count}"
    cells = view.cells(rating, part, tight=True)
    cells_of_row = [*cells.before, numbers.certainty(sentences.share(one), tight=True), *cells.after]
    known = style or view.gives_no_level(rating)
    shown = [terminal(cell) if known else numbers.NONE for cell in cells_of_row]
    name = rating["service"]["name"] if part is None else sentences.title(part)
    return TableRow(short(terminal(name), NAME), word, shown, terminal(note), style)


def _mark(rating: RatingEntry, level: str) -> str:
    return terminal(view_of(rating).mark(rating, level))


def _table(first: str, heads: Heads, rows: Sequence[TableRow]) -> list[Line]:
    """Lines whose columns are as wide as their widest cell; certainty and what follows stand at the right."""
    names = (*heads.before, "certainty", *heads.after)
    sizes = [
        max(columns(text) for text in (head, *(row.cells[i] for row in rows))) for i, head in enumerate(names)
    ]
    wide = max(columns(text) for text in (first, *(row.name for row in rows)))
    rated = max(columns(text) for text in ("rating", *(row.rating for row in rows)))
    note = "  note" if any(row.note for row in rows) else ""

    def join(cells: Sequence[str]) -> str:
        pads = zip(cells, sizes, strict=True)
        padded = [_pad(cell, size, right=i >= len(heads.before)) for i, (cell, size) in enumerate(pads)]
        return "".join(f"  {cell}" for cell in padded)

    lines: list[Line] = [[(f"{_pad(first, wide)}  {_pad('rating', rated)}{join(names)}{note}", "head")]]
    for row in rows:
        rest = join(row.cells) + (f"  {row.note}" if note else "")
        lines.append([(_pad(row.name, wide) + "  ", ""), (_pad(row.rating, rated), row.style), (rest, "")])
    return lines


def columns(text: str) -> int:
    """Columns a text takes in a terminal: wide East Asian characters take two, marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _pad(text: str, size: int, *, right: bool = False) -> str:
    blanks = " " * max(0, size - columns(text))
    return blanks + text if right else text + blanks
