"""The page of a folder's watches: levels over time, with the band of what each look leaves open.

A step is the level that holds; a change is seen only where the band leaves the step. One HTML
file without a script, under the policy of the other pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from trustgauge.apps.watch import sentences
from trustgauge.reports import components, html, numbers, sanitize, svg, views
from trustgauge.reports.sanitize import name
from trustgauge.reports.sentences import share_of_level
from trustgauge.reports.svg import step

LEFT, TOP, WIDE, HIGH = 176.0, 26.0, 36.0, 36.0
TAIL = 0.025  # of the resamples, at either end of the band
LEGEND = (
    "The line is the level that holds; the band covers 95 % of the resamples of each look. Full marks are "
    "settled, open ones are not; hatched looks could not be rated."
)

Looks = Sequence[Mapping[str, Any]]


def page(watches: Sequence[Mapping[str, Any]]) -> str:
    """The page of all watches of a folder.

    Args:
        watches: their states, as `watch-<key>.json` holds them.
    """
    content = {
        "watches": [_watch(one, number) for number, one in enumerate(watches, 1)],
        "legend": LEGEND,
        "policy": policy(),
        "style": Markup(html.style()),  # our own file
    }
    return _environment().get_template("watch.html.j2").render(content)


@cache
def policy() -> str:
    """The content policy: this file's own style, and no script at all."""
    return components.policy(html.style())


def _watch(state: Mapping[str, Any], number: int) -> dict[str, Any]:
    """One watch as its template needs it."""
    rows = []
    for place, series in enumerate(state["series"].values(), 1):
        looks = series["looks"]
        rows.append(
            {
                "title": sentences.series_name(series["key"]),
                "label": f"{sentences.series_name(series['key'])}, {number}.{place}",
                "standing": sentences.standing(series, state["most"]),
                "figure": Markup(over_time(series, state["most"], versions=not state["log"])),
                "rated": _rated(series),
                "words": series["words"],
                "looks": list(enumerate(looks, 1))[::-1],
            }
        )
    return {
        "name": name(state["name"]),
        "log": sanitize.visible(state["log"]),
        "failed": sanitize.visible(state["failed"]),
        "changes": [sentences.change_line(one) for one in reversed(state["changes"])],
        "series": rows,
        "looks": len(state["runs"]),
        "most": state["most"],
    }


def _rated(series: Mapping[str, Any]) -> dict[str, Any]:
    """What drawing a level wants to know of its rating."""
    scale = [{"level": level, "words": series["words"][level]} for level in series["levels"]]
    return {
        "method": {"name": series["key"]["method"], "rule": series["key"]["rule"], "options": {}},
        "overall": {"scale": scale},
    }


def over_time(series: Mapping[str, Any], most: int, *, versions: bool = True) -> str:
    """The level of one rating over its looks, best on top.

    Args:
        series: one of a watch's state.
        most: declared looks; a dashed line stands behind the last of them.
        versions: whether changed versions of the service are marked.
    """
    looks, levels = series["looks"], series["levels"]
    wide, high = WIDE * max(1, len(looks)), HIGH * len(levels)
    drawn = [
        *_grid([series["words"][level] for level in levels], wide),
        *_columns(looks, levels),
        _steps(looks, levels),
    ]
    drawn += _marks(looks, levels)
    spent = [place for place, look in enumerate(looks, 1) if sentences.has_shares(look)]
    if len(spent) > most:
        path = f"M{svg.number(LEFT + WIDE * spent[most - 1])} {svg.number(TOP - 6)}V{svg.number(TOP + high)}"
        drawn.append(svg.tag("path", {"d": path, "class": "cut", "stroke-dasharray": "4 3"}))
    drawn += _dates(looks, TOP + high + 18)
    if versions:
        drawn += _versions(looks, TOP + high)
    title = f"Level over time: {sentences.series_name(series['key'])}"
    said = sentences.series_text(looks, series["words"])
    return svg.picture((LEFT + wide + 60, TOP + high + 46), title, said, *drawn, **{"class": "fig"})


def _middle(place: int) -> float:
    return LEFT + WIDE * (place + 0.5)


def _row(level: int) -> float:
    return TOP + HIGH * (level + 0.5)


def _grid(names: Sequence[str], wide: float) -> Iterator[str]:
    for place, words in enumerate(names):
        y = svg.number(_row(place))
        yield svg.tag("path", {"d": f"M{LEFT} {y}H{svg.number(LEFT + wide)}", "class": "grid"})
        label = svg.fit(words, 12, LEFT - 16)
        yield svg.write(LEFT - 8, _row(place) + 4, label, 12, end="end", **{"class": "ink"})


def _columns(looks: Looks, levels: Sequence[str]) -> Iterator[str]:
    """The band of each look, or the hatch of one that was not rated."""
    for place, look in enumerate(looks):
        left = LEFT + WIDE * place
        reach = band(look["certainty"], levels) if look["finding"] != "not rated" else None
        if reach is None:
            yield svg.hatch(left, WIDE, TOP, HIGH * len(levels))
            continue
        top = TOP + HIGH * reach[0] + 4
        yield svg.box(left, top, WIDE, HIGH * (reach[1] - reach[0] + 1) - 8, **{"class": "sn"})


def band(certainty: Mapping[str, float], levels: Sequence[str]) -> tuple[int, int] | None:
    """Places of the best and the worst level that the middle 95 % of the resamples reach; None without."""
    total = sum(certainty.get(level, 0.0) for level in levels)
    if total <= 0:
        return None
    below, first, last = 0.0, len(levels) - 1, 0
    for place, level in enumerate(levels):
        upto = below + certainty.get(level, 0.0) / total
        if upto > TAIL and below < 1 - TAIL:
            first, last = min(first, place), max(last, place)
        below = upto
    return first, last


def _steps(looks: Looks, levels: Sequence[str]) -> str:
    """The level that holds, as a line of steps."""
    path, level = "", None
    for place, look in enumerate(looks):
        x = svg.number(LEFT + WIDE * place)
        if look["finding"] in ("first", "changed"):
            y = svg.number(_row(levels.index(look["level"])))
            path += f"M{x} {y}" if level is None else f"V{y}"
            level = look["level"]
        if level is not None:
            path += f"H{svg.number(LEFT + WIDE * (place + 1))}"
    line = svg.tag("path", {"d": path or "M0 0", "stroke": "currentColor", "stroke-width": 2, "fill": "none"})
    return svg.tag("g", {"class": "cink"}, line)


def _marks(looks: Looks, levels: Sequence[str]) -> Iterator[str]:
    free = 0.0
    for place, look in enumerate(looks):
        if look["finding"] == "not rated":
            continue
        at = levels.index(look["level"])
        settled = look["state"] == "rated"
        spot = svg.marker(at, len(levels), _middle(place), _row(at), filled=settled)
        yield svg.tag("g", {"class": f"c{step(at, len(levels))}"}, spot)
        half = svg.width("changed", 12, bold=True) / 2
        if look["finding"] == "changed" and _middle(place) - half >= free:
            said = svg.write(
                _middle(place), TOP - 10, "changed", 12, bold=True, end="middle", **{"class": "ink"}
            )
            free = _middle(place) + half + 6
            yield said


def _dates(looks: Looks, y: float) -> Iterator[str]:
    """Dates of looks, as many as there is room for."""
    free = 0.0
    for place, look in enumerate(looks):
        text = numbers.day(look["at"])
        if _middle(place) - svg.width(text, 11) / 2 >= free:
            yield svg.write(_middle(place), y, text, 11, end="middle", **{"class": "second"})
            free = _middle(place) + svg.width(text, 11) / 2 + 8


def _versions(looks: Looks, y: float) -> Iterator[str]:
    """A tick where the service became another version, with its name where there is room."""
    free = 0.0
    for place, (before, look) in enumerate(pairwise(looks), 1):
        if (before["version"], before["fingerprint"]) == (look["version"], look["fingerprint"]):
            continue
        x = LEFT + WIDE * place
        tick: dict[str, svg.Attribute] = {
            "d": f"M{svg.number(x)} {svg.number(y - 8)}v12",
            "stroke": "currentColor",
            "stroke-width": 2,
        }
        yield svg.tag("g", {"class": "cink"}, svg.tag("path", tick))
        text = svg.fit(look["version"] or "other settings", 11, 90)
        if x >= free:
            yield svg.write(x, y + 36, text, 11, **{"class": "ink"})
            free = x + svg.width(text, 11) + 8


@cache
def _environment() -> Environment:
    environment = components.environment()
    environment.globals |= {"findings": sentences.FINDINGS, "dash": numbers.NONE}
    environment.filters |= {
        "cap": lambda text: text[:1].upper() + text[1:],
        "certainty": numbers.certainty,
        "day": numbers.day,
        "mark": lambda rated, level: Markup(svg.mark(rated, level)),  # escaped where it was drawn
        "share_of_level": lambda look: share_of_level(look["level"], look["state"], look["certainty"]),
        "shown": lambda text: sanitize.visible(str(text)),
        "strip": lambda certainty, rated: Markup(svg.strip(rated, certainty)),
        "tone": views.tone,
    }
    return environment
