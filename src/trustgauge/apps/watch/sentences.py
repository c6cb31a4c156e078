"""What a watch says: the words for findings and changes, and its lines in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trustgauge.reports import numbers
from trustgauge.reports.components import read_messages
from trustgauge.reports.sanitize import name
from trustgauge.reports.sentences import flag, share_of_level
from trustgauge.reports.terminal import Line, line

FINDINGS = read_messages("trustgauge.apps.watch").table("findings")
"""Finding of a look -> its words."""


def series_name(key: Mapping[str, Any]) -> str:
    """A series in words: service, method and attribute."""
    return f"{name(key['service'])}, {name(key['method'])} {name(key['attribute'])}"


def look_lines(event: Mapping[str, Any]) -> list[Line]:
    """The lines of a look: its number, every rating, every change."""
    lines: list[Line] = []
    if event["run"]:
        over = event["series"] and all(one["spent"] > event["looks"] for one in event["series"])
        of = _place(event)
        more = ": all declared looks are used up, so levels are reported but no changes" if over else ""
        lines.append(line("look", f"{of} · {event['run']}{more}"))
    if event["skipped"]:
        lines.append(line("note", skipped_line(event["skipped"]), "warn"))
    lines += [line("rated", rating_line(one)) for one in event["series"]]
    lines += [line("note", f"{name(who)}: {name(why)}", "warn") for who, why in event["refused"].items()]
    lines += [line("fails", failure_line(one), "bad") for one in event["series"] if one.get("fails")]
    lines += [
        line("changed", change_line(one), "bad" if is_worse(one) else "warn") for one in event["changes"]
    ]
    return lines


def _place(event: Mapping[str, Any]) -> str:
    """The number of a look; looks that rated nothing spend none of the declared ones."""
    spent = max((one["spent"] for one in event["series"]), default=event["look"])
    if spent >= min(event["look"], event["looks"]):
        return f"{event['look']} of {event['looks']}"
    return f"{event['look']} · {spent} of {event['looks']} declared ones used"


def skipped_line(skipped: Mapping[str, Any]) -> str:
    """Which lines of the log are not rated, as they are no utterances."""
    count, first = skipped["count"], [str(one) for one in skipped["first"]]
    more = f" and {count - len(first):,} more" if count > len(first) else ""
    lines = f"line{'s' if count > 1 else ''} {', '.join(first)}{more}"
    return f"{skipped['file']}, {lines}: left out, as not a JSON object with dialog, speaker and text"


def rating_line(one: Mapping[str, Any]) -> str:
    """One rating of a look in a line."""
    words = FINDINGS[one["finding"]]
    if one["level"] is None or not one["certainty"]:
        return f"{series_name(one)}: {words}"
    share = share_of_level(one["level"], one["state"], one["certainty"])
    sure = "" if share is None else f" ({numbers.certainty(share, tight=True)})"
    new = "".join(f"; new: {flag(code)}" for code in one.get("new_flags", ()))
    return f"{series_name(one)}: {name(str(one['words'] or one['level']))}{sure}, {words}{new}"


def failure_line(one: Mapping[str, Any]) -> str:
    """A rating that is settled at a level that `--fail-on` names, or at a worse one."""
    return f"{series_name(one)}: {name(str(one['words'] or one['level']))}, which --fail-on does not allow"


def is_worse(change: Mapping[str, Any]) -> bool:
    """Whether a change is one for the worse."""
    return bool(change["direction"] == "worse")


DIRECTIONS = {
    "worse": "for the worse",
    "better": "for the better",
    "other": "neither better nor worse, as each value becomes the other",
}


def change_line(change: Mapping[str, Any]) -> str:
    """A change with both of its ratings."""
    old, new = (_side(change[side], words) for side, words in zip(SIDES, change["words"], strict=True))
    return f"{series_name(change)}, {DIRECTIONS[change['direction']]}: {old} → {new}"


SIDES = ("before", "after")


def _side(rating: Mapping[str, Any], words: str) -> str:
    shares = rating["certainty"]
    settled = rating["state"] == "rated"
    sure = numbers.certainty(shares.get(rating["level"]) if settled else max(shares.values()), tight=True)
    sure += "" if settled else ", not settled"
    version = f", version {name(rating['version'])}" if rating["version"] else ""
    return f"{name(words)} ({sure}, {rating['rating']}, {numbers.day(rating['tested'])}{version})"


def promise(looks: int, error: float) -> str:
    """What a watch promises of a service that does not change."""
    chance = f"1 of {round(1 / error)} watches"
    return f"{looks} looks · an unchanged service is reported as changed in at most {chance}"


def standing(series: Mapping[str, Any], most: int) -> str:
    """The sentence above the figure of a series."""
    level, looks = series["level"], series["looks"]
    spent = sum(map(has_shares, looks))
    text = f"{min(spent, most)} of {most} declared looks used."
    if level is None:
        return f"No settled level yet. {text}"
    since = next(look["at"] for look in reversed(looks) if look["finding"] in ("first", "changed"))
    over = " They are over: later looks tell levels, and no changes." if spent > most else ""
    return f"{name(series['words'][level])}, settled on {numbers.day(since)}. {text}{over}"


def has_shares(look: Mapping[str, Any]) -> bool:
    """Whether a look has shares of resamples to go by, so that it is one of the declared ones."""
    shares = sum(look["certainty"].values())
    return bool(look["finding"] != "not rated" and shares > 0 and look["size"] > 0)


def series_text(looks: Sequence[Mapping[str, Any]], words: Mapping[str, str]) -> str:
    """All looks of a series in words, for readers who do not see the figure."""
    lines = []
    for number, look in enumerate(looks, 1):
        level = look["level"]
        sure = numbers.certainty(look["certainty"].get(level))
        stands = f"{name(words[level])}, {sure}, " if has_shares(look) else ""
        lines.append(f"look {number}, {numbers.day(look['at'])}: {stands}{FINDINGS[look['finding']]}")
    return "; ".join(lines)
