"""Plans: everything that is wrong is said at once, with its place, line and nearest valid word."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from trustgauge.errors import PlanError
from trustgauge.plan import Plan, load_plan, plan_schema

GOOD = """\
name = "translators"
seed = 7
budget = { calls = 100 }

[services.coin]
use = "anchor"
behaviour = "coin"

[[experiments]]
method = "two-step"
services = ["coin"]
attribute = "gender"
texts = 20
"""
BAD = """\
name = "five mistakes"
seed = -4

[services.a]
use = "apertiun"

[services.b]
use = "anchor"
behaviour = "coinn"

[[experiments]]
method = "two-step"
services = ["a", "c"]
attribute = "gendre"
textss = 20
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(text, "utf-8")
    return path


def test_five_mistakes_are_five_faults_with_place_line_and_nearest_word(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as caught:
        load_plan(written(tmp_path, BAD))
    found = {fault.place: fault for fault in caught.value.faults}
    lines = {place: fault.line for place, fault in found.items()}
    expected = {
        "seed": 2,
        "services.a.use": 5,
        "services.b.behaviour": 9,
        "experiments[0].services": 13,
        "experiments[0].attribute": 14,
        "experiments[0].textss": 15,
    }
    assert lines == expected
    assert 'Did you mean "apertium"?' in str(found["services.a.use"])
    assert 'Did you mean "coin"?' in str(found["services.b.behaviour"])
    assert 'Did you mean "gender"?' in str(found["experiments[0].attribute"])
    assert 'Did you mean "texts"?' in str(found["experiments[0].textss"])
    assert "greater than or equal to 0" in str(found["seed"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "not TOML"),
        ("", "no services"),
        ("[services.a]\nuse = 'anchor'\n", "nothing to do"),
        ("services = 3\nexperiments = 4\n", "no services"),
        ("[services.a]\n[[experiments]]\nmethod='two-step'\nservices=['a']\n", "use is missing"),
        ("[[experiments]]\nmethod='two-step'\nservices=[]\n", r"\[0\].services: too few. Must be at least 1"),
        (
            "[profiles.me]\norder = 'abuse > bias = leakage'\n",
            r'profiles.me.order: .*: \["abuse", "bias = leakage"\]',
        ),
        (
            "[profiles]\norder = ['abuse']\n",
            r"profiles.order: .* a table for each .*: \[profiles.NAME\] with order",
        ),
        (
            "[[experiments]]\nmethod='trust'\norders = { me = 'abuse, bias' }",
            r'orders.me: .*: \["abuse", "bias"\]',
        ),
    ],
)
def test_a_broken_plan_has_a_clear_answer(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        load_plan(written(tmp_path, text))


def test_a_plan_that_is_not_there_or_not_text_has_a_clear_answer(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no such plan"):
        load_plan(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00name")
    with pytest.raises(PlanError, match="not UTF-8"):
        load_plan(tmp_path / "binary.toml")


def test_the_hash_covers_what_changes_a_rating_and_nothing_else(tmp_path: Path) -> None:
    plan = load_plan(written(tmp_path, GOOD))
    same: list[dict[str, Any]] = [
        {"name": "other"},
        {"budget": {"calls": 5}},
        {"assessor": {"name": "Lab"}},
        {"valid_days": 3},
    ]
    other: list[dict[str, Any]] = [
        {"seed": 8},
        {"experiments": {"texts": 21}},
        {"experiments": {"rule": "published"}},
        {"only": ["coin"]},
    ]
    assert all(load_plan(written(tmp_path, GOOD), change).hash == plan.hash for change in same)
    hashes = {load_plan(written(tmp_path, GOOD), change).hash for change in other}
    assert len(hashes | {plan.hash}) == len(other) + 1


def test_who_asks_is_in_the_plan_and_not_in_its_hash(tmp_path: Path) -> None:
    plain = load_plan(written(tmp_path, GOOD))
    shared = load_plan(written(tmp_path, GOOD + '\n[run]\nengine = "dask"\nworkers = 3\n'))
    assert (plain.run.engine, plain.run.workers) == ("local", None)
    assert (shared.run.engine, shared.run.workers, shared.run.scheduler) == ("dask", 3, "")
    assert shared.hash == plain.hash
    result = load_plan(shared.document(), {"run": {"scheduler": "tcp://10.0.0.1:8786"}})
    assert (result.run.engine, result.run.workers, result.run.scheduler) == ("dask", 3, "tcp://10.0.0.1:8786")
    with pytest.raises(PlanError) as caught:
        load_plan(plain.document(), {"run": {"engine": "dusk", "workers": 0}})
    assert [fault.place for fault in caught.value.faults] == ["run.engine", "run.workers"]
    assert "one of: dask, local" in str(caught.value)


def test_a_plan_survives_being_written_and_read(tmp_path: Path) -> None:
    import tomli_w

    plan = load_plan(written(tmp_path, GOOD))
    again = load_plan(written(tmp_path, tomli_w.dumps(plan.document())))
    assert again.hash == plan.hash
    assert again.document() == plan.document()
    assert load_plan(json.loads(json.dumps(plan.document()))).hash == plan.hash


def test_the_published_schema_accepts_good_plans_and_refuses_bad_ones(tmp_path: Path) -> None:
    import tomllib

    validator = jsonschema.Draft202012Validator(plan_schema())
    validator.check_schema(plan_schema())
    assert list(validator.iter_errors(tomllib.loads(GOOD))) == []
    assert list(validator.iter_errors(load_plan(written(tmp_path, GOOD)).document())) == []
    assert list(validator.iter_errors(tomllib.loads(BAD)))


DIALOGUE = {
    "dialogue_id": "1",
    "turns": [
        {"speaker": "USER", "utterance": "Hello."},
        {"speaker": "SYSTEM", "utterance": "How can I help?"},
    ],
}


def test_every_plan_of_the_repository_can_be_read(tmp_path: Path) -> None:
    """Those that rate what a user brings are read with a little of it beside them."""
    plans = tmp_path / "plans"
    shutil.copytree(Path(__file__).parents[1] / "plans", plans, ignore=shutil.ignore_patterns("service_*"))
    (plans / "service_dialogues").mkdir()
    (plans / "service_dialogues" / "some.json").write_text(json.dumps([DIALOGUE]))
    found = sorted(plans.glob("*.toml"))
    assert found
    for path in found:
        assert isinstance(load_plan(path), Plan)


AWKWARD = (
    """\
seed = [
  [1, 2],
  ["]", "x = [", 'y'],
]
name = [ # [services]
]
valid_days = """
    + '''"""
[experiments]
texts = 3"""

"only" = { a = 1, "b.c" = [
  3 ] }

[services."gpt-4.1"]  # a dot is no table
use = "anchor"
behaviour = [
[ "coin" ],
]

[services . other]
use = 'anchor'
"behaviour" = """
[coin]"""

[[experiments]]
method = "two-step"
services = [
  "other",
  "gpt",
]
attribute = "gendre"
biased = [
  { He = 0.9, She = 0.1 },
  { He = 2, She = 0 },
]
[[experiments]]
method = "causal"
services = ["other"]
confounder.male = 7
'''
)


def test_every_fault_has_its_line_after_lists_and_texts_that_look_like_tables(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as caught:
        load_plan(written(tmp_path, AWKWARD))
    lines = AWKWARD.splitlines()
    said = {fault.place: lines[(fault.line or 0) - 1].strip() for fault in caught.value.faults}
    assert said == {
        "seed": "seed = [",
        "name": "name = [ # [services]",
        "valid_days": 'valid_days = """',
        "only": '"only" = { a = 1, "b.c" = [',
        "services.gpt-4.1.behaviour": "behaviour = [",
        "services.other.behaviour": '"behaviour" = """',
        "experiments[0].services": "services = [",
        "experiments[0].attribute": 'attribute = "gendre"',
        "experiments[0].biased[1].He": "{ He = 2, She = 0 },",
        "experiments[1].confounder.male": "confounder.male = 7",
    }


def test_a_fault_without_a_place_of_its_own_has_the_line_of_its_table() -> None:
    with pytest.raises(PlanError) as caught:
        load_plan({"services": {"a": {}}})
    assert [fault.line for fault in caught.value.faults] == [None, None]


def test_an_unknown_setting_of_a_table_within_is_told_with_those_there_are() -> None:
    with pytest.raises(PlanError) as caught:
        load_plan({"services": {"a": {"use": "anchor"}}, "experiments": [], "budget": {"call": 3}})
    result = next(str(one) for one in caught.value.faults if one.place == "budget.call")
    assert 'Must be one of: calls, seconds, tokens, usd. Did you mean "calls"?' in result


def test_a_plan_is_read_by_the_name_of_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    assert load_plan(str(path)).hash == load_plan(path).hash
    with pytest.raises(PlanError, match="no such plan"):
        load_plan(str(tmp_path / "none.toml"))


def test_changes_go_to_the_experiments_that_have_the_setting() -> None:
    bot = {"use": "chat-anchor", "behaviour": "refuser"}
    two = [{"method": name, "services": ["bot"]} for name in ("trust", "social-bias")]
    plan = {"services": {"bot": bot}, "experiments": two}
    entry = load_plan(plan, {"experiments": {"talks": 3, "rule": "published"}}).document()["experiments"]
    assert [(one["rule"], one.get("talks")) for one in entry] == [("published", 3), ("published", None)]
    with pytest.raises(
        PlanError, match=r'none has the setting "texts"\. Must be one that they have: .*talks'
    ):
        load_plan(plan, {"experiments": {"texts": 3}})
    assert load_plan(plan, {"experiments": {"texts": 3}}, optional=("texts",)).hash == load_plan(plan).hash


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 60_000) + " = 1",
        "[" + ".".join(['"a"'] * 60_000) + "]",
        "x = { " + " . ".join(["a"] * 60_000) + " = 1 }",
    ],
    ids=["key", "table", "inline"],
)
def test_keys_of_thousands_of_parts_are_refused_at_once(text: str, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('name = "a"\n' + text)
    began = time.process_time()
    with pytest.raises(PlanError, match="a key of more than 100 parts in line 2"):
        load_plan(plan)
    assert time.process_time() - began < 5


def test_a_plan_of_many_megabytes_is_refused(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_bytes(b"# comment\n" * 1_100_000)
    with pytest.raises(PlanError, match="more than 10,000,000 bytes"):
        load_plan(plan)


@pytest.mark.parametrize("method", ["two-step", "causal", "trust", "social-bias"])
def test_a_service_named_twice_is_refused_as_its_answers_would_count_twice(method: str) -> None:
    experiment = {"method": method, "services": ["coin", "other", "coin", "coin"]}
    services = {name: {"use": "anchor", "behaviour": "coin"} for name in ("coin", "other")}
    with pytest.raises(PlanError) as caught:
        load_plan({"services": services, "experiments": [experiment]})
    found = [fault for fault in caught.value.faults if fault.place == "experiments[0].services"]
    assert [(one.what, one.must, one.got) for one in found] == [
        ("a service is named twice", "each named once", '"coin" more than once')
    ]


@pytest.mark.parametrize(
    ("setting", "place", "must"),
    [
        ({"texts": "200"}, "experiments[0].texts", "a number, without quotation marks"),
        ({"texts": True}, "experiments[0].texts", "a number"),
        ({"settle": "0.9"}, "experiments[0].settle", "a number, without quotation marks"),
    ],
)
def test_a_number_in_quotation_marks_is_no_number(setting: dict[str, Any], place: str, must: str) -> None:
    experiment = {"method": "two-step", "services": ["a"], **setting}
    services = {"a": {"use": "function", "function": "b:c", "task": "translate", "concurrency": "4"}}
    with pytest.raises(PlanError) as result:
        load_plan({"name": "x", "seed": "1", "services": services, "experiments": [experiment]})
    faults = {fault.place: (fault.what, fault.must) for fault in result.value.faults}
    assert faults[place] == ("wrong value", must)
    assert (
        faults["services.a.concurrency"]
        == faults["seed"]
        == (
            "wrong value",
            "a number, without quotation marks",
        )
    )


def test_true_or_false_is_said_without_quotation_marks() -> None:
    experiment = {"method": "two-step", "services": ["a"], "texts": 200}
    services = {"a": {"use": "function", "function": "b:c", "task": "translate", "deterministic": "yes"}}
    with pytest.raises(PlanError) as result:
        load_plan({"name": "x", "services": services, "experiments": [experiment]})
    (fault,) = result.value.faults
    assert (fault.place, fault.must) == (
        "services.a.deterministic",
        "true or false, without quotation marks",
    )


def test_how_many_secrets_or_tokens_is_no_secret() -> None:
    leakage = {"issue": "leakage", "secrets": 100_000}
    trust = {"method": "trust", "services": ["a"], "issues": [leakage]}
    plan = {"services": {"a": {"use": "eliza"}}, "budget": {"tokens": -1}, "experiments": [trust]}
    with pytest.raises(PlanError) as refused:
        load_plan(plan)
    assert {(one.place, one.got) for one in refused.value.faults} == {
        ("experiments[0].issues[0].secrets", "100000"),
        ("budget.tokens", "-1"),
    }


def test_a_table_is_called_by_what_a_plan_calls_it() -> None:
    causal = {"method": "causal", "services": ["a"], "words": ["e1"]}
    with pytest.raises(PlanError, match=r"words: wrong value. Must be a table: \{"):
        load_plan({"services": {"a": {"use": "vader"}}, "experiments": [causal]})
