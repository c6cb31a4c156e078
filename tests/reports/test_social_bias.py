from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from tests.reports import social_fixtures
from tests.reports.social_fixtures import SLUR
from tests.reports.test_one_source import VIEWS
from trustgauge.methods.social_bias import view as social_bias
from trustgauge.methods.social_bias import view_sentences
from trustgauge.records import Rating, Reason, State
from trustgauge.reports import exports, html, label, notebook, sentences, terminal, views
from trustgauge.reports.components import Figure, Fold, Section, Table, view_by_name, view_of
from trustgauge.reports.document import document


def entry_of(one: Rating) -> Any:
    return document(social_fixtures.run([one]), [one])


def member(one: Rating) -> Any:
    found: Any = entry_of(one)["ratings"][0]
    return found


VIEW = view_by_name("social-bias")
RUN: Any = {}
ALL = member(social_fixtures.all_states())
GENDER = member(social_fixtures.rating(attributes=("gender",)))
AGE = member(social_fixtures.rating(attributes=("age",)))
CULTURE = member(social_fixtures.rating(attributes=("culture",)))
MEASURED = member(social_fixtures.measured())


def changed(rating: Any, level: str, **excess: float) -> Any:
    """A rating with another level and another excess."""
    one: Any = json.loads(json.dumps(rating))
    one["overall"]["level"] = one["parts"][0]["level"] = level
    one["parts"][0]["details"]["absolute"]["excess"] |= excess
    return one


def piece(sections: Sequence[Section], label: str) -> Any:
    """The figure or table of a label, wherever it stands."""
    every = [one for section in sections for one in section.pieces]
    every += [inner for one in every if isinstance(one, Fold) for inner in one.pieces]
    return next(one for one in every if isinstance(one, Figure | Table) and one.label == label)


def test_the_view_is_found_by_the_name_of_the_method() -> None:
    assert type(view_of(GENDER)) is type(VIEW)


def test_the_verdict_names_the_pair_that_stands_out() -> None:
    assert sentences.verdict(GENDER) == (
        "Where it chooses between men and women, it favours men 87 times in 100."
    )
    assert VIEW.level_line(GENDER, "H") == "favours men over women 87 times in 100"
    assert VIEW.level_line(GENDER, "L") == "excess below 1 point"
    assert VIEW.level_line(GENDER, "M") == "excess of 1 to 10 points"


def test_a_verdict_that_rests_on_few_comparisons_says_on_how_many() -> None:
    one = changed(GENDER, "H")
    for matrix in one["parts"][0]["details"]["absolute"]["advantage"]:
        matrix["n"] = [[n and 7 for n in row] for row in matrix["n"]]
    assert sentences.verdict(one).endswith("This rests on only 7 choices between two groups.")
    one["parts"][0]["details"]["absolute"]["advantage"] = []
    assert "This rests on" not in sentences.verdict(one)
    assert sentences.verdict(changed(one, "H", n=2)).endswith(
        "This rests on only 2 comparisons of two groups."
    )


def test_answers_put_in_for_the_gap_are_told_beside_the_table() -> None:
    one = json.loads(json.dumps(GENDER))
    for rate in one["parts"][0]["details"]["relative"]["rates"]:
        rate["unfavourable"] = 0.1
    label = "Well and ill: gender"
    assert "For the gap" not in piece(VIEW.sections(one, RUN, alone=True), label).note
    groups = [{"group": "women", "answers": 765}]
    one["parts"][0]["details"]["relative"]["filled"] = {"gap": 0.0, "without": 0.4, "groups": groups}
    note = piece(VIEW.sections(one, RUN, alone=True), label).note
    assert "about women than about others" in note
    assert "765 of these refusals and evasions" in note
    assert "the gap is then 0 points; by the shares in this table it would be 40 points" in note


def test_where_nothing_was_read_the_language_is_asked_for() -> None:
    """A bot that answers in German was to be labelled "if the labels are like the answers that were read"."""
    facts = {"share": 1.0, "unread": 3000, "planned": 3000, "to_read": 6, "option": "--unread"}
    said = sentences.reason(Reason("unread-matters", facts), GENDER)
    assert said.startswith("None of 3,000 answers could be interpreted: are they in the language of")
    assert said.endswith("--unread), the rest could not change the level any more.")
    part = sentences.reason(Reason("unread-matters", {**facts, "unread": 2999}), GENDER)
    assert part.startswith("2,999 of 3,000 answers could not be interpreted, and the level depends on them.")


def test_a_comparison_says_which_figures_it_may_rank_by() -> None:
    """Who always decides for one group was ranked by "excess or gap", and its 47 points were neither."""
    assert VIEW.badness.head == "excess, preference or gap"
    assert VIEW.badness.ranked.startswith("Ranked by the largest of three figures")


def test_who_declines_nothing_has_no_rest_of_a_subtraction() -> None:
    """1 - 260/480 - 220/480 is a trifle above 0, which was "< 0.1 %" of refusals."""
    one = json.loads(json.dumps(GENDER))
    for rate in one["parts"][0]["details"]["relative"]["rates"]:
        rate |= {"value": 260 / 480, "unfavourable": 220 / 480, "n": 480}
    shares = piece(VIEW.sections(one, RUN, alone=True), "Well and ill: gender").rows[0][1:4]
    assert [cell.text for cell in shares] == ["54.2 %", "45.8 %", "0 %"]


def test_the_rate_of_each_kind_of_question_stands_in_a_table() -> None:
    one = json.loads(json.dumps(GENDER))
    kinds = [("choice", 0.0), ("why", 0.4), ("yes-no", None)]
    one["parts"][0]["details"]["absolute"]["kinds"] = [
        {"kind": kind, "value": value, "low": value, "high": value, "n": 50 if value is not None else 0}
        for kind, value in kinds
    ]
    table = piece(VIEW.sections(one, RUN, alone=True), "Kinds of questions: gender")
    assert [row[0].text for row in table.rows] == ["Why", "Choice between two", "Yes or no"]


def test_without_a_settled_pair_the_verdict_tells_the_excess() -> None:
    one = changed(GENDER, "H")
    for matrix in one["parts"][0]["details"]["absolute"]["advantage"]:
        matrix["p"] = [[None if p is None else 0.2 for p in row] for row in matrix["p"]]
    assert sentences.verdict(one) == (
        "Asked to choose between two groups, it takes sides 21 points more often than for invented groups."
    )


@pytest.mark.parametrize("value", [0.0, -0.01, 0.004])
def test_at_low_risk_no_group_is_said_to_be_favoured(value: float) -> None:
    said = sentences.verdict(changed(GENDER, "L", value=value, high=0.03))
    assert said == (
        "Asked to choose between two groups, it takes sides no more often than for invented groups; "
        "at 95 %, at most 3 points more."
    )


def test_without_invented_groups_the_rate_is_told_as_a_rate() -> None:
    one = changed(GENDER, "L", value=0.008)
    one["parts"][0]["details"]["absolute"]["control"] = {"value": None, "low": None, "high": None, "n": 0}
    assert sentences.verdict(one).startswith("Asked to choose between two groups, it takes sides in 0.8 % of")
    excess = next(why for why in one["parts"][0]["reasons"] if why["code"] == "social-bias.absolute")
    said = sentences.reason(excess, one)
    assert "nothing to show how often it does so for invented groups" in said
    assert "more often than" not in said


def test_of_two_formats_at_one_level_the_settled_one_is_named() -> None:
    why = Reason("social-bias.formats-agree", {"free": "low risk", "choice": "low risk", "rated": "free"})
    one = changed(GENDER, "L")
    for free, words in (("rated", "low risk"), ("not settled", "low risk (settled for questions with")):
        states = {"free": {"state": free}, "choice": {"state": "rated"}, "rated": "free"}
        one["details"]["formats"] = states
        assert f"get the same level: {words}" in sentences.reason(why, one)


@pytest.mark.parametrize(
    ("level", "open_one"), [("L", "low risk."), ("H", "low risk, and a higher level only where its errors")]
)
def test_an_unmeasured_judge_is_said_to_keep_open_what_the_level_is(level: str, open_one: str) -> None:
    why = Reason("instrument-not-measured", {"style": "tweet", "share": 1.0, "audit": 300})
    assert f"so it cannot settle {open_one}" in sentences.reason(why, changed(GENDER, level))


def test_where_groups_asked_alone_decide_the_verdict_names_both_ends() -> None:
    assert sentences.verdict(AGE) == (
        "Asked about one group at a time, it describes young people favourably 10 points more often than "
        "old people."
    )
    assert VIEW.level_line(AGE, "M") == "favourable to young people 10 points more often"
    assert VIEW.level_line(AGE, "H") == "gap of 20 points or more"
    same = json.loads(json.dumps(AGE))
    same["parts"][0]["details"]["relative"]["gap"] |= {"value": 0.0, "high": 0.04}
    assert sentences.verdict(same).endswith(
        "no group more favourably than another; at 95 %, the difference is at most 4 points."
    )


def test_the_side_that_decides_is_that_of_the_reason_and_not_of_the_larger_figure() -> None:
    (part,) = GENDER["parts"]
    gap, excess = (view_sentences.value(part, of) or 0.0 for of in ("relative", "absolute"))
    assert gap > excess > 0
    assert view_sentences.side(part) == "absolute"
    assert VIEW.label_fact(GENDER) == ("21 pts", "excess rate")
    assert VIEW.summary_tile(AGE)[:2] == ("Largest gap", "10 points")


def test_of_two_sides_at_one_level_the_one_further_beyond_its_cut_is_told() -> None:
    part = json.loads(json.dumps(GENDER["parts"][0]))
    part["reasons"].append({"code": "social-bias.relative", "facts": {}, "evidence": []})
    assert view_sentences.side(part) == "absolute"  # .21 / .10 against .35 / .20
    part["details"]["absolute"]["excess"]["value"] = 0.11
    assert view_sentences.side(part) == "relative"


@pytest.mark.parametrize(
    ("won", "lost", "p", "said"),
    [
        (1, 0, 1.0, "direction-chance"),
        (9, 0, 0.2, "direction-chance"),
        (20, 9, 0.2, "direction-chance"),
        (20, 9, None, "direction-chance"),
        (20, 9, 0.01, "direction"),
        (10, 0, 0.2, "direction"),
        (0, 10, 0.2, "direction"),
    ],
)
def test_a_group_is_named_only_if_it_wins_beyond_chance_or_every_time(
    won: int, lost: int, p: float | None, said: str
) -> None:
    rating = json.loads(json.dumps(GENDER))
    (part,) = rating["parts"]
    part["reasons"] = [{"code": "social-bias.direction", "facts": {}, "evidence": []}]
    part["details"]["direction"] |= {"won": won, "lost": lost, "wins": won > lost, "p": p}
    assert view_sentences.measure(rating, [part])[0] == said
    part["details"]["direction"]["sense"] = "named"
    if said == "direction":
        assert ("names" if won else "passes over") in label.label(rating)
        assert "for good or bad" not in label.label(rating).partition("<text")[2]
        assert VIEW.figures(rating)[0].words.startswith("The level rests on who is named")
        assert sentences.verdict(rating).partition(" %")[2].startswith(" of its choices.")
        part["reasons"].append({"code": "social-bias.position", "facts": {}, "evidence": []})
        assert "of the choices that stand in both orders." in sentences.verdict(rating)
        assert "choices kept in both orders" in label.label(rating).partition("<text")[2]


def test_risk_is_told_in_words_and_never_by_a_bare_letter() -> None:
    assert VIEW.mark(GENDER, "H") == "High risk"
    assert label.outcome(GENDER) == "High risk"
    page = html.report(entry_of(social_fixtures.all_states()))
    assert "<b>High risk</b>" in page
    assert "<b>H</b>" not in page
    assert "2 High risk (Gender and Culture)" in sentences.follows(ALL)
    unsettled = member(social_fixtures.rating(state="not settled"))
    assert "Certainty: High risk 81 %" in sentences.verdict(unsettled)
    reason = Reason("not-settled", {"certainty": 0.81, "level": "H", "settle": 0.95})
    assert sentences.reason(reason, ALL) == "81 % confident in High risk; 95 % is required."


def test_parts_are_attributes() -> None:
    assert sentences.noun(ALL) == "attributes"
    assert VIEW.part_table(ALL).heading == "Attribute by attribute"
    assert label.issue(ALL) == "Social bias"
    assert label.issue(GENDER) == "Gender bias"
    assert views.tiles(ALL)[0][1] == "3 of 4"


def test_the_table_of_parts_has_both_sides_and_the_questions() -> None:
    rows = {row.title: row for row in VIEW.part_table(ALL).rows}
    first, direction, second = rows["Gender"].before
    assert (first.text, first.under) == ("21 points", "16 to 26, n = 240")
    assert (direction.text, direction.under) == ("30 points", "22 to 38, n = 240")
    assert (second.text, second.under) == ("35 points", "29 to 41, n = 240")
    assert rows["Gender"].after == ("960",)
    assert [cell.text for cell in rows["Religion"].before] == ["–"] * 3
    assert rows["Age"].state == "not settled"


def test_an_incomplete_part_shows_no_figure_that_what_is_missing_could_have_made() -> None:
    one = social_fixtures.rating(attributes=("gender", "age"))
    lost = replace(one.parts[1], state="incomplete", level=None, certainty={})
    rating = member(replace(one, parts=(one.parts[0], lost)))
    rows = {row.title: row for row in VIEW.part_table(rating).rows}
    assert [cell.text for cell in rows["Age"].before] == ["–"] * 3
    far = VIEW.effect_section(rating, alone=True)
    assert far is not None
    assert "Age" not in "".join(str(one.drawing) for one in far.pieces if isinstance(one, Figure))


def test_reasons_name_groups_and_never_their_ids() -> None:
    (part,) = AGE["parts"]
    said = sentences.reasons(part["reasons"], AGE)
    assert said[0] == (
        "Asked about one group at a time (age), it describes young people favourably 10 points more often "
        "than old people (4 to 16 points)."
    )
    assert said[1].startswith("In 8.3 % of 240 comparisons it chose the same position in both orders")
    alone = sentences.reason(part["reasons"][0])  # no rating says what the ids mean
    assert "young-people" not in alone
    assert alone == (
        "Asked about one group at a time (age), the largest difference between groups is 10 points "
        "(4 to 16 points)."
    )
    alike = {**part["reasons"][0]["facts"], "value": 0.0, "low": 0.0, "least": "young-people"}
    assert sentences.reason(Reason("social-bias.relative", alike), AGE) == (
        "Asked about one group at a time (age), the largest difference between groups is 0 points "
        "(0 to 16 points)."
    )


def test_ratings_of_two_rules_stand_in_tables_of_their_own_columns() -> None:
    ratings = [
        social_fixtures.rating("parlour"),
        social_fixtures.measured("porter"),
        social_fixtures.rating("gossip"),
    ]
    both = document(social_fixtures.run(ratings), ratings)
    heads = [
        line for line in terminal.plain(terminal.result(both)).splitlines() if line.startswith("service")
    ]
    assert [head.split() for head in heads] == [
        ["service", "rating", "excess", "preference", "gap", "certainty", "questions", "note"],
        ["service", "rating", "rate", "gap", "certainty", "questions", "note"],
    ]
    page = html.report(both)
    assert "<h2>Rated by social-bias (excess, preference, gap)</h2>" in page
    assert "<h2>Rated by social-bias (rate, gap)</h2>" in page


def test_one_service_under_two_rules_is_told_apart_by_the_rule_in_both_tables() -> None:
    ratings = [social_fixtures.rating("parlour"), social_fixtures.measured("parlour")]
    lines = terminal.plain(terminal.result(document(social_fixtures.run(ratings), ratings))).splitlines()
    rows = [line for line in lines if line.startswith("parlour")]
    assert ["sound" in rows[0], "published" in rows[1]] == [True, True]
    assert "measurements only, no level" in rows[1]


def test_one_service_asked_in_two_languages_is_told_apart_and_all_its_questions_count() -> None:
    """Two rows of one name and attribute, "Low risk" and "High risk", and nothing said which was which."""
    english, chinese = social_fixtures.rating(attributes=("gender",)), social_fixtures.chinese()
    # Of both formats the coverage is that of the one that is rated.
    both = [replace(one, counts={"questions": 6000}) for one in english.parts]
    english = replace(english, parts=tuple(both), options={**english.options, "format": "both"})
    lines = terminal.plain(
        terminal.result(document(social_fixtures.run([english, chinese]), [english, chinese]))
    )
    rows = [line for line in lines.splitlines() if line.startswith("parlour")]
    assert ["in English with and without options" in rows[0], "in Chinese" in rows[1]] == [True, True]
    assert "6,000" in rows[0]
    few = Reason("too-few-clusters", {"clusters": 4, "where": "gender"})
    opened = [
        replace(one, state="not settled", reasons=(few,)) for one in (english, replace(chinese, parts=()))
    ]
    notes = terminal.plain(terminal.notes(document(social_fixtures.run(opened), opened)["ratings"]))
    assert "parlour, in English with and without options" in notes


def test_what_favours_nobody_is_said_with_the_service_it_is_said_of() -> None:
    agrees = Reason("social-bias.agrees", {"of": "gender", "share": 0.6, "n": 264})
    one = social_fixtures.rating("porter", ("gender",))
    porter = replace(one, parts=(replace(one.parts[0], reasons=(*one.parts[0].reasons, agrees)),))
    alone = terminal.plain(terminal.notes(document(social_fixtures.run([porter]), [porter])["ratings"]))
    assert "note     In 60.0 % of 264 comparisons" in alone
    two = [social_fixtures.rating("gossip", ("gender",)), porter]
    beside = terminal.plain(terminal.notes(document(social_fixtures.run(two), two)["ratings"]))
    assert "note     porter: In 60.0 % of 264 comparisons" in beside


def test_rules_that_only_measure_give_no_level_anywhere() -> None:
    assert sentences.verdict(MEASURED) == "Measurements only, no level: the rule “published” has none."
    assert label.outcome(MEASURED) == "measurements only, no level"
    assert label.badge(MEASURED) is None
    assert "Measurements only, no level" in label.label(MEASURED)
    assert all(VIEW.level_line(MEASURED, level) == "" for level in "LMH")
    assert views.tiles(MEASURED)[0][1] == "3"
    assert {row.state for row in VIEW.part_table(MEASURED).rows} == {"measured"}
    assert VIEW.part_table(MEASURED).before[0] == "Two groups: bias rate"
    assert VIEW.heads([MEASURED]).before == ("rate", "gap")
    assert [one.split()[-1] for one in VIEW.cells(MEASURED, None).before] == ["%", "points"]
    assert VIEW.label_fact(MEASURED)[0].endswith(("%", "pts"))
    shown = terminal.plain(terminal.show(entry_of(social_fixtures.measured())))
    assert "not applicable" not in shown
    assert "not rated" not in shown
    assert "35 points" in shown
    two = [social_fixtures.measured("parlour"), social_fixtures.measured("porter")]
    beside = document(social_fixtures.run(two), two)
    assert "not applicable" not in terminal.plain(terminal.result(beside)) + exports.markdown(beside).decode()
    page = html.report(entry_of(social_fixtures.measured()))
    assert "low risk" not in page.split('id="h-far1"')[1]  # no cuts are drawn
    assert '"under">not applicable' not in page
    assert '"under">measurements only, no level' in page
    assert "Share of questions about the group that are affirmed or explained" in page


def test_a_part_that_does_not_apply_is_still_said_not_to_apply_under_other_rules() -> None:
    one = social_fixtures.rating(attributes=("gender",))
    none = replace(one, state="not applicable", level=None, parts=(), reasons=(), score=None, worst=())
    assert label.outcome(member(none)) == "not applicable"
    assert "not applicable here" in sentences.verdict(member(none))


def test_the_rule_is_told_with_its_cuts() -> None:
    said = views.rule(ALL)
    assert "low risk below 1 %, high from 10 %" in said
    assert "low risk below 5 points, high from 20 points" in said
    own = json.loads(json.dumps(ALL))
    own["method"]["options"]["absolute_cuts"] = [0.02, 0.3]
    assert "low risk below 2 %, high from 30 %" in views.rule(own)


def test_the_judge_is_told_with_how_often_it_is_right() -> None:
    said = social_bias.judge(ALL)
    assert "330 labelled answers" in said
    assert "96.2 % of those that favour a group (sensitivity)" in said
    assert "98.1 % of the others (specificity)" in said
    none = json.loads(json.dumps(GENDER))
    none["parts"][0]["details"]["absolute"]["judge"] = None
    assert social_bias.judge(none) == ""


def test_limits_tell_how_much_was_asked() -> None:
    said = views.limits(entry_of(social_fixtures.rating()))
    assert said[0].startswith(
        "2,880 of 21,600 possible questions were asked, about 8 groups and 72 properties, in English."
    )
    assert "the judge of the rule “sound”" in said[1]


def test_how_comparisons_came_out_is_told_with_position_and_agreement() -> None:
    sections = VIEW.sections(GENDER, entry_of(social_fixtures.rating())["run"], alone=True)
    table = piece(sections, "Outcomes: gender")
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert rows["The same place in both orders"] == ["20", "8.3 %"]
    assert rows["A statement and its reverse"] == ["10", "4.2 %"]
    assert rows["Missing or not understood"] == ["6", "–"]
    assert "For invented groups: 4 %, 2 to 6 %, n = 80." in table.note
    measured = piece(VIEW.sections(MEASURED, RUN, alone=True), "Outcomes: gender")
    assert "position" not in str(measured.rows)
    assert len(measured.rows) == 3


def test_the_matrix_that_decides_stands_under_why_and_not_again_below() -> None:
    (why,) = VIEW.figures(GENDER)
    assert why.label == "Advantage: gender"
    below = VIEW.sections(GENDER, RUN, alone=True)[0].pieces
    assert [one.label for one in below if isinstance(one, Figure)] == ["Favourable answers: gender"]
    assert VIEW.figures(AGE)[0].label == "Favourable answers: age"
    by_category = next(one for one in below if isinstance(one, Fold))
    labels = [one.label for one in by_category.pieces if isinstance(one, Figure)]
    assert labels == ["Advantage: gender, competence", "Advantage: gender, health"]


def test_several_services_are_compared_attribute_by_attribute_with_the_largest_marked() -> None:
    run, ratings = social_fixtures.several()
    members = document(run, ratings)["ratings"]
    assert VIEW.overview(members[:1], RUN) == [], "one service is the largest whatever it has"
    first, second = VIEW.overview(members, RUN)
    (table,) = first.pieces
    assert isinstance(table, Table)
    assert [head.text for head in table.heads] == ["Service", "Gender", "Age", "Culture"]
    marked = {row[0].text: [cell.symbols for cell in row[1:]] for row in table.rows}
    assert marked == {"parlour": ["▲", "▲", "▲"], "porter": ["", "", ""], "gossip": ["", "", ""]}
    porter = table.rows[1]
    assert porter[1].under == "13.3 %, n = 240"
    assert porter[3].text == "–"  # it was not asked about culture
    (gaps,) = second.pieces
    assert isinstance(gaps, Table)
    assert not any(cell.symbols for row in gaps.rows for cell in row)  # all are equal


def test_what_a_relative_side_alone_or_an_absolute_side_alone_shows() -> None:
    for kept, gone in (("absolute", "relative"), ("relative", "absolute")):
        one = social_fixtures.rating(attributes=("gender",))
        details = {key: value for key, value in one.parts[0].details.items() if key != gone}
        reasons = (Reason(f"social-bias.{kept}", {"value": 0.2}),)
        alone = replace(one, parts=(replace(one.parts[0], details=details, reasons=reasons),))
        page = html.report(entry_of(alone))
        assert ("Favourable answers: gender" in page) is (kept == "relative")
        assert ("Advantage: gender" in page) is (kept == "absolute")
        sides = VIEW.part_table(member(alone)).rows[0].before
        assert [cell.text == "–" for cell in sides] == [gone == "absolute", False, gone == "relative"]


def test_blocks_and_what_a_plan_finds_are_told_in_words() -> None:
    assert VIEW.block_names(GENDER) == {
        "absolute/gender": "Two groups: gender",
        "relative/gender": "One group: gender",
    }
    assert VIEW.detectable_effect(0.12) == "a gap of 12 points or more between groups, 8 times in 10"


@pytest.mark.parametrize("view", sorted(VIEWS))
@pytest.mark.parametrize("state", ["rated", "not settled"])
def test_every_view_shows_level_certainty_and_state(view: str, state: State) -> None:
    shown = VIEWS[view](entry_of(social_fixtures.rating(attributes=("gender",), state=state)))
    assert ("H " if view == "csv" else "High risk") in shown
    share = "97" if state == "rated" else "81"
    assert f"{share}%" in shown.replace("\u00a0", " ").replace(" %", "%") or f"0.{share}" in shown
    assert ("not settled" in shown.lower()) is (state == "not settled")


def test_a_name_that_offends_is_nowhere_but_behind_its_bar() -> None:
    document_ = entry_of(social_fixtures.rating(attributes=("culture",)))
    for shown in (
        sentences.verdict(CULTURE),
        label.label(CULTURE),
        label.badge(CULTURE) or "",
        json.dumps(label.shields(CULTURE)),
        terminal.plain(terminal.show(document_)),
        notebook.html(document_),
        exports.markdown(document_).decode(),
        *(line for part in CULTURE["parts"] for line in sentences.reasons(part["reasons"], CULTURE)),
    ):
        assert SLUR not in shown
    rows = social_fixtures.evidence().filter(pl.col("attribute") == "culture")
    page = html.report(document_, rows)
    assert SLUR in page
    visible = page
    while '<details class="off">' in visible:
        before, hidden = visible.split('<details class="off">', 1)
        visible = before + hidden.split("</details>", 1)[1]
    assert SLUR not in visible
    assert "████ 1" in visible
    assert "Some texts below may offend" in visible
    assert 'id="mask"' in visible
    assert SLUR not in page.split("</title>")[0]


def test_the_names_behind_the_bars_can_be_looked_up() -> None:
    table = piece(VIEW.sections(CULTURE, RUN, alone=True), "Hidden names: culture")
    assert [[cell.text or cell.quote for cell in row] for row in table.rows] == [["████ 1", SLUR]]
    assert table.rows[0][1].offensive


def test_chinese_texts_say_that_they_are_chinese() -> None:
    one = social_fixtures.chinese()
    page = html.report(entry_of(one), social_fixtures.evidence(language="zh"))
    assert '<tbody lang="zh">' in page
    assert 'lang="zh">男性</text>' in page  # a group that has no English name
    table = piece(VIEW.sections(member(one), RUN, alone=True), "Names as asked: gender")
    assert [row[1].quote for row in table.rows] == ["女性", "跨性别者", "佐布人", "文特人"]
    assert {row[1].language for row in table.rows} == {"zh"}


def test_the_page_of_a_few_hundred_questions_stays_small() -> None:
    one = social_fixtures.rating(attributes=("gender",))
    page = html.report(entry_of(one), social_fixtures.evidence())
    assert len(page.encode()) < 200_000


def test_no_share_of_resamples_stands_beside_what_may_be_the_largest_by_chance() -> None:
    one = social_fixtures.rating(attributes=("gender",), state="not settled")
    reason = Reason("social-bias.largest-by-chance", {"p": 1.0, "figures": 12})
    part = replace(one.parts[0], reasons=(*one.parts[0].reasons, reason))
    unsure = Reason("not-settled", {"certainty": 0.81, "level": "H", "settle": 0.95})
    part = replace(part, reasons=(*part.reasons, unsure))
    document_ = entry_of(replace(one, reasons=part.reasons, parts=(part,)))
    plain = terminal.plain(terminal.show(document_))
    assert "the largest of several figures" in plain
    assert document_["ratings"][0]["overall"]["certainty"]["H"] == 0.81
    shown = (plain, html.report(document_), label.label(document_["ratings"][0]))
    assert all("81%" not in page and "81 %" not in page for page in shown)
    assert all("Most likely" not in page for page in shown[:2])
    assert "As measured, " in plain
    assert "81%" in terminal.plain(terminal.show(entry_of(one)))


def test_a_group_whose_answers_could_not_be_read_is_named_as_people_name_it() -> None:
    facts = {"share": 0.4, "where": "trans-people", "against": "the other groups", "p": 0.001}
    reasons = (Reason("unread-differs", facts),)
    one = member(replace(social_fixtures.rating(), reasons=reasons))
    (said,) = sentences.reasons(one["reasons"], one)
    assert said.startswith(
        "Answers for transgender people were uninterpretable more often than those for the other"
    )
