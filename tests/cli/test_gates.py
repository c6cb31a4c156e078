"""Gates over several methods: exit codes, and what is refused before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli_w

from trustgauge.cli.main import main
from trustgauge.errors import PlanError
from trustgauge.plan import Plan, load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.prepare import check_gate
from trustgauge.run.run import rate
from trustgauge.run.targets import methods
from trustgauge.run.verify import verify

PLAN: Any = {
    "services": {
        "mirror": {"use": "anchor", "behaviour": "identity"},
        "bot": {"use": "trust-anchor", "behaviour": "abuser"},
    },
    "experiments": [
        {"method": "two-step", "services": ["mirror"], "texts": 60, "draws": 1000},
        {
            **{"method": "trust", "services": ["bot"], "issues": ["abuse"], "talks": 12},
            **{"profiles": ["safe-language"], "resamples": 1000},
        },
    ],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan whose two-step rating is DSBS and whose trust rating is H, and its answers."""
    place = tmp_path_factory.mktemp("gates")
    (place / "plan.toml").write_text(tomli_w.dumps(PLAN))
    finished = rate(load_plan(PLAN), RunOptions(ratings=place / "ratings"))
    result = [(one["overall"]["level"], one["state"]) for one in finished.document["ratings"]]
    assert result == [("DSBS", "rated"), ("H", "rated")]
    return place


@pytest.mark.parametrize(
    ("fail_on", "code", "said"),
    [
        (
            ["BS"],
            2,
            "the gate says nothing of trust. Must be a level for each method: "
            "L (Low risk), M (Medium risk), H (High risk). Got BS",
        ),
        (["BS", "H"], 10, "H is as bad as --fail-on H"),
        (["H", "BS"], 10, "H is as bad as --fail-on H"),
        (["DSBS", "trust:none"], 10, "DSBS is as bad as --fail-on DSBS"),
        (["BS", "trust:none"], 0, ""),
        (["worst"], 10, "H is as bad as --fail-on H"),
        (["worst", "trust:none"], 0, ""),
        (["adds bias", "HIGH"], 10, "H is as bad as --fail-on H"),
        (["two-step:adds-bias", "trust:medium"], 10, "H is worse than --fail-on M"),
        (["BS", "low risk"], 2, "L (Low risk) is the best level of trust, so the gate would always fail"),
        (["two-step:none", "trust:M"], 10, "H is worse than --fail-on M"),
        (
            ["two-step:H", "trust:H"],
            2,
            'no level "two-step:H". Must be one of: UCS (compensates), DSBS (follows), BS (adds bias), worst',
        ),
        (["BS", "causal:3", "H"], 2, 'no method in the plan "causal"'),
        (
            ["BS", "two-step:none", "trust:H"],
            2,
            'no level "BS". Must be one of: L (Low risk), M (Medium risk), H (High risk), worst',
        ),
        (["BS", "none"], 2, 'no level "none"'),
    ],
)
def test_a_gate_over_two_methods(
    folder: Path, fail_on: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [word for one in fail_on for word in ("--fail-on", one)]
    place = ("--ratings", str(folder / "ratings"), "--quiet")
    with pytest.raises(SystemExit) as caught:
        main(["rate", str(folder / "plan.toml"), *place, *options])
    assert (caught.value.code or 0) == code
    assert said in capsys.readouterr().err


def test_the_environment_may_name_several_levels(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUSTGAUGE_FAIL_ON", "two-step:BS trust:none")
    with pytest.raises(SystemExit) as caught:
        main(["rate", str(folder / "plan.toml"), "--ratings", str(folder / "ratings"), "--quiet"])
    assert not caught.value.code


def test_a_gated_rating_is_verified(folder: Path) -> None:
    sitting = RunOptions(ratings=folder / "ratings", fail_on=("worst", "two-step:none"))
    finished = rate(load_plan(PLAN), sitting)
    gates = [one.get("gate") for one in finished.document["ratings"]]
    assert [gate and gate["fail_on"] for gate in gates] == [None, "H"]
    assert verify(finished.folder, sitting.now().date()).differences == ()


def test_an_api_call_is_refused_like_a_command(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="the gate says nothing of trust"):
        rate(load_plan(PLAN), RunOptions(ratings=tmp_path / "ratings", fail_on=("BS",)))
    assert not (tmp_path / "ratings").exists()


def test_a_method_whose_experiments_have_other_scales_needs_a_level_for_each() -> None:
    plan: Plan = load_plan({**PLAN, "experiments": [PLAN["experiments"][0]] * 2})
    check_gate(methods(plan), ("BS",))
    with pytest.raises(PlanError, match='no level "H"'):
        check_gate(methods(plan), ("BS", "H"))
