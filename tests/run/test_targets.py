"""What a plan asks: a service that cannot be asked is named."""

from __future__ import annotations

import pytest

from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.run.targets import plan_targets


def test_a_translator_into_its_own_language_is_refused_by_its_name() -> None:
    http = {"use": "http", "url": "http://127.0.0.1:9", "target": "es"}
    plan = {
        "services": {"good": http, "bad": {**http, "target": "en"}},
        "experiments": [{"method": "two-step", "services": ["good", "bad"]}],
    }
    with pytest.raises(PlanError) as caught:
        plan_targets(load_plan(plan))
    (fault,) = caught.value.faults
    assert fault.place == "services.bad"
    assert 'goes from "en" to itself; must go through other languages' in str(fault)
