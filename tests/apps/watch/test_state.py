"""What a watch makes of its looks: when it tells a change, and how seldom without one."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import special

from tests.apps.watch.watches import BETWEEN, HIGH, LEVELS, LOW, rating, run, watched
from trustgauge.apps.watch.sentences import change_line, is_worse
from trustgauge.apps.watch.state import ERROR, WatchState, add_look, load, save
from trustgauge.errors import StoreError
from trustgauge.methods.trust.levels import assess_mean, shares
from trustgauge.methods.trust.resampling import Resampling

WATCHES = 400
FEWER = 150  # where each look is resampled
MOST = ERROR + 3 * math.sqrt(ERROR * (1 - ERROR) / WATCHES)


def looked(*certainties: dict[str, float], looks: int = 12, **more: Any) -> WatchState:
    state = watched(looks)
    for number, certainty in enumerate(certainties, 1):
        add_look(state, run(number, rating(certainty, **more)))
    return state


def findings(state: WatchState) -> list[str]:
    (series,) = state.series.values()
    return [look.finding for look in series.looks]


def test_a_change_is_told_once_with_both_ratings() -> None:
    state = looked(LOW, LOW, HIGH, HIGH, HIGH)
    assert findings(state) == ["first", "same", "changed", "same", "same"]
    (change,) = state.changes
    assert (change["from"], change["to"], change["direction"]) == ("L", "H", "worse")
    assert change["words"] == ["Low risk", "High risk"]
    assert change["before"]["run"] == "TG-2026-1102-0000"
    assert change["after"]["run"] == "TG-2026-1103-0000"
    assert change["since"] == "2026-11-03T09:00:00+00:00"
    assert change["step"] >= change["threshold"]
    assert (change["look"], change["looks"]) == (3, 12)
    assert state.untold == [change]


def test_a_change_back_is_told_too() -> None:
    state = looked(LOW, HIGH, HIGH, LOW)
    assert [one["direction"] for one in state.changes] == ["worse", "better"]
    assert [one["from"] + one["to"] for one in state.changes] == ["LH", "HL"]


def test_a_service_that_exchanges_the_values_now_is_no_better() -> None:
    state = looked(HIGH)
    exchanging = rating(LOW)
    exchanging["parts"][0]["flags"] = ["exchanged"]
    add_look(state, run(2, exchanging))
    (change,) = state.changes
    assert (change["direction"], is_worse(change)) == ("other", False)
    assert "neither better nor worse, as each value becomes the other: " in change_line(change)


def test_what_is_settled_elsewhere_by_a_little_waits_for_more_looks() -> None:
    low, other = {"L": 0.96, "M": 0.04}, {"L": 0.04, "M": 0.96}
    state = looked(low, low, low, other, other, other, other)
    result = findings(state)
    assert result[:4] == ["first", "same", "same", "unsure"]
    assert result[-1] in ("changed", "same")
    (change,) = state.changes
    assert change["since"] == "2026-11-04T09:00:00+00:00", (
        "the look that changed first, not the one that told"
    )


def test_unsettled_and_unrated_looks_change_nothing() -> None:
    lost = rating({}, level="L", state="incomplete")
    state = looked(LOW, BETWEEN)
    add_look(state, run(3, lost))
    add_look(state, run(4, rating(HIGH, state="incomplete")))
    assert findings(state) == ["first", "not settled", "not rated", "not rated"]
    (series,) = state.series.values()
    assert series.spent == 2, "what was not rated spends no look"
    assert series.level == "L"


def test_unsettled_looks_are_evidence_all_the_same() -> None:
    almost = {"L": 0.93, "M": 0.07}
    other = {"L": 0.02, "M": 0.98}
    alone, backed = looked(almost, LOW, other), looked(*[almost] * 6, LOW, other)
    assert alone.changes != []
    (early,), (late,) = alone.changes, backed.changes
    assert early["step"] != late["step"]


def test_a_decline_after_an_open_first_look_is_told() -> None:
    open_one = {"L": 0.85, "M": 0.15}
    state = looked(open_one, HIGH, HIGH)
    assert findings(state) == ["not settled", "changed", "same"]
    (change,) = state.changes
    assert (change["from"], change["to"], change["before"]["state"]) == ("L", "H", "not settled")
    assert "Low risk (85%, not settled, " in change_line(change)
    assert findings(looked(open_one, LOW)) == ["not settled", "first"]
    assert findings(looked({"L": 0.3, "M": 0.3, "H": 0.4}, HIGH)) == ["not settled", "first"]


def test_without_shares_of_resamples_nothing_is_announced() -> None:
    state = looked({}, {}, level="L", state="rated")
    add_look(state, run(3, rating({}, level="H", state="rated")))
    assert findings(state) == ["first", "same", "unsure"]
    assert state.changes == []


def test_a_void_run_enters_no_look() -> None:
    state = looked(LOW)
    add_look(state, run(2))
    assert findings(state) == ["first"]
    assert len(state.runs) == 2


def test_after_the_declared_looks_levels_are_told_and_no_changes() -> None:
    state = looked(LOW, LOW, LOW, HIGH, HIGH, looks=3)
    assert findings(state) == ["first", "same", "same", "over", "over"]
    assert state.changes == []


def test_ratings_of_one_service_share_its_error() -> None:
    state = watched()
    four = [rating(LOW, attribute=name) for name in ("a", "b", "c", "d")]
    add_look(state, run(1, *four, rating(LOW, service="other")))
    errors = {(one.key["service"], one.key["attribute"]): one.error for one in state.series.values()}
    assert {error for (service, _), error in errors.items() if service == "bot"} == {ERROR / 4}
    assert errors["other", "privacy-first"] == ERROR
    heights = {one.key["service"]: one.threshold for one in state.series.values()}
    assert heights["bot"] > heights["other"]


def test_the_state_comes_back_as_it_was(tmp_path: Path) -> None:
    state = looked(LOW, LOW, HIGH)
    save(tmp_path / "watch-1.json", state)
    again = load(tmp_path / "watch-1.json")
    assert again == state
    assert again is not None
    (series,) = again.series.values()
    assert tuple(series.levels) == LEVELS, "best first, whatever their letters"
    add_look(again, run(4, rating(LOW)))
    assert [one["direction"] for one in again.changes] == ["worse", "better"]
    assert load(tmp_path / "none.json") is None


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "trustgauge.watch/0"}', '{"schema": 1'])
def test_a_damaged_state_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "watch-1.json"
    file.write_text(content)
    with pytest.raises(StoreError, match="damaged"):
        load(file)


def normal(truth: float, cut: float = 3.0) -> Callable[[np.random.Generator], dict[str, float]]:
    """Shares of a score with normal error whose mean lies `truth` standard errors above the first cut."""

    def draw(rng: np.random.Generator) -> dict[str, float]:
        seen = truth + rng.standard_normal()
        above, top = special.ndtr(seen), special.ndtr(seen - cut)
        return {"L": 1 - above, "M": above - top, "H": top}

    return draw


def share_changed(
    draws: list[Callable[[np.random.Generator], dict[str, float]]], seed: int, looks: int = 12
) -> float:
    """Share of whole watches in which anything is told of one service with a rating for each of `draws`."""
    rng, count = np.random.default_rng(seed), 0
    for _ in range(WATCHES):
        state = watched(looks)
        for number in range(1, looks + 1):
            shown = [rating(draw(rng), attribute=f"{place}") for place, draw in enumerate(draws)]
            add_look(state, run(number, *shown))
        count += bool(state.changes)
    return count / WATCHES


@pytest.mark.parametrize("truth", [0.0, 0.8, 1.5, 3.0])
def test_a_service_that_does_not_change_is_told_as_changed_in_few_whole_watches(truth: float) -> None:
    assert share_changed([normal(truth)], seed=round(10 * truth)) <= MOST


def test_so_is_a_service_with_four_ratings() -> None:
    assert share_changed([normal(0.0), normal(0.5), normal(-0.5), normal(1.5, cut=1.0)], seed=5) <= MOST


def of_dialogs(clusters: int, rate: float) -> Callable[[np.random.Generator], dict[str, float]]:
    """Shares of levels as the trust method draws them, of dialogs with this rate of bad utterances."""

    def draw(rng: np.random.Generator) -> dict[str, float]:
        chance = rng.beta(4 * rate, 4 * (1 - rate), clusters)  # dialogs differ
        counts = rng.integers(4, 12, clusters)
        cells = pl.DataFrame(
            {
                "cluster": [f"d{place}" for place in range(clusters)],
                "n": counts,
                "total": rng.binomial(counts, chance).astype(float),
            }
        )
        found = assess_mean(cells, (0.33, 0.67), Resampling(int(rng.integers(1 << 30)), 1000))
        assert found.levels is not None
        return shares(found.levels)

    return draw


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [10, 30])
def test_the_real_resampling_of_dialogs_keeps_the_promise_right_on_a_cut(clusters: int) -> None:
    """With few dialogs the bootstrap is too sure of itself; what a watch corrects is enough."""
    draw, rng, count = of_dialogs(clusters, 0.33), np.random.default_rng(clusters), 0
    for _ in range(FEWER):
        state = watched(12)
        for number in range(1, 13):
            add_look(state, run(number, rating(draw(rng), clusters=clusters)))
        count += bool(state.changes)
    assert count / FEWER <= ERROR + 3 * math.sqrt(ERROR * (1 - ERROR) / FEWER)
