"""The options that a rating carries: those that differ from what its rule set means."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trustgauge.records import Json


class OptionSettings(Protocol):
    """Settings of an experiment: a pydantic model that knows what may change a rating."""

    def identity(self) -> Mapping[str, Json]: ...


def options_of(
    settings: OptionSettings,
    left_out: Collection[str] = (),
    by_rule: Mapping[str, Json] | None = None,
    always: Collection[str] = (),
) -> dict[str, Json]:
    """Every option that differs from its default, as plain data.

    Args:
        settings: the experiment, a pydantic model.
        left_out: options that are no options of the rating, beside method, services and rule.
        by_rule: defaults that the rule set replaces.
        always: options that are listed though they have their defaults.
    """
    fields: Mapping[str, FieldInfo] = type(settings).model_fields  # type: ignore[attr-defined]
    usual = {name: one.get_default(call_default_factory=True) for name, one in fields.items()}
    usual |= by_rule or {}
    absent = {"method", "services", "rule", *left_out}
    return {
        name: value
        for name, value in settings.identity().items()
        if name not in absent and (name in always or value != plain_option(usual[name]))
    }


def plain_option(value: Any) -> Json:
    """A default as it stands in the settings' JSON."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {name: plain_option(inner) for name, inner in value.items()}
    return [plain_option(one) for one in value] if isinstance(value, tuple | list) else value
