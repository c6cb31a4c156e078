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


@pytest.mark.parametrize(
    "code",
    [{"use": "function", "function": "mine:rewrite"}, {"use": "command", "command": ["python3", "x.py"]}],
)
def test_code_in_two_folders_needs_a_revision(code: dict[str, object]) -> None:
    """Both shared one fingerprint and with it all answers: the second was rated by those of the first."""
    old, new = {**code, "folder": "old"}, {**code, "folder": "new"}

    def named(**services: dict[str, object]) -> list[str]:
        trips = {
            name: {"use": "round-trip", "via": ["es"], "translator": one} for name, one in services.items()
        }
        experiment = {"method": "two-step", "services": list(trips)}
        return [
            one.service for one in plan_targets(load_plan({"services": trips, "experiments": [experiment]}))
        ]

    with pytest.raises(PlanError) as caught:
        named(a=old, b=new)
    (fault,) = caught.value.faults
    assert (fault.place, fault.do) == ("services.b", "Set `revision` in both")
    assert {"a", "b"} <= set(named(a={**old, "revision": "1"}, b={**new, "revision": "2"}))
    assert {"a", "b"} <= set(named(a=old, b=old))


def test_a_task_that_was_not_declared_says_how_to_declare_it() -> None:
    """Functions translate by default: a chatbot without `task` was refused, with nothing to do about it."""
    code, other = {"use": "function", "function": "mine:answer"}, {"use": "apertium", "target": "es"}
    for service, do in ((code, 'If it can, set `task = "chat"` for it'), (other, "")):
        plan = {"services": {"bot": service}, "experiments": [{"method": "trust", "services": ["bot"]}]}
        with pytest.raises(PlanError) as caught:
            plan_targets(load_plan(plan))
        assert [one.do for one in caught.value.faults] == [do]
