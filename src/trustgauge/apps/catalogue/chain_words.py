"""What a page says of an inferred chain: its steps, a test of the whole, and what one would take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trustgauge.apps.catalogue.method_words import WORDS, level_names
from trustgauge.reports import numbers, sentences

if TYPE_CHECKING:
    from trustgauge.run.chain_composition import ComposedChain


def chain_facts(composed: ComposedChain, ratings: Path) -> dict[str, Any]:
    """An inferred chain as its page shows it."""
    one = composed.inference

    def words_of(level: str | None) -> str:
        return level_names().get(level, level) if level else "no level"

    def said(levels: Sequence[str]) -> str:
        return " or ".join(map(words_of, levels))

    alone = "" if one.fits_steps else "By the levels alone: "
    published = ""
    if one.published != one.levels:
        published = f"The published table gives {said(one.published)}."
    return {
        "names": composed.names,
        "links": [
            {
                "service": link.service,
                "words": words_of(link.level),
                "state": link.state,
                "id": entry.rating["id"],
            }
            for link, entry in zip(composed.links, composed.entries, strict=True)
        ],
        "levels": said(one.levels),
        "state": one.state,
        "words": WORDS["chains"][one.way],
        "certainty": numbers.certainty(one.certainty),
        "steps": [
            f"{alone}{said(step.first)}, then {words_of(step.second)}, gives {said(step.result)}."
            for step in one.steps
        ],
        "published": published,
        "must_test": [
            sentences.reason(reason) for reason in (*composed.notes, *composed.limits, *one.must_test)
        ],
        "measured": _measured(composed),
        "price": price(composed, ratings),
    }


def _measured(composed: ComposedChain) -> dict[str, Any] | None:
    """A kept test of a whole chain as its page shows it."""
    if composed.measured is None:
        return None
    rating, against = composed.measured.rating, composed.contradiction
    level = str(rating["overall"]["level"])
    return {
        "id": rating["id"],
        "words": level_names().get(level, level),
        "state": rating["state"],
        "certainty": numbers.certainty(rating["overall"]["certainty"].get(level, 0.0)),
        "tested": rating["tested"],
        "agrees": composed.agrees,
        "against": sentences.reason(against) if against else "",
    }


def price(composed: ComposedChain, ratings: Path) -> str:
    """What a test of a whole chain would take.

    Only the calls if it is too large to be computed for a page, or its services cannot be asked from here.
    """
    from trustgauge.run.chain_composition import chain_forecast

    calls, forecast = composed.inference.calls, chain_forecast(composed, ratings)
    if forecast is None:
        return f"A test of the whole chain takes about {calls:,} calls." if calls else ""
    if not forecast.calls:
        return "All answers for a test of the whole chain are stored already: it sends no requests."
    price = f"{forecast.calls:,} calls, {numbers.span(forecast.seconds)}, {numbers.usd(forecast.usd)}"
    unknown = " Services whose price is not known are not included." if forecast.unpriced else ""
    return f"A test of the whole chain takes {price}.{unknown}"
