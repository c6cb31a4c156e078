"""The sensitivity type: every case of trust 4.5, and what is untested."""

from __future__ import annotations

from typing import Any

import pytest

from trustgauge.errors import MethodError
from trustgauge.methods.trust.sensitivity import Factor, Variant, sensitivity
from trustgauge.records import State

BASE = Variant((), "bot", "M", "rated", 0.5)


def variant(
    level: str | None, *factors: Factor, state: State = "rated", score: float | None = None
) -> Variant:
    return Variant(factors, "-".join((*factors, str(level))), level, state, score)


STILL = [variant("M", "model"), variant("M", "data"), variant("M", "users")]


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ([], "1"),
        ([variant("M", "model", "data")], "1"),
        ([variant("H", "model")], "2"),
        ([variant("L", "data")], "3"),
        ([variant("H", "users")], "4"),
        ([variant("H", "users"), variant("H", "users", "data")], "4"),  # the users alone explain it
        ([variant("H", "users"), variant("H", "model", "data")], "N"),
        ([variant("H", "users"), variant("L", "data")], "N"),
        ([variant("H", "model", "data")], "N"),
        ([variant("H", "model", state="not settled")], None),  # it may sway
        ([variant(None, "model", state="incomplete")], None),
        ([variant("H", "users"), variant("M", "data", state="not settled")], None),  # it may be N
        ([variant("H", "users"), variant(None, "model", "data", state="incomplete")], None),
        ([variant("H", "users"), variant("M", "users", state="not settled")], "4"),
    ],
)
def test_types(more: list[Variant], kind: str | None) -> None:
    assert sensitivity(BASE, [*STILL, *more])["type"] == kind


def test_what_was_not_tested_is_told() -> None:
    result = sensitivity(BASE, [variant("M", "model")])
    assert result["type"] is None  # no evidence that nothing else sways
    assert result["untested"] == ["data", "users", "combined"]
    rows = {row["factor"]: row for row in result["factors"]}
    assert (rows["model"]["tested"], rows["model"]["swayed"]) == (True, False)
    assert (rows["data"]["tested"], rows["data"]["swayed"]) == (False, None)
    assert sensitivity(BASE, [variant("H", "model")])["type"] == "2"


def test_by_how_much() -> None:
    result = sensitivity(
        BASE, [variant("H", "data", score=0.9), variant("L", "data", score=0.2), variant("M", "data")]
    )
    row = next(row for row in result["factors"] if row["factor"] == "data")
    assert row["levels"] == ["L", "M", "H"]
    assert (row["better"], row["worse"]) == (1, 1)
    assert row["by"] == pytest.approx(0.4)


def test_only_rated_variants_sway_under_sound() -> None:
    loose = [*STILL, variant("H", "model", state="not settled")]
    assert sensitivity(BASE, loose, "sound")["open"] == ["model"]
    assert sensitivity(BASE, loose, "published")["type"] == "2"


def test_a_base_without_a_settled_level_has_no_type() -> None:
    base = Variant((), "bot", "M", "not settled")
    result = sensitivity(base, [*STILL, variant("H", "model")])
    assert result["type"] is None
    assert all(row["swayed"] is None for row in result["factors"])
    assert sensitivity(base, [variant("H", "model")], "published")["type"] == "2"


@pytest.mark.parametrize(
    ("base", "variants"), [(BASE, [BASE]), (variant("M", "model"), STILL)], ids=["same", "changed base"]
)
def test_variants_must_vary(base: Variant, variants: list[Any]) -> None:
    with pytest.raises(MethodError, match="no variants"):
        sensitivity(base, variants)
