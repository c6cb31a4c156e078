"""A run's own plan, which names every setting, means what the plan of the user meant."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.run.plans import but_for_times
from tests.run.test_slices import PLANS
from trustgauge.catalogue import read
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.verify import verify


def plan_under(rule: str, method: str) -> Any:
    plan = {"seed": 5, "retest": 0, **PLANS[method]}
    return {**plan, "experiments": [{**plan["experiments"][0], "rule": rule}]}


@pytest.mark.parametrize("rule", ["published", "released"])
@pytest.mark.parametrize("method", PLANS)
def test_it_verifies_and_is_rated_alike(tmp_path: Path, method: str, rule: str) -> None:
    first = rate(load_plan(plan_under(rule, method)), RunOptions(tmp_path))
    assert verify(first.folder, date(2026, 1, 2)).differences == ()
    result = read(first.folder)
    again = rate(load_plan(first.folder / "plan.toml"), RunOptions(tmp_path))
    assert (again.folder, again.asked.calls) == (first.folder, 0)
    assert but_for_times(read(again.folder)) == but_for_times(result)


@pytest.mark.parametrize("rule", ["sound", "published", "released"])
def test_options_of_trust_are_those_that_differ_from_the_rule(tmp_path: Path, rule: str) -> None:
    plan = plan_under(rule, "trust")
    usual = {**plan["experiments"][0], "issues": ["abuse"], "profiles": ["safe-language"]}
    plan["experiments"] = [usual, {**usual, "combination": {"rule": "worst-of"}}]
    first, second = read(rate(load_plan(plan), RunOptions(tmp_path)).folder)["ratings"]
    assert not {"combination", "mode"} & set(first["method"]["options"])
    assert second["method"]["options"]["combination"]["rule"] == "worst-of"
