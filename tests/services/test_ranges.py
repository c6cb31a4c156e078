"""Every number that a plan may give a service, and the plan itself, has its range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from trustgauge import plugins
from trustgauge.errors import PlanError
from trustgauge.plan import Budget, Plan, RunSettings, load_plan

MODELS: list[type[BaseModel]] = [plugins.load("services", name) for name in plugins.names("services")]
LOWEST = {"minimum", "exclusiveMinimum", "enum", "const"}


def numbers(model: type[BaseModel]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The settings of a model that are numbers, with their JSON schema."""
    for name, schema in model.model_json_schema()["properties"].items():
        for one in schema.get("anyOf", [schema]):
            if one.get("type") in ("integer", "number"):
                yield name, one


@pytest.mark.parametrize("model", [*MODELS, Budget, Plan, RunSettings], ids=lambda model: model.__name__)
def test_every_number_has_a_range_and_is_finite(model: type[BaseModel]) -> None:
    assert [name for name, schema in numbers(model) if not LOWEST & schema.keys()] == []
    assert model.model_config["allow_inf_nan"] is False


WRONG = [
    *((name, value) for name in ("usd_per_call", "rate", "timeout") for value in ("nan", "inf", "-1")),
    *(
        ("rate", "0"),
        ("concurrency", "0"),
        ("concurrency", "-3"),
        ("timeout", "0"),
        ("seconds_per_call", "0"),
    ),
    *(("usd_per_million_characters", "-0.5"), ("concurrency", "1000000"), ("timeout", "1e9")),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_number_outside_its_range_is_a_plan_error(tmp_path: Any, name: str, value: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'[services.mt]\nuse = "deepl"\ntarget = "es"\n{name} = {value}\n\n'
        '[[experiments]]\nmethod = "two-step"\nservices = ["mt"]\nattribute = "gender"\n'
    )
    with pytest.raises(PlanError) as error:
        load_plan(plan)
    (fault,) = error.value.faults
    assert (fault.place, fault.line) == (f"services.mt.{name}", 4)
    assert fault.must


@pytest.mark.parametrize(
    ("name", "value"), [("usd", "nan"), ("usd", "inf"), ("seconds", "nan"), ("calls", "-1")]
)
def test_a_cap_is_a_number(tmp_path: Any, name: str, value: str) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'budget = {{ {name} = {value} }}\n\n[services.mt]\nuse = "deepl"\ntarget = "es"\n\n'
        '[[experiments]]\nmethod = "two-step"\nservices = ["mt"]\nattribute = "gender"\n'
    )
    with pytest.raises(PlanError, match="budget"):
        load_plan(plan)
