"""The ratings of one service over time, as a figure: one assessor's ratings by one method and rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from markupsafe import Markup

from trustgauge.reports import label, numbers, sentences, svg
from trustgauge.reports.document import is_same_service, levels
from trustgauge.reports.sanitize import visible
from trustgauge.reports.svg import step

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry, ServiceEntry

LEFT, TOP, WIDE, HIGH = 8.0, 14.0, 88.0, 38.0
RIGHT = 116.0
"""For the names of the levels: they stand beside the newest rating, which is what one sees first."""
TAIL = 0.025
"""Of the resamples, at either end of the band."""
MOST = 12
"""Ratings in a figure; the newest are shown."""


def history(ratings: Sequence[RatingEntry]) -> Markup:
    """Levels from the oldest to the newest, with the band that 95 % of the resamples reach.

    A tick marks where the service answered under another version, fingerprint or model than before.
    """
    shown = ratings[-MOST:]
    scale = levels(shown[-1])
    shown = [one for one in shown if levels(one) == scale]
    wide, high = WIDE * len(shown), HIGH * len(scale)
    drawn = [
        *_grid(shown[-1], wide),
        *(_band(place, one) for place, one in enumerate(shown)),
        *_marks(shown, high),
        *_versions(shown, high),
    ]
    last = shown[-1]
    title = f"{label.issue(last)} of {label.service(last)} over time"
    said = "; ".join(f"{numbers.day(one['tested'])}: {label.outcome(one)}" for one in shown)
    size = (LEFT + wide + RIGHT, TOP + high + 44)
    return Markup(svg.picture(size, title, said, *drawn, **{"class": "fig"}))  # escaped where it was drawn


def _row(level: int) -> float:
    return TOP + HIGH * (level + 0.5)


def _grid(rating: RatingEntry, wide: float) -> Iterator[str]:
    for place, level in enumerate(levels(rating)):
        y = svg.number(_row(place))
        yield svg.tag("path", {"d": f"M{LEFT} {y}H{svg.number(LEFT + wide)}", "class": "grid"})
        words = sentences.level(rating, level).short
        shown = svg.fit(words[:1].upper() + words[1:], 12, RIGHT - 16)
        yield svg.write(LEFT + wide + 8, _row(place) + 4, shown, 12, **{"class": "ink"})


def _band(place: int, rating: RatingEntry) -> str:
    reach = band(rating["overall"]["certainty"], levels(rating))
    if reach is None:
        return ""
    top = TOP + HIGH * reach[0] + 5
    high = HIGH * (reach[1] - reach[0] + 1) - 10
    return svg.box(LEFT + WIDE * place + 6, top, WIDE - 12, high, rx=6, **{"class": "sn"})


def band(certainty: Mapping[str, float], scale: Sequence[str]) -> tuple[int, int] | None:
    """Places of the best and the worst level that the middle 95 % of the resamples reach; None without."""
    total = sum(certainty.get(level, 0.0) for level in scale)
    if total <= 0:
        return None
    below, reached = 0.0, []
    for place, level in enumerate(scale):
        upto = below + certainty.get(level, 0.0) / total
        if upto > TAIL and below < 1 - TAIL:
            reached.append(place)
        below = upto
    return reached[0], reached[-1]


def _marks(ratings: Sequence[RatingEntry], high: float) -> Iterator[str]:
    for place, rating in enumerate(ratings):
        x = LEFT + WIDE * (place + 0.5)
        level, scale = rating["overall"]["level"], levels(rating)
        if level in scale and level and not rating["withdrawn"]:
            at = scale.index(level)
            spot = svg.marker(at, len(scale), x, _row(at), filled=rating["state"] == "rated")
            yield svg.tag("g", {"class": f"c{step(at, len(scale))}"}, spot)
        else:
            yield svg.write(x, _row(len(scale) // 2) + 4, "–", 14, end="middle", **{"class": "second"})
        yield svg.write(
            x, TOP + high + 18, numbers.day(rating["tested"]), 11, end="middle", **{"class": "second"}
        )


def _versions(ratings: Sequence[RatingEntry], high: float) -> Iterator[str]:
    for place, (before, after) in enumerate(pairwise(ratings), 1):
        now = after["service"]
        if is_same_service(before["service"], now):
            continue
        x = svg.number(LEFT + WIDE * place)
        tick: dict[str, svg.Attribute] = {
            "d": f"M{x} {svg.number(TOP + high - 6)}v14", "stroke": "currentColor", "stroke-width": 2,
        }  # fmt: skip
        yield svg.tag("g", {"class": "cink"}, svg.tag("path", tick))
        same = before["service"]["version"] == now["version"]
        model = "" if before["service"].get("answered_as") == now.get("answered_as") else _models(now)
        said = model if same and model else sentences.name(now["version"]) or "other settings"
        said = svg.fit(said, 11, WIDE)
        yield svg.write(LEFT + WIDE * place + 4, TOP + high + 36, said, 11, **{"class": "ink"})


def _models(service: ServiceEntry) -> str:
    """What a service says it answered with, without the name of the field: "gpt-4o-2024-08-06"."""
    models = service.get("answered_as") or ["no model named"]
    return visible("; ".join(models)).removeprefix("model ")
