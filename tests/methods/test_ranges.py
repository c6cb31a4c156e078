"""Every numeric setting of every method has a range: what lies outside is refused when a plan is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from trustgauge import plugins
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan

PLAIN = {"method": "x", "services": ["a"], "issue": "abuse", "use": "model", "service": "a"}
"""What settings need at least."""
OUTSIDE = (float("nan"), float("inf"), float("-inf"), -1e300, 1e300, -(10**18), 10**18)


def models() -> Iterator[type[BaseModel]]:
    """The settings of methods and issues, and every model within them."""
    groups = ("methods", "issues")
    waiting: list[Any] = [plugins.load(group, name) for group in groups for name in plugins.names(group)]
    seen = set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, type) and issubclass(one, BaseModel) and one not in seen:
            seen.add(one)
            yield one
            waiting += [field.annotation for field in one.model_fields.values()]
        elif not isinstance(one, type):
            waiting += get_args(one)


def filled(kind: Any, number: float) -> Iterator[Any]:
    """Values of a type with `number` in one place where the type has a number."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in (int, float):
        yield number
    elif origin is Annotated:
        yield from filled(inner[0], number)
    elif origin in (Union, UnionType):
        for one in inner:
            yield from filled(one, number)
    elif origin is tuple:
        if inner[-1] is Ellipsis:
            yield from ([one] for one in filled(inner[0], number))
            return
        for place, one in enumerate(inner):
            for value in filled(one, number):
                yield [value if at == place else 0.5 for at in range(len(inner))]
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield from ({"He": one} for one in filled(inner[1], number))


NUMERIC = [
    pytest.param(model, name, field, id=f"{model.__name__}.{name}")
    for model in models()
    for name, field in model.model_fields.items()
    if any(filled(field.annotation, 1))
]


def refused(model: type[BaseModel], name: str, field: FieldInfo, value: Any) -> bool:
    """Whether the field by itself does not take the value, or settings that hold nothing else."""
    plain = {key: text for key, text in PLAIN.items() if key in model.model_fields}
    try:
        kind: Any = Annotated[field.annotation, *field.metadata, None]
        TypeAdapter(kind).validate_python(value)
    except (PlanError, ValidationError):
        return True
    try:
        model.model_validate(plain)
    except (PlanError, ValidationError):
        return False  # a table that needs more than this: the field stands for itself
    try:
        model.model_validate({**plain, name: value})
    except (PlanError, ValidationError):
        return True
    return False


@pytest.mark.parametrize(("model", "name", "field"), NUMERIC)
def test_a_number_outside_its_range_is_refused(model: type[BaseModel], name: str, field: FieldInfo) -> None:
    taken = [
        value
        for number in OUTSIDE
        for value in filled(field.annotation, number)
        if not refused(model, name, field, value)
    ]
    assert taken == []


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        *(({"method": name, "settle": 0}, "settle") for name in plugins.names("methods")),
        *(({"method": name, "settle": 1}, "settle") for name in plugins.names("methods")),
        ({"method": "causal", "cuts": [0.3, 0.2]}, "cuts"),
        ({"method": "social-bias", "relative_cuts": [0.2, 1.2]}, "relative_cuts[1]"),
        ({"method": "trust", "combination": {"cuts": [0.7, 0.3]}}, "combination.cuts"),
        ({"method": "trust", "combination": {"weights": [1, 2]}}, "combination.weights"),
        ({"method": "trust", "issues": [{"issue": "bias", "cuts": [0.7, 0.3]}]}, "issues[0].cuts"),
        ({"method": "two-step", "biased": [{"He": 1.5, "She": -0.5}]}, "biased[0].He"),
        ({"method": "two-step", "unbiased": [{"He": float("nan")}]}, "unbiased[0].He"),
    ],
)
def test_a_plan_says_where_a_number_is_outside_its_range(settings: dict[str, Any], place: str) -> None:
    bot = {"use": "function", "function": "str:upper", "task": "chat"}
    with pytest.raises(PlanError) as caught:
        load_plan({"services": {"a": bot}, "experiments": [{"services": ["a"], **settings}]})
    faults = {fault.place: fault for fault in caught.value.faults}
    assert faults[f"experiments[0].{place}"].must
