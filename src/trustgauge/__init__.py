"""Trustgauge: an independent rating agency for black-box AI services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trustgauge.errors import TrustgaugeError
    from trustgauge.plan import Plan, load_plan
    from trustgauge.records import Interval, Message, Part, Rating, Reason, Reply, Scale
    from trustgauge.run.run import rate
    from trustgauge.run.verify import open_rating

_HOMES = {
    "Interval": "records",
    "Message": "records",
    "Part": "records",
    "Plan": "plan",
    "Rating": "records",
    "Reason": "records",
    "Reply": "records",
    "Scale": "records",
    "TrustgaugeError": "errors",
    "load_plan": "plan",
    "open_rating": "run.verify",
    "rate": "run.run",
}
__all__ = [
    "Interval",
    "Message",
    "Part",
    "Plan",
    "Rating",
    "Reason",
    "Reply",
    "Scale",
    "TrustgaugeError",
    "load_plan",
    "open_rating",
    "rate",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import trustgauge` stays light."""
    if name not in _HOMES:
        raise AttributeError(f"module 'trustgauge' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"trustgauge.{_HOMES[name]}"), name)
