"""Lines of the live chat console: what was said, what it scores, and what it comes to so far.

Pure functions of plain facts. Whatever a bot says is shown with its control characters visible, and every
further line of an answer is marked, so that no bot can write a line of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trustgauge.records import TOO_LONG
from trustgauge.reports import numbers, sentences
from trustgauge.reports.components import read_messages
from trustgauge.reports.sanitize import short, terminal
from trustgauge.reports.terminal import Line

if TYPE_CHECKING:
    from trustgauge.reports.document_model import PartEntry, RatingEntry

YOU, BOT = "you > ", "bot > "
INDENT = " " * len(BOT)
MARGIN = "    | "  # before every further line of an answer
WIDE = 64  # columns from which the time of an answer stands on a line of its own
MOST_SHOWN, MOST_LINES = 2000, 40  # of an answer, unless it is asked for
LEVELS = {"L": "Low", "M": "Medium", "H": "High"}
TONES = {"L": "level1", "M": "level2", "H": "level3"}
PROVISIONAL = 50  # bot utterances below which a rating is provisional (trust 4.6)

WORDS = read_messages("trustgauge.apps.chat")
OUTCOMES, MARKS, UNREAD, RULES, HELP, ENDS = map(
    WORDS.table, ("outcomes", "marks", "unread", "rules", "help", "ends")
)
HIDDEN = ("score", "user", "unread", "words", "english")
"""Marks that stand elsewhere, or are counted for something else; unread ones are named if there are any."""


def help_lines() -> list[Line]:
    """What can be typed."""
    return [[(f"{name:<18}", "strong"), (what, "")] for name, what in HELP.items()]


def greeting(service: str, profile: str, order: str) -> Line:
    """Who is talked to, for whom it is rated, and where help is."""
    return [(terminal(service), "strong"), (f" · {terminal(profile)}: {terminal(order)} · /help", "")]


def user_line(text: str) -> Line:
    """What the user said, on one line."""
    return [(YOU, "head"), (terminal(text), "")]


def offensive_placeholder(text: str, number: int, *, side: str = YOU, why: str = "offensive text") -> Line:
    """What stands in the place of offensive text until somebody asks for it."""
    words = len(text.split())
    return [(side, "head"), (f"[{why}, {words} word{'' if words == 1 else 's'}: /show {number}]", "")]


def answer(text: str, number: int, millis: float, *, whole: bool = False) -> list[Line]:
    """What the bot said and how long it took; long answers are cut unless the `whole` is wanted."""
    shown, left = (text, 0) if whole else _cut(text)
    first, *rest = [terminal(one.replace("\t", "    ")) for one in shown.splitlines() or [""]]
    lines: list[Line] = [[(BOT, "head"), (first, "")]]
    lines += [[(MARGIN, "head"), (one, "")] for one in rest]
    if left:
        lines.append(note(f"{numbers.count(left)} more characters: /show {number}"))
    took = f"{millis:,.0f} ms"
    if len(lines) == 1 and len(first) < WIDE:
        lines[0] += [(" " * (WIDE - len(first)), ""), (took, "head")]
    else:
        lines.append([(INDENT + took, "head")])
    return lines


def _cut(text: str) -> tuple[str, int]:
    """The beginning of an answer, and how many characters are left out."""
    if len(text) <= MOST_SHOWN and len(text.splitlines()) <= MOST_LINES:
        return text, 0
    shown = "\n".join(text[:MOST_SHOWN].splitlines()[:MOST_LINES])
    return shown, len(text) - len(shown)


def silence(outcome: str, error: str, millis: float) -> list[Line]:
    """A turn in which the bot said nothing, and why."""
    lines: list[Line] = [
        [(BOT, "head"), (f"[{OUTCOMES[outcome]}]", "warn"), (f"   {millis:,.0f} ms", "head")]
    ]
    return [*lines, note(short(error, 300))] if error else lines


def scores(
    found: Sequence[tuple[str, float, str]],
    possible: Sequence[str],
    unknown: Sequence[str],
    unread: Sequence[str] = (),
) -> Line:
    """The scores of one utterance by issue, with their levels, and the level of the profile so far.

    Issues that could not read the utterance have no score.
    """
    line: Line = [(INDENT, "")]
    for issue, score, level in found:
        line += [(f"{issue} {score:.2f} ", ""), (LEVELS[level], TONES[level]), ("   ", "")]
    line += [(f"{issue} {MARKS['unread']}   ", "") for issue in unread]
    return [*line, (f"so far: {risk(possible)}{open_issues(unknown)}", "strong")]


def user_score(issue: str, score: float, level: str) -> Line:
    """The user's own score of an issue, which counts for nothing."""
    return [(f"{INDENT}yours: {issue} {score:.2f} {LEVELS[level]} (does not count for the bot)", "head")]


def risk(possible: Sequence[str]) -> str:
    """The levels that may come out, in words.

    >>> risk(["L", "M"]), risk(["H"]), risk(["L", "M", "H"])
    ('Low or Medium risk', 'High risk', 'Low, Medium or High risk')
    """
    return f"{_listed([LEVELS[one] for one in possible], 'or')} risk"


def open_issues(unknown: Sequence[str]) -> str:
    """Which issues are still open.

    >>> open_issues(["leakage"]), open_issues([])
    (' (leakage open)', '')
    """
    return f" ({_listed(unknown, 'and')} open)" if unknown else ""


def _listed(words: Sequence[str], last: str) -> str:
    return f" {last} ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else ""


def note(text: str, style: str = "head") -> Line:
    """Something to know, under what it is about."""
    return [(INDENT + terminal(text), style)]


def looping(times: int) -> Line:
    """The bot says one thing again and again."""
    return note(f"the bot has given this answer {times} times in a row", "warn")


def turn_why(
    number: int,
    found: Sequence[tuple[str, float, str]],
    marks: Mapping[str, Any],
    unread: Sequence[str] = (),
) -> list[Line]:
    """How an utterance came to its scores: what each issue read in it, and which could not read it."""
    if not found and not unread:
        return [note(f"{number}: nothing to score in this turn")]
    long = UNREAD[TOO_LONG] if marks.get("error") == TOO_LONG else ""
    lines = [
        note(f"{number}: {issue} {MARKS['unread']}{long or UNREAD.get(issue, '')}", "") for issue in unread
    ]
    for issue, score, level in found:
        read = ", ".join(_read(issue, marks))
        lines.append(note(f"{number}: {issue} {score:.2f} {LEVELS[level]}{': ' + read if read else ''}", ""))
    personal = marks.get("leakage_personal")
    return (
        [*lines, note(f"{number}: personal data not given by you: {', '.join(personal)}")]
        if personal
        else lines
    )


def _read(issue: str, marks: Mapping[str, Any]) -> Iterator[str]:
    """The plain figures among the marks of an issue, `HIDDEN` ones only where something is to be said."""
    for name, value in marks.items():
        key = name.removeprefix(f"{issue}_")
        hidden = key in HIDDEN and not (key == "unread" and value)
        if key != name and not hidden and isinstance(value, int | float):
            text = f"{value:g}" if isinstance(value, float) else str(value)
            yield f"{text} {MARKS.get(key, key.replace('_', ' '))}"


def level_why(combination: Mapping[str, Any]) -> list[Line]:
    """How the levels of the issues combine, place by place."""
    lines = [note(f"rule {combination['rule']}: {RULES[combination['rule']]}", "")]
    for one in combination["issues"]:
        level = LEVELS[one["level"]] if one["level"] else "open"
        counts = [
            f"{name} {one[name]:.3g}"
            for name in ("weight", "points", "risk", "score")
            if one.get(name) is not None
        ]
        lines.append(
            note(f"{one['rank']:g}. {one['issue']} {level}" + "".join(f", {each}" for each in counts), "")
        )
    if combination.get("mean") is not None:
        low, high = combination["cuts"]
        lines.append(note(f"mean {combination['mean']:.2f}: Low below {low:.2f}, High above {high:.2f}", ""))
    if combination.get("points"):
        text = ", ".join(f"{LEVELS[name]} {value:g}" for name, value in combination["points"].items())
        lines.append(note(f"points: {text}", ""))
    if combination.get("not_counted"):
        lines.append(note(f"counts 0 by this rule: {', '.join(combination['not_counted'])}", ""))
    return [
        *lines,
        note(f"so far: {risk(combination['levels'])}{open_issues(combination['missing'])}", "strong"),
    ]


def ending(rating: RatingEntry, probed: bool) -> Line:
    """The issues of a rating on one line; what is not settled stands in brackets."""
    issues = [_issue(part, probed) for part in rating["parts"]]
    return [(" · ".join(terminal(one) for one in issues), "")]


def _issue(part: PartEntry, probed: bool) -> str:
    name, score, level = part["key"], part["score"], part["level"]
    figure = "" if score is None else f" {score:.2f}"
    if level is not None:
        if part["state"] in ("rated", "assumed"):
            return f"{name}{figure} {LEVELS[level]}{'*' if part['state'] == 'assumed' else ''}"
        if sentences.obstacles(part):
            return f"{name}{figure} ({LEVELS[level]}, {sentences.unsettled_state(part)})"
        sure = sentences.share(part)
        said = ENDS["unsettled"] if sure is None else numbers.certainty(sure)
        return f"{name}{figure} ({LEVELS[level]}, {said})"
    way = " (--probe-leaks)" if name == "leakage" and part["state"] == "not tested" and not probed else ""
    return f"{name}{figure} {part['state']}{way}"


def final(
    rating: RatingEntry,
    title: str,
    possible: Sequence[str],
    unknown: Sequence[str],
    spoken: tuple[int, int],
) -> list[Line]:
    """The level of the profile at the end, and how far it can be trusted.

    Args:
        rating: of the run's document, for the profile.
        title: of the profile.
        possible: levels by the scores as they are, for where the rating has none.
        unknown: issues that are not known.
        spoken: utterances of the bot, and conversations in which it spoke.
    """
    (count, dialogs), state = spoken, rating["state"]
    facts = {"title": title, "state": state, **_outcome(rating, possible)}
    facts["hangs"] = f", depending on {_listed(unknown, 'and')}" if unknown else ""
    words = ENDS[_ending_of(rating)].format(**facts)
    said = f"{count:,} utterance{'' if count == 1 else 's'}"
    few = f" {said}: provisional" if count < PROVISIONAL else f" {said}"
    lines: list[Line] = [[(terminal(words), "strong"), (few, "")]]
    if dialogs < 2 and state != "rated":
        lines.append(note("one conversation cannot be resampled, so it settles nothing: /new begins another"))
    return lines


def _ending_of(rating: RatingEntry) -> str:
    """Which sentence of `ENDS` says how a chat ended."""
    level, shares = rating["overall"]["level"], sentences.shares(rating)
    if level is None:
        return "open"
    if rating["state"] != "not settled":
        return "settled" if shares else "assumed"
    if not shares:
        return "unsure"
    return "likeliest" if sentences.share(rating) is not None else "unlikely"


def _outcome(rating: RatingEntry, possible: Sequence[str]) -> dict[str, str]:
    """The level in words, that of most resamples, and its certainty, as in the report."""
    level, shares = rating["overall"]["level"], sentences.shares(rating)
    likeliest = max(shares, key=lambda one: shares[one], default=None)
    if level is not None and sentences.share(rating) is not None:
        likeliest = level
    return {
        "risk": risk([level] if level is not None else possible),
        "likeliest": "" if likeliest is None else risk([likeliest]),
        "certainty": "" if likeliest is None else numbers.certainty(shares[likeliest]),
    }
