"""Chains and round trips, over translators that write down what they did."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.services.asking import outputs, replies
from tests.services.test_apertium import installed
from trustgauge.errors import MissingPartError, PlanError, RejectedError
from trustgauge.plan import load_plan, plan_schema
from trustgauge.run.targets import plan_targets
from trustgauge.services.apertium import Apertium
from trustgauge.services.compose import Chain, RoundTrip
from trustgauge.services.function import Function
from trustgauge.services.sentiment import Vader

MODULE = '''
from trustgauge.records import Reply

def noted(text, source, target):
    """Writes down each leg."""
    return f"{text} {source}>{target}"

def shy(text, source, target):
    """Declines, falls silent, or costs something."""
    if source == "es" and "decline" in text:
        return Reply("no", refused=True)
    if source == "es" and "silence" in text:
        return "  "
    return Reply(text + target, tokens=3, usd=0.5)

def blank(text, source, target):
    return text

def length(text):
    return len(text)
'''
SCORED = """
[services.behind]
use = "round-trip"
via = ["eo", "es"]
translator = { use = "apertium" }
then = { use = "vader" }

[[experiments]]
method = "two-step"
services = ["behind"]
attribute = "valence"
"""


@pytest.fixture
def words(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "legs_of_test_compose.py").write_text(MODULE)
    return {"use": "function", "folder": str(tmp_path), "deterministic": True}


def table(words: dict[str, Any], name: str, **more: Any) -> dict[str, Any]:
    return {**words, "function": f"legs_of_test_compose:{name}", **more}


def round_trip(words: dict[str, Any], *via: str, name: str = "noted") -> RoundTrip:
    return RoundTrip.model_validate({"translator": table(words, name), "via": via})


class TestRoundTrip:
    def test_each_way_is_a_part_keyed_as_written(self, words: dict[str, Any]) -> None:
        parts = round_trip(words, "eo", "es>it").parts()
        assert list(parts) == ["eo", "es>it"]
        legs = [(leg.source, leg.target) for leg in parts["es>it"].stages() if isinstance(leg, Function)]
        assert legs == [("en", "es"), ("es", "it"), ("it", "es"), ("es", "en")]

    def test_goes_there_and_back_with_its_trail(self, words: dict[str, Any]) -> None:
        reply = replies(round_trip(words, "es>it").parts()["es>it"], "x")[0]
        assert reply.output == "x en>es es>it it>es es>en"
        assert reply.trail == ("x en>es", "x en>es es>it", "x en>es es>it it>es")

    def test_opens_the_only_way(self, words: dict[str, Any]) -> None:
        assert outputs(round_trip(words, "eo"), "x", "y") == ["x en>eo eo>en", "y en>eo eo>en"]

    def test_several_ways_cannot_be_asked_at_once(self, words: dict[str, Any]) -> None:
        with pytest.raises(PlanError, match="part by part"):
            round_trip(words, "eo", "es").open()

    def test_is_the_same_service_as_its_chain(self, words: dict[str, Any]) -> None:
        there, back = table(words, "noted", target="eo"), table(words, "noted", source="eo", target="en")
        chain = Chain.model_validate({"services": [there, back]})
        assert round_trip(words, "eo").parts()["eo"].fingerprint == chain.fingerprint

    def test_facts_follow_from_the_legs(self, words: dict[str, Any]) -> None:
        service = round_trip(words, "eo", "es")
        assert (service.task, service.deterministic, service.batch) == ("translate", True, 1)
        assert "there and back" in service.kind
        varying = {**words, "deterministic": False}
        assert not round_trip(varying, "eo").deterministic

    @pytest.mark.parametrize("via", [[], ["es", "es"], ["es>"], [">es"], ["en"], ["es>spa"], [""]])
    def test_a_way_that_goes_nowhere_is_refused(self, words: dict[str, Any], via: list[str]) -> None:
        with pytest.raises(ValidationError, match=r"empty|twice|no way|to itself"):
            RoundTrip.model_validate({"translator": table(words, "noted"), "via": via})

    def test_a_language_that_does_not_exist_is_told_with_the_nearest(self, words: dict[str, Any]) -> None:
        with pytest.raises(ValidationError, match=r'no language "spanish".*Did you mean "es"'):
            RoundTrip.model_validate({"translator": table(words, "noted"), "via": ["eo", "spanish"]})

    def test_only_a_translator_goes_there_and_back(self) -> None:
        with pytest.raises(ValidationError, match='"vader" is no translator'):
            RoundTrip.model_validate({"translator": {"use": "vader"}, "via": ["es"]})

    def test_limits_belong_to_the_translator(self, words: dict[str, Any]) -> None:
        with pytest.raises(ValidationError, match="`rate` of a composite"):
            RoundTrip.model_validate({"translator": table(words, "noted"), "via": ["eo"], "rate": 5})


class TestRoundTripThenScorer:
    """A sentiment scorer behind a round trip (causal 2.4)."""

    def behind(self, words: dict[str, Any], *via: str, name: str = "noted", **then: Any) -> RoundTrip:
        last = then or table(words, "length", task="score")
        return RoundTrip.model_validate({"translator": table(words, name), "via": via, "then": last})

    def test_what_came_back_is_scored_and_kept_in_the_trail(self, words: dict[str, Any]) -> None:
        reply = replies(self.behind(words, "es>it"), "x")[0]
        back = "x en>es es>it it>es es>en"
        assert reply.output == len(back)
        assert reply.trail == ("x en>es", "x en>es es>it", "x en>es es>it it>es", back)

    def test_each_way_is_a_part_that_ends_in_the_scorer(self, words: dict[str, Any]) -> None:
        parts = self.behind(words, "eo", "es>it").parts()
        assert {key: len(part.stages()) for key, part in parts.items()} == {"eo": 3, "es>it": 5}
        assert {part.task for part in parts.values()} == {"score"}
        assert len({part.stages()[-1].fingerprint for part in parts.values()}) == 1
        with pytest.raises(PlanError, match="part by part"):
            self.behind(words, "eo", "es").stages()

    def test_is_the_same_service_as_the_chain_of_round_trip_and_scorer(self, words: dict[str, Any]) -> None:
        service = self.behind(words, "eo")
        trip = {"use": "round-trip", "translator": table(words, "noted"), "via": ["eo"]}
        chain = Chain.model_validate({"services": [trip, table(words, "length", task="score")]})
        assert service.parts()["eo"].fingerprint == chain.fingerprint
        assert outputs(service, "abc") == outputs(chain, "abc")

    def test_another_scorer_is_another_service(self, words: dict[str, Any]) -> None:
        plain, scored = round_trip(words, "eo"), self.behind(words, "eo")
        other = self.behind(words, "eo", **table(words, "length", task="score", revision="2"))
        assert len({one.fingerprint for one in (plain, scored, other)}) == 3
        assert plain.identity() == round_trip(words, "eo").identity()
        assert set(scored.identity()["parts"]) == {"eo"}

    def test_facts_follow_from_translator_and_scorer(self, words: dict[str, Any]) -> None:
        service = self.behind(words, "eo", "es", use="vader")
        assert (service.task, service.deterministic, service.batch) == ("score", True, 1)
        assert service.kind == "lexicon-based sentiment scorer behind a Python function, there and back"
        assert service.version() == Vader().version()
        assert service.offered_by() == "VADER"
        assert not self.behind(words, "eo", use="sentiment-anchor", behaviour="random").deterministic
        assert self.behind(words, "eo", **table(words, "noted", target="it")).task == "translate"

    def test_needs_are_those_of_the_scorer_too(self, words: dict[str, Any], tmp_path: Path) -> None:
        with pytest.raises(MissingPartError, match=r"@nlpjs/sentiment|node"):
            self.behind(words, "eo", use="nlp-js", modules=str(tmp_path)).check_requirements()

    @pytest.mark.parametrize("text", ["silence", ""])
    def test_no_text_is_no_score(self, words: dict[str, Any], text: str) -> None:
        service = self.behind(words, "es", name="shy" if text else "blank")
        assert outputs(service, "abc") == [7.0 if text else 3.0]  # "abcesen"; "abc"
        with pytest.raises(RejectedError, match="gave no text to its scorer"):
            outputs(service, text)

    def test_a_refusal_on_the_way_is_the_answer(self, words: dict[str, Any]) -> None:
        reply = replies(self.behind(words, "es", name="shy"), "decline")[0]
        assert (reply.refused, reply.output, reply.trail) == (True, "no", ("declinees",))

    def test_limits_belong_to_translator_and_scorer(self, words: dict[str, Any]) -> None:
        last = table(words, "length", task="score", rate=5)
        assert self.behind(words, "eo", **last).stages()[-1].rate == 5

    def test_can_be_pickled_and_written_down(self, words: dict[str, Any]) -> None:
        service = self.behind(words, "eo", use="vader")
        assert pickle.loads(pickle.dumps(service)) == service
        again = RoundTrip.model_validate(service.model_dump(mode="json"))
        assert again.fingerprint == service.fingerprint
        assert isinstance(again.then, Vader)


class TestChain:
    def test_flattens_chains_of_chains(self, words: dict[str, Any]) -> None:
        inner = {"use": "chain", "services": [table(words, "noted", target="es")]}
        last = table(words, "length", task="score")
        nested = Chain.model_validate({"services": [inner, last]})
        flat = Chain.model_validate({"services": [table(words, "noted", target="es"), last]})
        assert nested.fingerprint == flat.fingerprint
        assert (nested.task, len(nested.stages())) == ("score", 2)
        assert outputs(nested, "x") == [7.0]

    def test_a_number_comes_last(self, words: dict[str, Any]) -> None:
        score = table(words, "length", task="score")
        with pytest.raises(ValidationError, match="only be the last"):
            Chain.model_validate({"services": [score, table(words, "noted", target="es")]})

    def test_needs_a_service(self) -> None:
        with pytest.raises(ValidationError, match="at least one"):
            Chain.model_validate({"services": []})

    def test_the_order_of_the_legs_is_part_of_the_service(self, words: dict[str, Any]) -> None:
        one, two = table(words, "noted", target="es"), table(words, "noted", target="it")
        first = Chain.model_validate({"services": [one, two]})
        assert first.fingerprint != Chain.model_validate({"services": [two, one]}).fingerprint

    def test_refusal_and_silence_in_the_middle_end_it(self, words: dict[str, Any]) -> None:
        chain = round_trip(words, "es>it", name="shy").parts()["es>it"]
        declined, silent, answered = replies(chain, "decline ", "silence ", "go ")
        assert (declined.refused, declined.output, declined.trail) == (True, "no", ("decline es",))
        assert (silent.refused, str(silent.output).strip()) == (False, "")
        assert answered.output == "go esitesen"
        assert (answered.tokens, answered.usd) == (12, 2.0)

    def test_silence_before_a_scorer_is_no_score(self, words: dict[str, Any]) -> None:
        legs = [table(words, "shy", source="es", target="en"), table(words, "length", task="score")]
        chain = Chain.model_validate({"services": legs})
        assert outputs(chain, "abc") == [5.0]
        with pytest.raises(RejectedError, match="gave no text"):
            outputs(chain, "silence")

    def test_equal_legs_share_one_process(self, words: dict[str, Any]) -> None:
        leg = table(words, "noted", target="es")
        assert outputs(Chain.model_validate({"services": [leg, leg]}), "x") == ["x en>es en>es"]

    def test_can_be_pickled_and_written_down(self, words: dict[str, Any]) -> None:
        service = round_trip(words, "eo", "es>it")
        assert pickle.loads(pickle.dumps(service)) == service
        again = RoundTrip.model_validate(service.model_dump(mode="json"))
        assert again.fingerprint == service.fingerprint


class TestPlan:
    def test_every_fault_of_a_nested_table_is_told_with_its_place(self) -> None:
        plan = {
            "services": {
                "one": {"use": "round-trip", "translator": {"use": "apertum"}, "vias": ["es"]},
                "two": {"use": "chain", "services": [{"use": "vader", "timeout": "soon"}, {}]},
            },
            "experiments": [],
        }
        with pytest.raises(PlanError) as result:
            load_plan(plan)
        places = {fault.place: str(fault) for fault in result.value.faults}
        assert 'Did you mean "apertium"' in places["services.one.translator"]
        assert 'Did you mean "via"' in places["services.one.vias"]
        assert "services.two.services[0].timeout" in places
        assert "one of: afinn" in places["services.two.services[1]"]

    def test_a_scorer_behind_a_round_trip_stands_in_a_plan_and_comes_back_from_its_document(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "plan.toml").write_text(SCORED)
        plan = load_plan(tmp_path / "plan.toml")
        service = plan.services["behind"]
        assert isinstance(service, RoundTrip)
        assert isinstance(service.then, Vader)
        assert load_plan(plan.document()).hash == plan.hash
        rated = [one for one in plan_targets(plan) if one.control is None]
        assert [(one.part, one.task) for one in rated] == [("eo", "score"), ("es", "score")]

    def test_a_fault_of_the_scorer_is_told_with_its_place(self) -> None:
        plan = {
            "services": {
                "one": {
                    "use": "round-trip",
                    "via": ["es"],
                    "translator": {"use": "apertium"},
                    "then": {"use": "vadr"},
                }
            },
            "experiments": [],
        }
        with pytest.raises(PlanError) as result:
            load_plan(plan)
        places = {fault.place: str(fault) for fault in result.value.faults}
        assert 'Did you mean "vader"' in places["services.one.then"]

    def test_the_schema_leaves_nested_tables_to_their_plug_in(self) -> None:
        schema = RoundTrip.model_json_schema()
        assert schema["properties"]["translator"]["required"] == ["use"]
        assert "additionalProperties" not in schema["properties"]["translator"]
        assert callable(plan_schema)


class TestReal:
    pytestmark = installed

    def test_apertium_through_esperanto_keeps_the_pronouns(self) -> None:
        service = RoundTrip.model_validate({"translator": {"use": "apertium"}, "via": ["eo"]})
        reply = replies(service, "She is a nurse. He is a baker.")[0]
        assert str(reply.output).lower().split()[0] == "she"
        assert " He is" in str(reply.output)
        assert reply.trail == ("Ŝi estas flegistino. Li estas bakisto.",)
        assert service.deterministic
        assert service.batch == Apertium().batch

    def test_apertium_through_a_pivot(self) -> None:
        service = RoundTrip.model_validate({"translator": {"use": "apertium"}, "via": ["es>it"]})
        reply = replies(service, "The engineer finished the work.")[0]
        assert len(reply.trail) == 3
        assert "engineer" in str(reply.output).lower()

    def test_apertium_there_and_back_then_a_scorer(self) -> None:
        service = RoundTrip.model_validate(
            {"translator": {"use": "apertium"}, "via": ["eo", "es"], "then": {"use": "vader"}}
        )
        for part in service.parts().values():
            good, bad = replies(part, "The book is wonderful.", "The book is horrible.")
            assert float(good.output) > 0.05 > -0.05 > float(bad.output)
            assert len(good.trail) == 2
            assert "book" in good.trail[-1].lower()
            assert good.output == outputs(Vader(), good.trail[-1])[0]
        assert service.batch == min(Apertium().batch, Vader().batch)

    def test_a_translator_then_a_scorer(self) -> None:
        chain = Chain.model_validate(
            {"services": [{"use": "apertium", "source": "es", "target": "en"}, {"use": "vader"}]}
        )
        good, bad = outputs(chain, "Este libro es maravilloso.", "Este libro es horrible.")
        assert float(good) > 0.05 > -0.05 > float(bad)
        assert chain.batch == min(Apertium().batch, Vader().batch)
