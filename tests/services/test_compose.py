"""Chains and round trips, over translators that write down what they did."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.services.asking import outputs, replies
from tests.services.test_apertium import installed
from trustgauge.errors import PlanError, RejectedError
from trustgauge.plan import load_plan, plan_schema
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

def length(text):
    return len(text)
'''


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
        legs = [(leg.source, leg.target) for leg in parts["es>it"].legs() if isinstance(leg, Function)]
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
        with pytest.raises(ValidationError, match=r"empty|twice|no way"):
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


class TestChain:
    def test_flattens_chains_of_chains(self, words: dict[str, Any]) -> None:
        inner = {"use": "chain", "services": [table(words, "noted", target="es")]}
        last = table(words, "length", task="score")
        nested = Chain.model_validate({"services": [inner, last]})
        flat = Chain.model_validate({"services": [table(words, "noted", target="es"), last]})
        assert nested.fingerprint == flat.fingerprint
        assert (nested.task, len(nested.legs())) == ("score", 2)
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
        with pytest.raises(RejectedError, match="silent"):
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
        with pytest.raises(PlanError) as told:
            load_plan(plan)
        places = {fault.place: str(fault) for fault in told.value.faults}
        assert 'Did you mean "apertium"' in places["services.one.translator"]
        assert 'Did you mean "via"' in places["services.one.vias"]
        assert "services.two.services[0].timeout" in places
        assert "one of: afinn" in places["services.two.services[1]"]

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

    def test_a_translator_then_a_scorer(self) -> None:
        chain = Chain.model_validate(
            {"services": [{"use": "apertium", "source": "es", "target": "en"}, {"use": "vader"}]}
        )
        good, bad = outputs(chain, "Este libro es maravilloso.", "Este libro es horrible.")
        assert float(good) > 0.05 > -0.05 > float(bad)
        assert chain.batch == min(Apertium().batch, Vader().batch)
