from __future__ import annotations

import copy
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from tests.reports import causal_fixtures, fixtures, social_fixtures, trust_fixtures
from tests.reports.golden import only, only_causal, only_social, risk
from trustgauge import errors, plugins
from trustgauge.methods.two_step import view
from trustgauge.records import ControlResult, Coverage, Reason, State
from trustgauge.reports import html, sentences, terminal, views
from trustgauge.reports.components import COMMON, view_by_name
from trustgauge.reports.document import document
from trustgauge.reports.document_model import ReasonEntry

SOURCE = Path(errors.__file__).parent
NEVER = ("is fair", "is unbiased", "is safe", "unbiased service", "are fair", "probably")
STATES: Any = only(fixtures.all_states())


def classes(root: type[errors.TrustgaugeError]) -> list[type[errors.TrustgaugeError]]:
    return [root, *(found for child in root.__subclasses__() for found in classes(child))]


MESSAGES = {"": COMMON} | {name: view_by_name(name).messages for name in plugins.names("views")}
CODES = [(method, code) for method, known in MESSAGES.items() for code in known.reasons]
NEUTRAL = {**STATES["method"], "options": {**STATES["method"]["options"], "source": "tr"}}
RATINGS: dict[str, Any] = {
    "": STATES,
    "two-step": STATES,
    "two-step-neutral-source": {**STATES, "method": NEUTRAL},
    "causal": only_causal(causal_fixtures.all_kinds()),
    "social-bias": only_social(social_fixtures.all_states()),
    "trust": risk(),
}


def all_messages() -> list[str]:
    return [
        words
        for known in MESSAGES.values()
        for words in (
            *(text for table in known.texts.values() for text in table.values()),
            *(template for templates in known.reasons.values() for template in templates),
            *(
                text
                for table in known.levels.values()
                for level in table.values()
                for text in (level.short, level.line, level.sentence)
            ),
        )
    ]


def test_every_reason_that_is_given_has_its_message_and_no_message_is_left_over() -> None:
    source = "\n".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py"))
    begun = tuple(re.findall(r'f"((?:social-bias|limits)\.[a-z-]*){', source))
    known = {code for _, code in CODES}
    assert not [code for code in known if f'"{code}"' not in source and not code.startswith(begun)]
    given = set(re.findall(r'Reason\(\s*"([a-z.-]+)"', source))
    assert len(given) > 50
    assert given <= known


def test_we_say_what_was_measured_and_never_that_a_service_is_something() -> None:
    run, ratings = fixtures.demo()
    seen = [*all_messages()]
    causal, social = causal_fixtures.all_kinds(), social_fixtures.all_states()
    for pair in (
        (social_fixtures.run([social]), [social]),
        (run, ratings),
        (fixtures.run([fixtures.all_states()]), [fixtures.all_states()]),
        (causal_fixtures.run([causal]), [causal]),
    ):
        result = document(*pair, fail_on=("BS",))
        seen += [html.report(result), terminal.plain(terminal.show(result))]
    for phrase in seen:
        lowered = phrase.lower()
        assert not [words for words in NEVER if words in lowered]


def test_every_error_has_its_sentence_and_no_sentence_is_left_over() -> None:
    ours = {cls.code for cls in classes(errors.TrustgaugeError) if cls.__module__ == "trustgauge.errors"}
    assert set(COMMON.table("errors")) == ours
    assert all(sentences.error(code).endswith(".") for code in ours)
    assert sentences.error("plug-in.odd") == 'An error of the kind "plug-in.odd".'


def test_every_state_and_status_has_its_words() -> None:
    from typing import get_args

    from trustgauge.records import Status

    assert set(get_args(State)) <= set(COMMON.table("states"))
    assert {*get_args(Status), "unread"} == set(COMMON.table("answers"))


@pytest.mark.parametrize(("method", "code"), CODES)
def test_every_reason_has_a_sentence_whatever_facts_come(method: str, code: str) -> None:
    rating, templates = RATINGS[method], MESSAGES[method].reasons[code]
    bare = sentences.reason(Reason(code), rating)
    assert bare.endswith((".", ")"))
    assert "{" not in bare
    everything = {
        name: value
        for template in templates
        for name, value in re.findall(r"{(\w+)(?::([^}]+))?}", template)
        if name
    }
    facts = {name: _fact(kind) for name, kind in everything.items()}
    full = sentences.reason(Reason(code, facts), rating)
    assert "{" not in full
    if len(templates) > 1 and facts.keys() - {"noun", "attribute"}:
        assert full != bare


def _fact(kind: str) -> Any:
    if "|" in kind or kind == "number":  # a count with its noun
        return 80
    return {
        "percent": 0.42,
        "certainty": 0.84,
        "points": 0.17,
        "p": 0.004,
        "ratio": 2.5,
        "signed": -0.01,
        "count": 80,
        "list": ["a", "b"],
    }.get(kind, "He")


def test_a_wrong_kind_of_fact_falls_back_to_a_plainer_sentence() -> None:
    odd = Reason("two-step.adds-bias", {"value": "He", "gain": "much", "share": None})
    assert sentences.reason(odd).startswith("One value came back more often")
    assert sentences.reason(Reason("incomplete-loss", {"share": "x", "where": 3})).startswith("Too many")


def test_unknown_codes_of_plug_ins_are_shown_with_their_facts() -> None:
    result = sentences.reason(Reason("mine.odd", {"x": 3, "who": "\x1b[31m"}), STATES)
    assert result == 'The method gives the reason "mine.odd" (x: 3, who: ␛[31m).'


@given(
    some.dictionaries(
        some.text(max_size=8), some.none() | some.floats() | some.text() | some.integers(), max_size=5
    )
)
@example({"cut": 0.05})
@example({"told": None})
def test_no_facts_can_break_a_sentence(facts: Any) -> None:
    for method, code in (*CODES, ("", "unknown")):
        assert sentences.reason(Reason(code, facts), RATINGS[method])


def test_keys_of_parts_become_titles_and_records_are_taken_as_they_are() -> None:
    facts = {"excluded": ["it", "tr"], "level": "DSBS", "state": "rated"}
    said = "Without Italian and Turkish the rating would be DSBS (rated)."
    entry: ReasonEntry = {"code": "overall.without", "facts": facts, "evidence": []}
    assert sentences.reason(entry, STATES) == said
    assert sentences.reason(Reason("overall.without", facts), STATES) == said


def test_the_other_rule_is_told_beside_the_level() -> None:
    said = views.other_rule(STATES)
    assert said.startswith(
        "Under the rule “published” the same answers give DSBS, follows for Turkish, Italian,"
    )
    single = only(fixtures.rating("x", [fixtures.part("", "mostly he")]))
    assert views.other_rule(single) == "Under the rule “published” the same answers give DSBS, follows."


def test_verdict_counts_the_parts_it_holds_for() -> None:
    assert sentences.verdict(STATES, directed=False) == (
        "It adds gender bias of its own in 2 of 7 languages, even when its input is balanced."
    )
    single = only(fixtures.rating("x", [fixtures.part("", "mostly he")]))
    assert sentences.verdict(single, directed=False) == (
        "It adds gender bias of its own, even when its input is balanced."
    )


def test_verdict_counts_no_part_that_is_not_settled() -> None:
    rating = cast("Any", copy.deepcopy(STATES))
    italian = next(part for part in rating["parts"] if sentences.title(part) == "Italian")
    italian["state"] = "not settled"
    assert "bias of its own in 1 of 7 languages" in sentences.verdict(rating)
    assert sentences.shown_at_level(rating, "BS") == ["Turkish"]
    assert "2 BS, adds bias (Turkish and Italian [not settled])" in sentences.follows(rating)


@pytest.mark.parametrize(("empty", "said"), [(29, False), (30, True), (600, True)])
def test_verdict_says_how_many_answers_were_empty_where_they_are_more_than_a_few(
    empty: int, said: bool
) -> None:
    rating = cast("Any", copy.deepcopy(STATES))
    rating["coverage"].update(planned=600, answered=600 - empty, empty=empty)
    assert sentences.verdict(rating).endswith(f"{empty} of its 600 answers were empty.") == said


def test_verdict_begins_with_what_goes_wrong_and_towards_whom() -> None:
    said = "It turns she into he in 540 of 600 sentences (Turkish). It adds gender bias of its own in 2 of 7 "
    assert sentences.verdict(STATES).startswith(said)
    single = only(fixtures.rating("x", [fixtures.part("", "mostly he")]))
    assert sentences.direction(single) == "It turns she into he in 540 of 600 sentences."


def test_no_direction_is_told_that_is_not_settled_or_not_of_the_level() -> None:
    part = fixtures.part("", "mostly he")
    for change in part.details["swaps"]:
        change["p_holm"] = 0.06
    assert sentences.direction(only(fixtures.rating("x", [part]))) == ""
    assert sentences.direction(cast(Any, {**STATES, "state": "not settled"})) == ""
    follows = only(fixtures.rating("x", [fixtures.part("", "faithful")]))
    assert sentences.direction(follows) == ""


def test_hostile_values_in_a_direction_stay_visible_text() -> None:
    part = fixtures.part("", "mostly he")
    for change in part.details["swaps"]:
        change["from"] = change["from"].replace("She", "{0.__class__}\u202e<b>")
    said = sentences.direction(only(fixtures.rating("x", [part])))
    assert "{0.__class__}" in said
    assert "\u202e" not in said


def test_the_overall_can_be_redone_by_hand() -> None:
    assert sentences.follows(STATES).split("; ") == [
        "The overall rating is the level of the worst language. Of 7 languages: "
        "1 UCS, compensates (Hindi [not settled])",
        "2 DSBS, follows (Esperanto and Arabic)",
        "2 BS, adds bias (Turkish and Italian). Without a level: Portuguese and Japanese.",
    ]


def test_not_applicable_never_counts() -> None:
    assert sentences.testable_count(STATES) == (5, 7)
    assert len(STATES["parts"]) == 8


def test_cannot_say_is_a_result_with_what_would_settle_it() -> None:
    result = only(fixtures.rating("x", [fixtures.part("hi", "coin", state="not settled", certainty=0.84)]))
    said = sentences.verdict(result)
    assert said.startswith("Not settled. Most likely: its output stays balanced")
    assert "UCS 84 %" in said
    assert said.endswith("About 80 texts per block would settle it.")


def test_what_keeps_several_parts_open_is_said_once() -> None:
    parts = [
        replace(
            fixtures.part(key, "coin", state="not settled", certainty=0.84),
            reasons=(Reason("too-few-clusters", {"clusters": clusters, "needed": 20}),),
        )
        for key, clusters in (("hi", 7), ("tr", 9))
    ]
    said = sentences.verdict(only(fixtures.rating("x", parts)))
    assert "7" in said
    assert "9" not in said.partition("Certainty")[2].partition(".")[2]


def test_a_level_that_most_resamples_lack_is_not_called_the_likeliest() -> None:
    result = only(fixtures.rating("x", [fixtures.part("hi", "coin", state="not settled", certainty=0.84)]))
    result["overall"]["certainty"] = {"UCS": 0.30, "DSBS": 0.60, "BS": 0.10}
    assert sentences.verdict(result).startswith("Not settled. As measured, its output stays balanced")


def test_incomplete_names_what_came() -> None:
    result = only(fixtures.rating("x", [fixtures.lost_part("pt", "Portuguese")]))
    assert sentences.verdict(result).startswith("Not rated: 348 of 600 answers can be used. 42 % of the")


def test_incomplete_names_the_reason_that_decides() -> None:
    """A loss of one in twenty answers is not "too few": what counts is whom it hits."""
    facts = {"share": 0.09, "where": "She", "against": "He", "p": 0.001}
    coverage = Coverage(planned=600, answered=570, failed=30)
    part = replace(fixtures.lost_part("pt", "Portuguese"), coverage=coverage)
    result = only(fixtures.rating("x", [replace(part, reasons=(Reason("incomplete-loss", facts),))]))
    assert sentences.verdict(result) == (
        "Not rated: 570 of 600 answers can be used. 9 % of the answers to She are missing, and significantly "
        "fewer to He: such a loss could hide a bias or feign one."
    )
    unknown = only(fixtures.rating("x", [replace(part, reasons=())]))
    assert sentences.verdict(unknown).endswith("570 of 600 answers can be used, too few for a rating.")


def test_levels_never_stand_without_words() -> None:
    assert sentences.level_in_words(STATES, "BS") == "BS, adds bias"
    assert sentences.level_in_words(risk(), "H") == "High risk"
    own = only(fixtures.all_states())
    own["method"]["name"] = "plug-in"
    own["overall"]["scale"] = [{"level": "7", "words": "odd"}]
    assert sentences.level_in_words(own, "7") == "7, odd"


def test_controls_in_one_line() -> None:
    run = fixtures.run([])
    facts = document(run, [])["run"]["anchors"]
    either = document(causal_fixtures.run([]), [])["run"]["anchors"]
    assert sentences.controls(either) == "3 of 3 got the expected rating"
    assert sentences.controls(facts) == "5 of 5 got the expected rating"
    facts[4]["state"] = "not settled"
    assert sentences.controls(facts) == "4 of 5 got the expected rating; not settled: anchor/coin"
    whole = document(fixtures.run([]), [*fixtures.demo()[1]])
    whole["run"]["anchors"] = facts
    said = "4 of 5 got the expected rating, none a wrong one; not settled: anchor/coin"
    assert said in html.report(whole)
    wrong = ControlResult("anchor/coin", "UCS", "rated", "BS", {"BS": 1.0})
    void = document(fixtures.run([], controls=(wrong,), state="void"), [])["run"]["anchors"]
    assert "anchor/coin is built as UCS, but was rated BS" in sentences.controls(void)
    assert sentences.controls([]) == "no control service was run"


def test_a_control_that_experiments_share_is_named_once() -> None:
    facts = document(fixtures.run([]), [])["run"]["anchors"]
    twice = [*facts, *document(fixtures.run([]), [])["run"]["anchors"]]
    assert sentences.controls(twice) == "5 of 5 got the expected rating"
    twice[4]["state"] = twice[9]["state"] = "not settled"
    assert sentences.controls(twice) == "4 of 5 got the expected rating; not settled: anchor/coin"
    twice[4]["state"] = "rated"
    assert sentences.controls(twice) == "4 of 5 got the expected rating; not settled: anchor/coin"
    for one in (twice[4], twice[9]):
        one["level"], one["wrong"] = "BS", True
    assert sentences.controls(twice).count("anchor/coin is built as UCS, but was rated BS") == 1


def test_flags_are_words() -> None:
    assert sentences.flag("lost-24") == "24 % lost the value"
    assert sentences.flag("fits-neither") == "fits neither declared distribution"
    assert sentences.flag("own-flag") == "own flag"


def test_loss_stands_beside_a_part() -> None:
    italian = STATES["parts"][1]
    assert "57 % lost the pronoun" in sentences.notes(italian, STATES)
    assert sentences.lost_share(STATES["parts"][2]) is None


@pytest.mark.parametrize(("number", "words"), [(1, "1 unread answer"), (1160, "1,160 unread answers")])
def test_a_part_open_for_unread_answers_says_how_many_to_label(number: int, words: str) -> None:
    reason: ReasonEntry = {"code": "unread-matters", "facts": {"to_read": number}, "evidence": []}
    part: Any = STATES["parts"][1] | {"state": "not settled", "reasons": [reason]}
    assert f"not settled: {words}" in sentences.notes(part, STATES)  # numbers, which people cannot read
    reason["facts"]["option"] = "--unread"
    assert f"not settled: {words} to label" in sentences.notes(part, STATES)


def test_a_command_is_that_of_the_rating_it_stands_in() -> None:
    facts = {"unread": 5, "planned": 50, "to_read": 4}
    label = sentences.reason(Reason("unread-matters", facts | {"option": "--unread"}), STATES)
    assert f"(trustgauge audit {STATES['id']} --unread)" in label
    alone = sentences.reason(Reason("unread-matters", facts), STATES)
    assert "If 4 of them could be interpreted" in alone
    assert "trustgauge" not in alone


def test_masked_text_tells_only_its_length() -> None:
    assert sentences.mask_text("some very bad words") == "████ 4 words hidden"


def test_balanced_output_carries_its_caution() -> None:
    result = only(fixtures.rating("anchor/coin", [fixtures.part("", "coin")]))
    assert view.ucs_note(result) == (
        "UCS alone does not make a service useful: it changed half of the pronouns"
    )
    assert view.ucs_note(STATES) == ""


def test_rule_is_named_with_its_margin() -> None:
    assert "10 points" in views.rule(STATES)
    assert views.rule(STATES).endswith("Rule: sound.")
    for rule in ("published", "released"):
        other = only(fixtures.all_states())
        other["method"]["rule"] = rule
        assert f"Rule: {rule}" in views.rule(other)


def test_a_count_of_one_has_its_own_noun() -> None:
    facts = {"words": ["grim"], "sets": ["e1"], "frames": 1, "persons": 2000}
    said = sentences.reason(Reason("limits.these-words", facts), only_causal(causal_fixtures.all_kinds()))
    assert said.startswith(
        "Only texts with 1 emotion word in 1 set were used; a part has at most 1 frame and 2,000 persons."
    )


def test_a_reason_of_a_rating_with_one_part_is_shown_unless_its_part_gives_it() -> None:
    (part, *_) = fixtures.all_states().parts
    long = Reason("too-long", {"answers": 3, "most": 64_000})
    whole = fixtures.rating("x", [replace(part, reasons=())])
    assert views.overall_reasons(only(replace(whole, reasons=(long,)))) == [
        "Answers longer than 64,000 characters were stored but not judged: 3."
    ]
    given = fixtures.rating("x", [replace(part, reasons=(long,))])
    assert views.overall_reasons(only(replace(given, reasons=(long,)))) == []


def test_controls_of_one_name_that_were_rated_for_different_things_all_count() -> None:
    of_each = [
        replace(one, issue=issue) for issue in ("gender", "worship") for one in fixtures.run([]).controls
    ]
    facts = document(fixtures.run([], controls=tuple(of_each)), [])["run"]["anchors"]
    assert sentences.controls(facts) == "10 of 10 got the expected rating"
    facts[9]["state"] = "not settled"
    assert sentences.controls(facts) == "9 of 10 got the expected rating; not settled: anchor/coin (worship)"


def test_ratings_of_one_service_are_distinctions_by_what_differs() -> None:
    gender = fixtures.all_states()
    worship = replace(gender, attribute="worship")
    other = fixtures.all_states("other")
    every = [gender, worship, replace(worship, rule="published"), other]
    ratings = document(fixtures.run(every), every)["ratings"]
    apart = views.distinctions(ratings)
    assert apart == ["gender, sound", "worship, sound", "worship, published", ""]
    assert views.distinctions(ratings[:2]) == ["gender", "worship"]
    page, table = html.report(document(fixtures.run(every), every)), terminal.service_table(ratings)
    for one in apart[:3]:
        assert page.count(f" · {one}</span></th>") == page.count(f" · {one}</a></li>") == 1
    rows = [row for row in terminal.plain(table).splitlines() if row.startswith("LinguaBridge")]
    assert [one in row for one, row in zip(apart[:3], rows, strict=True)] == [True] * 3


def test_a_limit_that_differs_between_ratings_says_whose_it_is() -> None:
    lines = [Reason("limits.one-attribute", {"attribute": one}) for one in ("gender", "worship")]
    every = [
        replace(fixtures.all_states(), limits=(lines[0],)),
        replace(fixtures.all_states(), attribute="worship", limits=(lines[1],)),
    ]
    said = views.limits(document(fixtures.run(every), every))
    assert "LinguaBridge (gender): Only gender was tested, no other attributes." in said
    assert "LinguaBridge (worship): Only worship was tested, no other attributes." in said
    assert "Only gender was tested, no other attributes." in views.limits(
        document(fixtures.run(every[:1] * 2), every[:1] * 2)
    )
    many = [replace(fixtures.all_states(f"s{n}"), limits=(lines[0],)) for n in range(5)]
    whole = views.limits(document(fixtures.run([*many, every[1]]), [*many, every[1]]))
    assert "5 ratings: Only gender was tested, no other attributes." in whole


def test_the_limit_of_an_open_level_says_whose_it_is() -> None:
    """Of 24 services "The level is not settled" stood there, without a name."""
    line = "The level is not settled: it may turn out to be another."
    parts = fixtures.all_states("open").parts
    settled = replace(
        fixtures.all_states("sure"), state="rated", parts=tuple(p for p in parts if p.state == "rated")
    )
    both = [replace(fixtures.all_states("open"), state="not settled"), settled]
    assert f"open: {line}" in views.limits(document(fixtures.run(both), both))
    assert line in views.limits(document(fixtures.run(both[:1]), both[:1]))


def test_a_gain_near_the_margin_is_said_in_full() -> None:
    facts = {"value": "He", "from": 0.5, "share": 0.602, "gain": 0.102, "margin": 0.1}
    near = sentences.reason(Reason("two-step.adds-bias", facts), STATES)
    assert near == "He rose from 50 % to 60 % on balanced text, by 10.2 points."
    nearer = sentences.reason(Reason("two-step.adds-bias", {**facts, "gain": 0.10004}), STATES)
    assert nearer.endswith("by 10.004 points.")
    far = sentences.reason(Reason("two-step.adds-bias", {**facts, "gain": 0.2, "share": 0.7}), STATES)
    assert far.endswith("by 20 points.")


def test_the_level_without_excluded_parts_stands_in_the_terminal_too() -> None:
    without = Reason("overall.without", {"excluded": ["Spanish"], "level": "BS", "state": "rated"})
    one = replace(fixtures.all_states(), reasons=(without,))
    said = terminal.plain(terminal.notes(document(fixtures.run([one]), [one])["ratings"]))
    assert "note     Without Spanish the rating would be BS (rated)." in said
    two = [one, fixtures.all_states("other")]
    said = terminal.plain(terminal.notes(document(fixtures.run(two), two)["ratings"]))
    assert "note     LinguaBridge: Without Spanish the rating would be BS (rated)." in said


def test_the_only_part_with_a_level_is_called_that_and_not_the_worst() -> None:
    parts = [part for part in fixtures.all_states().parts if part.state == "rated"][:1]
    result = only(fixtures.rating("x", [*parts, fixtures.lost_part("pt", "Portuguese")], state="rated"))
    title = sentences.title(result["parts"][0])
    assert views.overall_notes(result).startswith(f"only {title} has a level")


def test_levels_that_are_numbers_are_words_within_a_sentence() -> None:
    """It said "Certainty: 2 62 %, 1 38 %" and "62 % confident in 2"."""
    rating = only(causal_fixtures.rating("gru", state="not settled"))
    rating["overall"] |= {"level": "2", "certainty": {"1": 0.38, "2": 0.62, "3": 0.0}}
    assert sentences.settle(rating).startswith("Certainty: some effect 62 %, no effect 38 %.")
    reason = Reason("not-settled", {"certainty": 0.62, "level": "2", "settle": 0.95})
    assert sentences.reason(reason, rating) == "62 % confident in some effect; 95 % is required."


def test_a_certainty_that_is_enough_is_not_called_too_low() -> None:
    """What keeps the level open is another reason: "95 % confident in no effect; 95 % is required"."""
    rating = only(causal_fixtures.rating("gru", state="not settled"))
    for certainty, said in ((0.9545, False), (0.62, True)):
        facts = {"certainty": certainty, "level": "1", "settle": 0.95}
        rating["reasons"] = [{"code": "not-settled", "facts": facts, "evidence": []}]
        assert any("is required" in line for line in views.overall_reasons(rating)) is said


def test_only_who_tells_secrets_is_to_be_told_nothing_confidential() -> None:
    """A bot that insults and keeps secrets was advised about like one that leaks."""
    quiet: Any = {"leakage": (0.0, "rated"), "abuse": (0.9, "rated")}
    leaky: Any = {"leakage": (0.9, "rated"), "abuse": (0.0, "rated")}
    for issues, profile, said in ((quiet, "safe-language", False), (leaky, "privacy-first", True)):
        rating = trust_fixtures.only(trust_fixtures.rating("bot", issues, profile, rule="sound"))
        assert rating["overall"]["level"] == "H"
        assert ("tell it nothing confidential" in sentences.advice(rating)) is said
