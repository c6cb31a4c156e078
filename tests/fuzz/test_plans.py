"""Plans of wrong shapes, with the options of a command: told with place and line, never a crash."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.mutations import changed, fuzzed, raises_only
from trustgauge import plugins
from trustgauge.errors import Fault, PlanError, TrustgaugeError
from trustgauge.plan import load_plan
from trustgauge.plan_faults import line_numbers

PLAN: Mapping[str, Any] = {
    "name": "shapes",
    "budget": {"calls": 10},
    "run": {"store": "sqlite"},
    "profiles": {"mine": {"order": ["bias", "abuse"]}},
    "services": {"a": {"use": "anchor", "behaviour": "coin"}, "b": {"use": "eliza"}},
}
EXPERIMENTS: Mapping[str, Mapping[str, Any]] = {
    "two-step": {"attribute": "gender", "texts": 20, "biased": [{"He": 0.9, "She": 0.1}]},
    "causal": {"groups": [1], "cuts": [0.1, 0.2], "confounder": {"male": 0.9}, "words": {"e1": ["grim"]}},
    "social-bias": {"attributes": ["gender"], "judge": {"use": "model", "service": "b"}},
    "trust": {
        "profiles": ["mine"],
        "orders": {"other": ["bias"]},
        "issues": ["abuse", {"issue": "bias", "cuts": [0.1, 0.2]}],
        "variants": {"b": {"model": ["b"]}},
        "combination": {"weights": [2, 1]},
    },
}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"budget": {"calls": 5}},
    {"run": {"store": "parquet"}},
    {"experiments": {"attribute": "gender", "texts": 5, "rule": "sound"}},
    {"seed": 3, "only": ["a"]},
)
WRONG = st.sampled_from(
    [5, -1.5, float("nan"), "x", "", True, [], ["x"], [[]], {}, {"x": 1}, {"x": {}}, [{}]]
)


def document(method: str) -> dict[str, Any]:
    experiment = {"method": method, "services": ["a"], **EXPERIMENTS[method]}
    return {**PLAN, "experiments": [experiment, {"method": "two-step", "services": ["a"]}]}


@st.composite
def misshapen(draw: st.DrawFn, value: Any) -> Any:
    """The value with something of another shape in one of its places."""
    inner = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    ways = list(inner)
    if not ways or draw(st.integers(0, 4)) == 0:
        return draw(WRONG)
    key, one = draw(st.sampled_from(ways))
    one = draw(misshapen(one))
    return {**value, key: one} if isinstance(value, dict) else [*value[:key], one, *value[key + 1 :]]


@pytest.mark.parametrize("method", plugins.names("methods"))
@fuzzed
@given(data=st.data())
def test_a_plan_of_a_wrong_shape_is_a_plan_error_with_any_option(method: str, data: st.DataObject) -> None:
    whole = document(method)
    plan = data.draw(misshapen(whole) | changed(whole))
    options = data.draw(st.sampled_from(OPTIONS))
    faults: tuple[Fault, ...] = ()
    try:
        load_plan(plan if isinstance(plan, dict) else whole, options, ("attribute", "texts"))
    except PlanError as error:
        faults = error.faults
    assert [one for one in faults if not (one.place and one.what and (one.must or one.do))] == []


SERVICES: tuple[dict[str, Any], ...] = (
    {"use": "replay", "file": "AT"},
    {"use": "people", "file": "AT"},
    {"use": "dialogs", "dialogs": {"file": "AT"}},
    {"use": "talked", "dialogs": {"file": "AT"}, "service": {"use": "eliza"}, "scenes": "AT"},
    {"use": "recorded-round-trips", "trips": {"file": ["AT"]}},
    {"use": "gru", "folder": "AT"},
    {"use": "huggingface", "folder": "AT"},
    {"use": "apertium", "target": "es", "data": "AT"},
    {"use": "alice", "folder": "AT"},
    {"use": "rivescript", "file": "AT"},
    {"use": "nlp-js", "modules": "AT"},
    {"use": "command", "command": ["cat"], "folder": "AT"},
    {"use": "function", "function": "m:f", "folder": "AT"},
)
SETTINGS: tuple[dict[str, Any], ...] = (
    {"method": "causal", "sentences": {"file": ["AT"], "layout": "eec"}},
    {"method": "causal", "conversations": {"file": "AT"}},
    {"method": "social-bias", "group_table": {"file": ["AT"], "translation": "AT"}},
    {"method": "social-bias", "property_table": {"file": "AT", "translation": "AT"}},
    {"method": "social-bias", "expressions": {"file": "AT"}},
    {"method": "social-bias", "judge": {"use": "embedding", "vectors": "AT"}},
    {"method": "trust", "issues": [{"issue": "complexity", "terms": {"domain": "AT"}}]},
    {"method": "trust", "issues": [{"issue": "bias", "model": "AT"}]},
    {"method": "trust", "issues": [{"issue": "abuse", "checker": "AT"}]},
)
NAMES_OF_FILES = ("", ".", "..", "/", "~", "a\0b", "a" * 5000, "a/" * 3000, "-", "*", "\n", "{text}", "x.csv")


def put(value: Any, name: str) -> Any:
    """The settings with a name of a file in its place."""
    if isinstance(value, dict):
        return {key: put(one, name) for key, one in value.items()}
    if isinstance(value, list):
        return [put(one, name) for one in value]
    return name if value == "AT" else value


@pytest.mark.parametrize("name", NAMES_OF_FILES, ids=lambda name: repr(name[:8]))
@pytest.mark.parametrize(
    "settings", [*SERVICES, *SETTINGS], ids=lambda one: "-".join(map(str, one.values()))[:40]
)
def test_a_name_of_a_file_that_no_system_holds_is_a_fault(settings: dict[str, Any], name: str) -> None:
    named = put(settings, name)
    service = named if "use" in settings else {"use": "eliza"}
    experiment = {"method": "two-step", **(named if "method" in settings else {}), "services": ["a"]}
    with raises_only(TrustgaugeError):
        plan = load_plan({"services": {"a": service}, "experiments": [experiment]})
        described: Any = plan.services["a"]
        assert described.fingerprint
        described.check_requirements()


class Writer:
    """Writes TOML in any of its styles, and keeps the line of every place in it."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw, self.text = draw, ""
        self.lines: dict[str, int] = {}

    def any_of(self, *pieces: str) -> None:
        self.text += self.draw(st.sampled_from(pieces))

    def mark(self, place: str) -> str:
        self.lines.setdefault(place, self.text.count("\n") + 1)
        return place

    def key(self, place: str) -> str:
        name = self.draw(st.sampled_from(NAMES))
        full = f"{place}.{name}" if place else name
        while full in self.lines:
            name, full = name + "x", full + "x"
        bare = all(one.isalnum() or one in "_-" for one in name)
        self.mark(full)
        self.any_of(f'"{name}"', name if bare else f"'{name}'")
        return full

    def pair(self, place: str, depth: int) -> None:
        self.any_of("", " ", "\t")
        place = self.key(place)
        while self.draw(st.integers(0, 5)) == 0:
            self.any_of(".", " . ")
            place = self.key(place)
        self.any_of("=", " = ")
        self.value(place, depth)

    def value(self, place: str, depth: int) -> None:
        match self.draw(st.sampled_from(("plain", "list", "table"))) if depth else "plain":
            case "plain":
                self.any_of(*VALUES)
            case "list":
                self.members(place, depth - 1)
            case "table":
                self.text += "{"
                for number in range(self.draw(st.integers(0, 2))):
                    self.text += "," if number else ""
                    self.pair(place, depth - 1)
                self.text += "}"

    def members(self, place: str, depth: int) -> None:
        self.text += "["
        for number in range(self.draw(st.integers(0, 3))):
            self.any_of(*GAPS)
            self.value(self.mark(f"{place}[{number}]"), depth)
            self.any_of(*GAPS)
            self.text += ","
        self.any_of(*GAPS)
        self.text += "]"

    def pairs(self, place: str) -> None:
        for _ in range(self.draw(st.integers(0, 3))):
            self.pair(place, 3)
            self.any_of("\n", " # [[a]]\n", "\n\n")


@st.composite
def plan_texts(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    """A TOML text with pairs, tables and a list of tables with tables in it, and its lines."""
    one = Writer(draw)
    one.pairs("")
    for _ in range(draw(st.integers(0, 2))):
        one.text += "  [ "
        table = one.key("")
        one.text += " ] # x\n"
        one.pairs(table)
    for number in range(draw(st.integers(0, 2))):
        table = one.mark(f"{one.mark('several')}[{number}]")
        one.text += "[[several]]\n"
        one.pairs(table)
        one.mark(f"{table}.sub")
        one.text += "[several.sub]\n"
        one.pairs(f"{table}.sub")
    return one.text, one.lines


NAMES = ("a", "b-1", "10", "c_d", "e=f", "g/h:i", "[j]", "#k", "l m", "n,o", "{p}")
GAPS = ("", " ", "\n", " # [a]\n", "\n# x = [\n", "\n\n\t")
VALUES = (
    *("1", "-1.5e3", "true", "inf", "1979-05-27 07:32:00", "1979-05-27T07:32:00Z", "07:32:00"),
    *('""', '"a # b"', '"[c]\\" = {"', "''", "'[[d]]\\'", '"""\n[e]\nf = 1\n"""', '"""g"h\\""" """'),
    *('""""i" """', "'''\n[[j]]\n\\'''", "'''k''l'''", '"""m"""""'),
)
"""Values of TOML in one piece."""


@fuzzed
@given(plan_texts())
def test_every_place_of_a_plan_has_its_line(written: tuple[str, dict[str, int]]) -> None:
    text, lines = written
    tomllib.loads(text)
    assert line_numbers(text) == lines
