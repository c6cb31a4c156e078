"""Chains of rated services: which rating a name means, whatever the name is made of."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.reports import sentences
from trustgauge.run.chain_composition import chain_plan, compose_chain, source_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate

TODAY = date(2026, 12, 1)
SERVICES = {"ollama/llama3": "identity", "ollama/llama3:8b": "coin", "a:b/c:d": "all-he"}
PLAN: dict[str, Any] = {
    "services": {
        **{name: {"use": "anchor", "behaviour": what} for name, what in list(SERVICES.items())[:2]},
        "a:b/c:d": {"use": "anchor", "behaviour": "all", "value": "He"},
        "bot:1": {"use": "trust-anchor", "behaviour": "clean"},
    },
    "experiments": [
        {"method": "two-step", "services": list(SERVICES), "texts": 100, "draws": 1000},
        {
            **{"method": "trust", "services": ["bot:1"], "issues": [{"issue": "abuse", "scenes": 8}]},
            **{"profiles": ["safe-language"], "talks": 4, "resamples": 1000},
        },
    ],
}


@pytest.fixture(scope="module")
def ratings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ratings")
    rate(load_plan(PLAN), RunOptions(ratings=folder))
    return folder


def test_names_with_colons_and_slashes_can_be_composed(ratings: Path) -> None:
    composed = compose_chain("ollama/llama3:8b > ollama/llama3 > a:b/c:d", ratings, TODAY)
    assert [link.level for link in composed.links] == ["UCS", "DSBS", "BS"]
    assert (composed.inference.state, composed.inference.levels) == ("inferred", ("BS",))
    tested = rate(load_plan(chain_plan(composed)), RunOptions(ratings=ratings))
    assert tested.document["ratings"][0]["overall"]["level"] == "BS"

    again = compose_chain("ollama/llama3:8b > ollama/llama3 > a:b/c:d", ratings, TODAY)
    assert composed.measured is None
    assert again.measured is not None
    assert again.measured.rating["id"] == tested.document["ratings"][0]["id"]
    assert again.contradiction is None
    other = compose_chain("ollama/llama3:8b > a:b/c:d > ollama/llama3", ratings, TODAY)
    assert other.measured is None
    late = compose_chain("ollama/llama3:8b > ollama/llama3 > a:b/c:d", ratings, date(2099, 1, 1))
    assert late.measured is None


def test_a_run_whose_document_lacks_its_services_hides_no_other(ratings: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ratings, tmp_path / "ratings"))
    plan = {**PLAN, "seed": 7, "experiments": [{**PLAN["experiments"][0], "services": ["a:b/c:d"]}]}
    file = rate(load_plan(plan), RunOptions(ratings=folder)).folder / "rating.json"
    document = json.loads(file.read_text("utf-8"))
    document["run"]["services"] = {}
    file.write_text(json.dumps(document), "utf-8")
    assert compose_chain("ollama/llama3:8b > ollama/llama3", folder, TODAY).inference.levels == ("UCS",)


@pytest.mark.parametrize("name", ["ollama/llama3:70b", "ollama/llama", "ollama/llama3:8b:x"])
def test_a_name_that_no_rating_has_is_refused(ratings: Path, name: str) -> None:
    with pytest.raises(PlanError, match=f'no rated service "{name}"') as caught:
        compose_chain(f"{name} > ollama/llama3", ratings, TODAY)
    assert "ollama/llama3:8b" in caught.value.faults[0].must
    assert caught.value.faults[0].must.startswith("a service with a level by two-step")


def test_a_name_that_no_two_step_rating_has_is_refused(ratings: Path) -> None:
    with pytest.raises(PlanError, match='"bot:1" cannot be part of a chain') as caught:
        compose_chain("bot:1 > ollama/llama3", ratings, TODAY)
    assert "ollama/llama3:8b" in caught.value.faults[0].must
    assert caught.value.faults[0].got.startswith("rated by trust")


def test_what_cannot_be_composed_says_why(ratings: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ratings, tmp_path / "ratings"))
    scorer = {"use": "sentiment-anchor", "behaviour": "constant"}
    few = {"groups": [1], "frames": 2, "persons": 2, "resamples": 1000, "permutations": 999}
    experiment = {"method": "causal", "services": ["scorer"], **few}
    plan = {"name": "t", "seed": 1, "services": {"scorer": scorer}, "experiments": [experiment]}
    rate(load_plan(plan), RunOptions(ratings=folder))
    with pytest.raises(PlanError, match='"scorer" cannot be part of a chain') as caught:
        compose_chain("ollama/llama3 > scorer", folder, TODAY)
    assert "rated by causal" in caught.value.faults[0].got
    with pytest.raises(PlanError, match='no rated service "nothing"') as caught:
        compose_chain("ollama/llama3 > nothing", folder, TODAY)
    assert "Not composable: scorer (rated by causal" in caught.value.faults[0].do


def test_a_service_without_a_level_cannot_be_composed(ratings: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(ratings, tmp_path / "ratings"))
    empty = tmp_path / "answers.csv"
    empty.write_text("text,output\n", "utf-8")
    people = {"use": "replay", "file": str(empty), "task": "translate"}
    experiment = {**PLAN["experiments"][0], "services": ["people"]}
    rate(
        load_plan({**PLAN, "services": {"people": people}, "experiments": [experiment]}),
        RunOptions(ratings=folder),
    )
    with pytest.raises(PlanError, match='"people" cannot be part of a chain') as caught:
        compose_chain("ollama/llama3 > people", folder, TODAY)
    assert caught.value.faults[0].got == "no level yet"


BRAINS = """
import re

WORD = re.compile(r"\\b(He|She) is (.*?)\\.")
OTHER = {"He": "She", "She": "He"}


def early(occupation):
    return sum(map(ord, occupation)) % 2 == 0


def each(text, pronoun):
    number = iter(range(9))
    return WORD.sub(lambda m: f"{pronoun(m[1], m[2], next(number))} is {m[2]}.", text)


def stereo(text):
    return each(text, lambda said, who, _: "He" if early(who) else "She")


def swaps_half(text):
    return each(text, lambda said, who, _: said if early(who) else OTHER[said])


def swaps_second(text):
    return each(text, lambda said, who, place: OTHER[said] if place else said)


def tossed(text):
    return each(text, lambda said, who, place: "He" if hash_of(text, place) % 2 else "She")


def by_length(text):
    return each(text, lambda said, who, place: "He" if len(text) % 2 else "She")


def swaps_by_length(text):
    return each(text, lambda said, who, place: said if len(text) % 2 else OTHER[said])


def hash_of(text, place):
    import hashlib

    return hashlib.blake2b(f"{text}{place}".encode()).digest()[0]
"""


@pytest.fixture(scope="module")
def brains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ratings of services that look at the occupation, or at the place in the text, or at neither."""
    folder = tmp_path_factory.mktemp("brains")
    (folder / "brains_of_chains.py").write_text(BRAINS, "utf-8")
    names = ["stereo", "swaps_half", "swaps_second", "tossed", "by_length", "swaps_by_length"]
    function = {"use": "function", "folder": str(folder), "deterministic": True}
    services: dict[str, Any] = {
        **{name: {**function, "function": f"brains_of_chains:{name}"} for name in names},
        "mirror": {"use": "anchor", "behaviour": "identity"},
    }
    settings = {"method": "two-step", "services": [*services], "patterns": ["subject"], "draws": 1000}
    rate(load_plan({"services": services, "experiments": [settings]}), RunOptions(ratings=folder / "ratings"))
    return folder / "ratings"


@pytest.mark.parametrize(
    ("chain", "feature", "truth"),
    [
        ("stereo > swaps_half", "occupation", "BS"),
        ("stereo > mirror > swaps_half", "occupation", "BS"),
        ("swaps_half > swaps_half", "occupation", "DSBS"),
        ("swaps_second > swaps_second", "place in the text", "DSBS"),
        ("by_length > swaps_by_length", "mention before", "DSBS"),
    ],
)
def test_parts_that_depend_on_the_text_settle_nothing(
    brains: Path, chain: str, feature: str, truth: str
) -> None:
    composed = compose_chain(chain, brains, TODAY)
    inference = composed.inference
    assert inference.levels == ("UCS",)  # what the product of the mean rates says
    assert inference.state == "not settled"
    (reason,) = [
        one for one in composed.facts(brains)["must_test"] if one["code"] == "composition.depends-on-text"
    ]
    assert reason["facts"]["features"] == [feature]
    assert "rate the chain itself" in sentences.reason(inference.must_test[0])
    tested = rate(load_plan(chain_plan(composed)), RunOptions(ratings=brains))
    assert tested.document["ratings"][0]["overall"]["level"] == truth


def test_an_inference_says_by_what_its_parts_were_not_seen_to_depend(brains: Path) -> None:
    (limit,) = compose_chain("stereo > tossed", brains, TODAY).limits
    assert "rest of the text and mention before" in sentences.reason(limit)
    assert compose_chain("tossed > mirror", brains, TODAY).limits == ()
    assert compose_chain("stereo > swaps_half", brains, TODAY).limits == (), "nothing is inferred"


@pytest.mark.parametrize("chain", ["stereo > mirror", "mirror > swaps_half", "stereo > tossed"])
def test_one_part_that_depends_on_the_text_is_composed_as_before(brains: Path, chain: str) -> None:
    inference = compose_chain(chain, brains, TODAY).inference
    assert (inference.state, inference.levels, inference.must_test) == ("inferred", ("UCS",), ())


def test_equal_answers_to_equal_texts_are_no_second_chance(brains: Path) -> None:
    """A text that a deterministic service leaves unchanged, it leaves unchanged again."""
    composed = compose_chain("tossed > mirror > tossed", brains, TODAY)
    assert composed.inference.levels == ("UCS",)  # what the product of the rates says, with > 99 %
    (reason,) = composed.inference.must_test
    assert reason.code == "composition.same-answers"
    assert "tossed stands in the chain more than once" in sentences.reason(reason)
    tested = rate(load_plan(chain_plan(composed)), RunOptions(ratings=brains)).document["ratings"][0]
    assert tested["overall"]["certainty"]["UCS"] < 0.95


def test_without_answers_a_chain_is_composed_only_where_one_part_can_depend_on_the_text(
    brains: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(brains, tmp_path / "ratings"))
    for store in folder.glob("*/store.sqlite*"):
        store.unlink()
    assert compose_chain("stereo > mirror", folder, TODAY).inference.state == "inferred"
    inference = compose_chain("stereo > swaps_half", folder, TODAY).inference
    assert {one.code for one in inference.must_test} == {"composition.texts-unknown"}


def test_an_attribute_that_a_part_was_not_rated_for_is_named_with_those_it_was(ratings: Path) -> None:
    with pytest.raises(PlanError, match='"a:b/c:d" was not rated for the attribute "race"') as caught:
        compose_chain("a:b/c:d > ollama/llama3", ratings, TODAY, attribute="race")
    assert caught.value.faults[0].must == "one of: gender"


def test_levels_by_another_rule_are_not_composed(ratings: Path, tmp_path: Path) -> None:
    chain = "ollama/llama3 > ollama/llama3:8b"
    with pytest.raises(PlanError, match="has no level under the rule published") as caught:
        compose_chain(chain, ratings, TODAY, "published")
    assert "rated under sound" in str(caught.value)
    folder = Path(shutil.copytree(ratings, tmp_path / "ratings"))
    experiment = {**PLAN["experiments"][0], "rule": "published"}
    rate(load_plan({**PLAN, "experiments": [experiment]}), RunOptions(ratings=folder))
    composed = compose_chain(chain, folder, TODAY, "published")
    assert {entry.rating["method"]["rule"] for entry in composed.entries} == {"published"}
    assert compose_chain(chain, folder, TODAY).inference.way == "rates"


def test_calls_are_those_that_are_not_stored_yet(brains: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(brains, tmp_path / "ratings"))
    composed = compose_chain("tossed > stereo", folder, TODAY)
    assert 0 < composed.facts(folder)["calls"] <= composed.inference.calls
    rate(load_plan(chain_plan(composed)), RunOptions(ratings=folder))
    assert composed.facts(folder)["calls"] == 0


def test_a_newer_rating_that_is_not_settled_is_told_of(brains: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(brains, tmp_path / "ratings"))
    used = compose_chain("tossed > mirror", folder, TODAY)
    assert used.notes == ()
    first = source_plan(used.entries[0]).document()
    first["experiments"][0] |= {"texts": 20, "services": ["tossed"]}
    later = datetime.now(UTC) + timedelta(days=1)
    newer = rate(load_plan(first), RunOptions(ratings=folder, now=lambda: later)).document["ratings"][0]
    assert newer["state"] == "not settled"
    (note,) = compose_chain("tossed > tossed", folder, TODAY).notes
    ids = used.entries[0].rating["id"], newer["id"]
    assert (note.facts["used"], note.facts["newer"]) == ids
    assert all(one in sentences.reason(note) for one in (*ids, newer["tested"]))


def test_a_test_that_is_not_settled_neither_agrees_nor_disagrees(brains: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(brains, tmp_path / "ratings"))
    plan = chain_plan(compose_chain("mirror > tossed", folder, TODAY))
    plan["experiments"][0]["texts"] = 20
    rated = rate(load_plan(plan), RunOptions(ratings=folder)).document["ratings"][0]
    assert (rated["state"], rated["overall"]["level"]) == ("not settled", "UCS")
    composed = compose_chain("mirror > tossed", folder, TODAY)
    assert composed.measured is not None
    assert composed.inference.levels == ("UCS",)
    assert (composed.agrees, composed.contradiction) == (None, None)
    assert composed.facts(folder)["measured"]["agrees"] is None
