"""What a verb shows: progress, results as JSON, lines and files, and the exit code that a script sees.

Of several exit codes the first of ORDER wins: a gate fails on complete and settled evidence, whatever else is
still open, and passes only if nothing is (docs/reference/commands.md).
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from trustgauge.errors import DiskFullError, StoreError
from trustgauge.records import Reason
from trustgauge.reports.document import unread, usable

if TYPE_CHECKING:
    from trustgauge.engine import RunAnnouncement
    from trustgauge.engine.progress import Progress
    from trustgauge.reports.document_model import GateEntry, RatingEntry, RunDocument
    from trustgauge.reports.terminal import PlanFacts
    from trustgauge.run.cost import Estimate
    from trustgauge.run.options import AskPlan


WORDS = {
    0: "done",
    1: "internal error, or a void run",
    2: "usage or plan error; nothing was sent",
    3: "service unreachable, key missing or refused; nothing rated",
    4: "incomplete; all received answers are saved",
    5: "not settled, or below the certainty asked for",
    10: "gate failed",
    130: "interrupted; all received answers are saved",
}
STOPPED = "the run ended with an error; all received answers are saved"
"""In place of the words of code 2, if services may have been asked."""
ORDER = (130, 1, 2, 3, 4, 10, 5, 0)
"""A failure wins over what is open: a build that lets exit 5 pass must not let a settled failure pass."""
NOTHING = ("incomplete", "not tested", "void")
"""States of a rating that says nothing."""


def emit_json(value: Any) -> None:
    """Exactly one JSON document on stdout."""
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")  # then no character may be replaced
    click.echo(json.dumps(value, indent=1, ensure_ascii=plain, sort_keys=True))


def say(lines: Any, options: dict[str, Any], *, err: bool = False) -> None:
    """Print lines of `reports.text`: coloured in a terminal, plain in a pipe."""
    from trustgauge.reports import terminal

    stream = sys.stderr if err else sys.stdout
    if options.get("no_color") or os.environ.get("NO_COLOR") or not stream.isatty():
        click.echo(terminal.plain(lines), err=err)
        return
    from rich.console import Console

    Console(stderr=err, highlight=False, soft_wrap=True).print(terminal.rich_text(lines))


def say_under_heads(lines: Iterable[tuple[str, str]], options: dict[str, Any], *, err: bool = False) -> None:
    """Print lines such as "wrote    plan.toml", each given as its head and what stands behind it."""
    from trustgauge.reports import terminal

    say([terminal.line(head, said) for head, said in lines], options, err=err)


def say_or_emit(
    facts: Any, lines: Iterable[tuple[str, str]], options: dict[str, Any], *, err: bool = False
) -> None:
    """What was done: with --json as one document, else in lines with heads."""
    if options["as_json"]:
        emit_json(facts)
    else:
        say_under_heads(lines, options, err=err)


def show_result(document: RunDocument, folder: Path, options: dict[str, Any]) -> None:
    """The outcome on stdout; where the report lies on stderr."""
    from trustgauge.reports import terminal

    if options["as_json"]:
        emit_json(document)
        return
    if options["quiet"]:
        for rating in document["ratings"]:
            say([terminal.headline(rating, brackets=True)], options)
        return
    say(terminal.result(document), options)
    say([terminal.line("report", str(folder / "report.html"))], options, err=True)


def write_output(path: Path | None, data: bytes | str, *, option: str = "-o") -> None:
    """Write a result to a file, whole or not at all, and say so on stderr; to stdout for no path or "-".

    Raises:
        StoreError, DiskFullError: the file cannot be written; then it is as it was.
    """
    from trustgauge.store.folder import map_errors, write_file

    data = data.encode("utf-8", "replace") if isinstance(data, str) else data
    if path is None or str(path) == "-":
        sys.stdout.buffer.write(data)
        return
    try:
        with map_errors(path):
            if path.exists() and not path.is_file():  # a pipe or a device stays what it is
                path.write_bytes(data)
            else:  # a link keeps pointing, and what was private stays it
                private = path.exists() and not path.stat().st_mode & 0o077
                write_file(path.resolve(), data, private=private)
    except DiskFullError:
        raise
    except StoreError as error:
        do = f"choose another place with {option}"
        raise StoreError(f"{path} cannot be written", got=error.got, do=do) from None
    click.echo(f"{'wrote':<9}{path}", err=True)


@dataclass(frozen=True, slots=True)
class Exit:
    """An exit code and why, in words."""

    code: int
    why: str

    def __str__(self) -> str:
        return f"exit {self.code}: {self.why}"


def exit_of(document: RunDocument, refused: Mapping[str, str] = MappingProxyType({})) -> Exit:
    """The exit of a finished run.

    Args:
        document: the run's `rating.json`; its ratings carry their gate, if one was set.
        refused: service or part -> why it refused or could not be reached.
    """
    reached = [Exit(0, WORDS[0])]
    run = document["run"]
    if run["state"] == "void":
        wrong = ", ".join(dict.fromkeys(one["name"] for one in run["anchors"] if one["wrong"]))
        reached.append(
            Exit(
                1,
                f"void run: {wrong} got a wrong level, so our instrument is at fault; please report it,"
                " and rate with another seed",
            )
        )
    ratings = document["ratings"]
    if refused:
        why = "; ".join(f"{part}: {said.rstrip('.')}" for part, said in refused.items())
        # Services that could be rated are; the code tells a script that one could not.
        states = [
            state for one in ratings for state in (one["state"], *(part["state"] for part in one["parts"]))
        ]
        text = "the others are rated" if any(state not in NOTHING for state in states) else "nothing rated"
        kept = any(usable(one["coverage"]) for one in ratings)
        again = "; what was answered is saved, and the same command goes on from there" if kept else ""
        reached.append(Exit(3, f"{why}; {text}{again}"))
    if run["stopped"] or any(one["state"] == "incomplete" for one in ratings):
        why = run["stopped"] or _why_incomplete(ratings)
        reached.append(Exit(4, f"incomplete: {why}; all received answers are saved"))
    reached += [_gate(one, gate) for one in ratings if (gate := one.get("gate"))]
    return first_exit(reached)


def first_exit(reached: Sequence[Exit]) -> Exit:
    """The exit that wins; a failed gate says what is open beside it."""
    won = min(reached, key=lambda one: ORDER.index(one.code))
    if won.code != 10:
        return won
    still_open = dict.fromkeys(one.why for one in reached if one.code == 5)
    return Exit(won.code, "; ".join((won.why, *still_open)))


def _why_incomplete(ratings: Sequence[RatingEntry]) -> str:
    incomplete = [one for one in ratings if one["state"] == "incomplete"]
    codes = {reason["code"] for one in incomplete for reason in one.get("reasons", ())}
    if "same-answer" in codes:
        return "one and the same answer to different questions"
    worst = max(incomplete, key=lambda one: _lost(one) / max(1, one["coverage"]["planned"]))
    if not (lost := _lost(worst)):
        return "what was asked could not be measured"
    of = f" of {worst['service']['name']}" if len(incomplete) > 1 else ""
    return f"too many calls lost: {lost:,} of {worst['coverage']['planned']:,} answers{of} are missing"


def _lost(one: RatingEntry) -> int:
    """Answers that never came; one that came and could not be read is none of them."""
    cover = one["coverage"]
    came = usable(cover) + unread(cover) + cover["unreadable"]
    return cover["planned"] - came - cover["not_applicable"]


def _gate(rating: RatingEntry, gate: GateEntry) -> Exit:
    from trustgauge.reports import numbers

    overall, name = rating["overall"], rating["service"]["name"]
    level = overall["level"]
    share = overall["certainty"].get(level) if level else None
    certainty = numbers.certainty(share)
    match gate["reason"]:
        case "gate.level":
            same = "as bad as" if level == gate["fail_on"] else "worse than"
            return Exit(10, f"gate failed: {level} is {same} --fail-on {gate['fail_on']}")
        case "gate.not-settled":
            from trustgauge.reports import sentences

            why = sentences.unsettled_state(rating).partition(": ")[2]
            sure = "as measured" if share is None else f"with certainty {certainty}"
            text = f"not settled: {name} is {level} {sure}"
            return Exit(5, f"{text}; {why}" if why else text)
        case "gate.certainty":
            return Exit(
                5, f"certainty of {name} is {certainty}, below --need-certainty {gate['need_certainty']}"
            )
        case "gate.incomplete":
            return Exit(4, f"incomplete: {name} cannot pass or fail a gate; all received answers are saved")
    return Exit(0, WORDS[0])


SILENT = 2.0  # seconds that a command may work in a pipe without a line
BURST = 2000  # texts a second; above it a batch came back at once, which is no pace
Watch = Callable[[dict[str, Any]], None]


def _silent(event: dict[str, Any]) -> None:
    """Nobody wants to see it."""


@contextmanager
def progress_display(options: dict[str, Any], announced: RunAnnouncement | None = None) -> Iterator[Watch]:
    """The watcher that the options ask for; it gets every event of the engine.

    Args:
        options: of the command.
        announced: what was said of the run; the watcher says so where it turns out to be quite wrong.
    """
    kind = _kind(options)
    if kind == "none":
        yield _silent
    elif kind == "json":
        yield lambda event: click.echo(json.dumps(event, ensure_ascii=False), err=True)
    elif kind == "plain":
        yield _Tenths(announced)
    else:
        with _live(announced) as watch:
            yield watch


def _kind(options: dict[str, Any]) -> str:
    """How progress is shown: `none`, `live`, `plain` or `json`."""
    kind = str(options.get("progress") or "auto")
    if kind != "auto":
        return kind
    if options.get("quiet") or options.get("as_json"):
        return "none"
    live = sys.stderr.isatty() and not options.get("no_color") and not os.environ.get("NO_COLOR")
    return "live" if live else "plain"


@contextmanager
def working(options: dict[str, Any], silent: float = SILENT) -> Iterator[Callable[[str], None]]:
    """`show(text)` says on stderr what is computed, until the block ends.

    A live terminal shows it at once, in place; a pipe or log gets a line where it takes `silent` seconds.
    """
    kind = _kind(options)
    if kind == "plain":
        with _lines_at_times(silent) as show:
            yield show
    elif kind == "live":
        from rich.console import Console

        with Console(stderr=True).status("") as status:
            yield status.update
    else:
        yield lambda text: None


@contextmanager
def _lines_at_times(seconds: float) -> Iterator[Callable[[str], None]]:
    """A plain line every so many seconds, where there is something new to say."""
    latest, ended = "", threading.Event()

    def show(text: str) -> None:
        nonlocal latest
        latest = text

    def tell() -> None:
        last = ""
        while not ended.wait(seconds):
            if latest != last:
                last = latest
                click.echo(f"{'working':<9}{last}", err=True)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield show
    finally:
        ended.set()
        thread.join()


@contextmanager
def computing(options: dict[str, Any], silent: float = SILENT) -> Iterator[Callable[[str], None]]:
    """`show(text)` says on stderr what is computed after asking, once it has taken `silent` seconds.

    In a live terminal the line stands above the bar of what was asked.
    """
    if _kind(options) not in ("plain", "live"):
        yield lambda text: None
        return
    timers: list[threading.Timer] = []

    def show(text: str) -> None:
        for timer in timers:
            timer.cancel()
        timer = threading.Timer(silent, click.echo, (f"{'working':<9}{text}",), {"err": True})
        timer.daemon = True
        timers[:] = [timer]
        timer.start()

    try:
        yield show
    finally:
        for timer in timers:
            timer.cancel()


class _Tenths:
    """One plain line a tenth of the way, at most one a second, for logs and pipes.

    What happens again and again is reported when it happens first, and its count at the end.
    """

    def __init__(self, announced: RunAnnouncement | None) -> None:
        from trustgauge.engine import RunAnnouncement
        from trustgauge.engine.progress import Progress

        self._progress, self._shown, self._last = Progress(announced or RunAnnouncement()), 0, ""
        self._correct = correction(self._progress)
        self._notes: Counter[tuple[str, ...]] = Counter()
        self._latest: dict[tuple[str, ...], dict[str, Any]] = {}

    def __call__(self, event: dict[str, Any]) -> None:
        """Take an event; print when a further tenth is done, or the service changed its pace."""
        self._progress.feed(event)
        if event["event"] in ("slowed", "breaker", "stopped", "limit"):
            self._note(event)
        elif event["event"] == "done":
            self._repeated()
        total, second = self._progress.total, event["at"][:19]
        tenth = 10 * self._progress.done // total if total else 0
        self._last = self._last or second
        if event["event"] == "plan":
            self._shown = min(self._shown, tenth)  # there is more to do than was known
        if event["event"] == "answer" and tenth > self._shown and second > self._last:
            self._shown, self._last = tenth, second
            click.echo(f"{'asked':<9}{summary(self._progress)}", err=True)
        for said in self._correct(event):
            click.echo(f"{'note':<9}{said}", err=True)

    def _note(self, event: dict[str, Any]) -> None:
        mark = tuple(str(event.get(name, "")) for name in ("event", "service", "state", "error"))
        self._notes[mark] += 1
        self._latest[mark] = event
        if self._notes[mark] == 1:
            _say(event)

    def _repeated(self) -> None:
        for mark, times in self._notes.items():
            if times > 1:
                _say(self._latest[mark], f" ({times:,} times)")
        self._notes.clear()


def _say(event: dict[str, Any], more: str = "") -> None:
    from trustgauge.reports import sentences
    from trustgauge.reports.sanitize import terminal

    click.echo(f"{'note':<9}{terminal(sentences.event(**event))}{more}", err=True)


def correction(progress: Progress) -> Callable[[dict[str, Any]], Iterator[str]]:
    """Tells of each event, once, that the run takes quite another time than was announced.

    Looks once a second: there may be thousands of answers in one.
    """
    done, looked = progress.announced.seconds is None, ""

    def correct(event: dict[str, Any]) -> Iterator[str]:
        nonlocal done, looked
        from trustgauge.reports import numbers

        if done or event["event"] != "answer" or event["at"][:19] == looked:
            return
        looked = event["at"][:19]
        seconds = progress.revised_duration()
        if seconds is not None and progress.announced.seconds is not None:
            done = True
            said, now = numbers.about(progress.announced.seconds), numbers.about(seconds)
            yield f"was announced as {said}; at the pace of the first {progress.done:,} answers it is {now}"

    return correct


def summary(progress: Any) -> str:
    """How far a run is, in one line: done, pace, spent, time left, errors by cause."""
    from trustgauge.reports import numbers

    parts = [f"{progress.done:,}/{progress.total:,} answers"]
    if progress.rate and progress.rate < BURST:
        parts.append(f"{progress.rate:,.1f} a second")
    if progress.usd:
        parts.append(numbers.usd(progress.usd))
    left = progress.seconds_left()
    if left:
        parts.append(f"{' to '.join(dict.fromkeys(map(numbers.span, left)))} left")
    parts += [f"{code} × {count}" for code, count in progress.errors.most_common(3)]
    return " · ".join(parts)


@contextmanager
def _live(announced: RunAnnouncement | None) -> Iterator[Watch]:
    """A bar a part, redrawn in place on stderr, and one line of sums."""
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.text import Text

    from trustgauge.engine import RunAnnouncement
    from trustgauge.engine.progress import Progress as Sums
    from trustgauge.reports.sanitize import terminal

    sums, tasks = Sums(announced or RunAnnouncement()), dict[str, Any]()
    correct = correction(sums)
    bars = Progress(TextColumn("  {task.description}", markup=False), BarColumn(28), MofNCompleteColumn())

    def drawn() -> Group:
        return Group(bars, Text(f"  {summary(sums)}   Ctrl-C stops and keeps", style="dim"))

    with Live(
        get_renderable=drawn, console=Console(stderr=True), refresh_per_second=8, transient=True
    ) as live:

        def watch(event: dict[str, Any]) -> None:
            sums.feed(event)
            part = str(event.get("part", ""))
            if event["event"] == "plan":
                if part in tasks:
                    bars.update(tasks[part], total=sums.parts[part].total)
                else:
                    tasks[part] = bars.add_task(terminal(part), total=event["total"])
            elif event["event"] == "answer":
                bars.update(tasks[part], completed=sums.parts[part].done)
            for said in correct(event):
                live.console.print(Text(f"{'note':<9}{said}"))

        yield watch


def judge_lines(estimate: Estimate) -> list[Any]:
    """A line for each second judge: how often it will be asked, at most."""
    from trustgauge.reports import numbers, terminal

    lines = []
    for one in estimate.judging:
        calls, further = numbers.count(one.calls), numbers.count(one.further)
        said = f"of these calls, {calls} to {one.service}"
        if one.refer == "all":
            said += " at most, as equal answers are judged once"
        elif one.further:
            said += (
                f"; and {further} more at most ({numbers.usd(one.most_usd - one.usd)}), if no answer can be "
                "read by rule"
            )
        lines.append(terminal.line("judge", said))
    return lines


def asking_experiments(prepared: AskPlan) -> list[int]:
    """The experiments that ask somebody."""
    return list(dict.fromkeys(one.experiment for one in prepared.targets if one.control is None))


def simulated_effects(
    prepared: AskPlan, experiments: Iterable[int], options: dict[str, Any], *, whole: bool = True
) -> dict[int, Any]:
    """What each experiment can find; a terminal shows what is simulated, since that can take seconds.

    Of logs nothing is simulated: they are as long as they are, and hold other texts than a plan.

    Args:
        prepared: the plan.
        experiments: their numbers.
        options: of the command.
        whole: at every design effect, else where the method can at 1 alone, which takes a third of the time.
    """
    from trustgauge.methods import PowerAtDesignEffect

    found: dict[int, Any] = {}
    with working(options) as show:
        for index in experiments:
            method = prepared.methods[index]
            if _size_of_logs(prepared, index):
                found[index] = {}
                continue
            show(f"Simulating what this plan can find: {method.name}")
            if whole or not isinstance(method, PowerAtDesignEffect):
                found[index] = method.power(prepared.plan.seed)
            else:
                found[index] = {"deff_1": method.power_at(prepared.plan.seed, 1.0)}
    return found


def best_cases(prepared: AskPlan, experiments: Iterable[int], options: dict[str, Any]) -> dict[int, Reason]:
    """Experiments that are too small for the best level, and why, as far as methods know that beforehand."""
    from trustgauge.methods import BestCaseRater

    found: dict[int, Reason] = {}
    with working(options) as show:
        for index in experiments:
            method = prepared.methods[index]
            if not isinstance(method, BestCaseRater) or _size_of_logs(prepared, index):
                continue
            show(f"Trying what this plan can settle: {method.name}")
            why = method.best_case(prepared.plan.seed)
            found |= {} if why is None else {index: why}
    return found


def _size_of_logs(prepared: AskPlan, index: int) -> tuple[int, int] | None:
    """Blocks and texts of a block where all services of an experiment are logs."""
    from trustgauge.run.targets import recorded_size

    mine = {one.service for one in prepared.targets if one.experiment == index and one.control is None}
    logs = [recorded_size(prepared.probes, one, mine) for one in prepared.probes if one[0] == index]
    return max((one for one in logs if one), default=None)


def plan_facts(
    prepared: AskPlan,
    estimate: Estimate,
    index: int,
    finds: Any,
    *,
    effects: Mapping[float, float | None] = MappingProxyType({}),
    measured: tuple[float, str] = (0.0, ""),
) -> PlanFacts:
    """What the plan lines say of one experiment; of effects by design effect what the caller knows."""
    from trustgauge.methods import LongRater
    from trustgauge.reports.terminal import PlanFacts
    from trustgauge.run.probe_batches import batches_of, count_blocks

    method = prepared.methods[index]
    mine = [one for one in prepared.targets if one.experiment == index and one.control is None]
    by_service = dict.fromkeys(one.service for one in mine)
    places = [place for place in prepared.probes if place[0] == index]
    size = max(count_blocks(prepared.probes, place) for place in places), method.texts
    blocks, texts = _size_of_logs(prepared, index) or size
    alone = [one.service for one in mine if one.description and one.description.takes_turns_alone()]
    talks = any((next(batches_of(prepared.probes, place))["turn"] > 0).any() for place in places if alone)
    return PlanFacts(
        services=list(by_service),
        method=method.name,
        attribute=method.issue,
        blocks=blocks,
        texts=texts,
        rule=method.rule,
        calls=estimate.calls,
        kept=estimate.kept,
        shared=estimate.shared,
        seconds=estimate.seconds,
        usd=estimate.usd,
        parts=max(len({one.part for one in mine if one.service == name}) for name in by_service),
        effect=(finds or {}).get("deff_1"),
        effects=effects,
        measured=measured,
        limit_usd=prepared.plan.budget.usd,
        tokens=estimate.tokens,
        unpriced=estimate.unpriced,
        untimed=estimate.untimed,
        unversioned=estimate.unversioned,
        timed_in=estimate.timed_in,
        by_turns=list(dict.fromkeys(alone)) if talks else [],
        effort=method.rating_effort if isinstance(method, LongRater) else 1.0,
    )
