"""The example catalogue: plans for services that need no network, rated when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

PLANS = ("translators", "apertium", "neural", "sentiment", "chatbots", "groups")
"""In the order in which they are rated, the quickest first."""


def plan_file(name: str) -> Traversable:
    """The plan file of a part of the example."""
    return files("trustgauge.apps.catalogue").joinpath(f"plans/{name}.toml")


def rate_demo(ratings: Path) -> Iterator[str]:
    """Rate every plan of the example whose services are installed; a plan that was rated costs nothing again.

    Yields:
        What was rated, in words.
    """
    import tomllib

    from trustgauge.errors import TrustgaugeError
    from trustgauge.plan import load_plan
    from trustgauge.run.options import RunOptions
    from trustgauge.run.run import rate

    for name in PLANS:
        plan = tomllib.loads(plan_file(name).read_text("utf-8"))
        try:
            finished = rate(load_plan(plan), RunOptions(ratings=ratings))
        except TrustgaugeError as error:
            yield f"{name}: left out ({error})"
            continue
        count = len(finished.document["ratings"])
        yield f"{name}: {count} {'rating' if count == 1 else 'ratings'}"
