from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, cast

import pytest
from markupsafe import Markup

from tests.reports import causal_fixtures, hostile
from tests.reports.test_html import Reader
from trustgauge.methods.causal import view_extras, view_tables
from trustgauge.records import Rating, Reason
from trustgauge.reports import exports, html, label, notebook, sentences, terminal, views
from trustgauge.reports.components import Cell, Fold, Table, Words, view_by_name, view_of
from trustgauge.reports.document import document
from trustgauge.reports.sentences import next_step
from trustgauge.reports.views import DefaultView

VIEW = view_by_name("causal")
KINDS = causal_fixtures.all_kinds()


def entry_of(one: Rating) -> Any:
    return document(causal_fixtures.run([one]), [one])


GRU = entry_of(causal_fixtures.rating("gru"))["ratings"][0]
ALL = entry_of(KINDS)["ratings"][0]
PUBLISHED = entry_of(causal_fixtures.published("gru"))["ratings"][0]


def rows(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_verdict_says_how_far_scores_differ_and_never_what_a_service_is() -> None:
    assert (
        sentences.verdict(GRU) == "Its scores differ by 10 % of their range when nothing but gender changes."
    )
    assert label.outcome(GRU) == "some effect (2)"
    assert sentences.level_in_words(GRU, "3") == "3, strong effect"


@pytest.mark.parametrize(("score", "level", "said"), [(0.196, "2", "19.6"), (0.049, "1", "4.9")])
def test_an_effect_below_a_cut_does_not_read_as_one_on_it(score: float, level: str, said: str) -> None:
    one: Any = {**GRU, "overall": {**GRU["overall"], "score": score, "level": level}}
    assert sentences.verdict(one).startswith(f"Its scores differ by {said} % of their range")
    assert VIEW.cells(one, None, tight=True).before == (f"{said}%",)
    assert VIEW.label_fact(one) == (f"{said}%", "of range")
    part: Any = {**GRU["parts"][0], "score": score}
    assert VIEW.cells(one, part, tight=True).before == (f"{said}%",)


def test_a_report_says_that_scores_of_another_range_were_brought_to_the_usual_one() -> None:
    options = {**GRU["method"]["options"], "score_range": [1, 5]}
    stars: Any = {**GRU, "method": {**GRU["method"], "options": options}}
    run = cast(Any, {"services": {}})
    (said,) = (one.lead for one in VIEW.sections(stars, run, alone=True) if one.key == "numbers")
    assert said.endswith(
        "Scores from 1 to 5 are brought to −1 to 1 here; texts are quoted with the scores that they got."
    )
    assert all("brought to" not in one.lead for one in VIEW.sections(GRU, run, alone=True))


def test_an_effect_that_is_0_but_for_rounding_is_0() -> None:
    one: Any = {**GRU, "overall": {**GRU["overall"], "score": 2e-17, "level": "1"}}
    assert "differ by 0 % of their range" in sentences.verdict(one)
    facts = VIEW.fact_words("causal.no-effect", {"value": 2e-17, "high": -3e-18, "p": 1e-12, "n": 400}, one)
    assert facts == {"value": 0.0, "high": 0.0, "p": 1e-12, "n": 400}


def test_verdict_names_the_class_that_is_scored_lower_where_the_effect_is_settled() -> None:
    def directed(**change: Any) -> Any:
        parts = [
            {**part, "details": {**part["details"], "effect": {**part["details"]["effect"], "signed": -0.1}}}
            for part in GRU["parts"]
        ]
        return {**GRU, "parts": parts, **change}

    assert sentences.verdict(directed()) == (
        "It scores men lower than women (Group 1: gender). Its scores differ by 10 % of their range when "
        "nothing but gender changes."
    )
    assert sentences.direction(directed(state="not settled")) == ""
    none = {**GRU["overall"], "level": "1"}
    assert sentences.direction(directed(overall=none)) == ""


def test_more_texts_are_counted_in_all_and_not_by_block() -> None:
    part = {**GRU["parts"][0], "state": "not settled", "more_texts": 4917}
    open_: Any = {**GRU, "state": "not settled", "parts": [part]}
    assert sentences.settle(open_).endswith("About 4,917 texts in all would settle it.")
    facts = {"certainty": 0.8, "level": "2", "settle": 0.95, "more_texts": 4917}
    assert "about 4,917 texts in all would" in sentences.reason(Reason("not-settled", facts), GRU)


def test_a_verdict_with_the_figure_of_an_open_part_names_that_part() -> None:
    """11 % was said of Group 2, a settled part with 10 %, and is that of Group 1, which is open."""
    parts = [
        {**part, "level": "2", "state": "not settled" if part["key"] == "group-1" else "rated"}
        for part in GRU["parts"][:2]
    ]
    worst = {**GRU["overall"], "worst": [part["key"] for part in parts]}
    mixed: Any = {**GRU, "parts": parts, "overall": worst}
    said = terminal.plain([terminal.headline(mixed)])
    assert said.endswith("changes (Group 1: gender [not settled], Group 2: gender, confounded)")
    settled: Any = {**mixed, "parts": [{**part, "state": "rated"} for part in parts]}
    assert terminal.plain([terminal.headline(settled)]).endswith(
        "(Group 1: gender, Group 2: gender, confounded)"
    )


def test_answers_that_are_no_scores_are_not_called_lost() -> None:
    """515 numbers that were no scores were "515 answers lost"."""
    cover = {**GRU["coverage"], "planned": 100, "answered": 90, "unreadable": 7, "failed": 3}
    odd: Any = {**GRU, "coverage": {**cover, "refused": 0, "empty": 0}}
    assert views.tiles(odd)[0][2].endswith("3 answers lost, 7 not understood")


def test_the_diagram_is_that_of_the_part_whose_effect_the_verdict_says() -> None:
    """15 % by race and gender stood above a diagram of race alone, with half as large an effect."""
    parts = [
        {**part, "level": "2", "score": 0.2 if part["key"] == "group-3-race" else 0.1}
        for part in GRU["parts"]
    ]
    worst = {**GRU["overall"], "score": 0.2, "worst": [part["key"] for part in parts]}
    drawn = view_extras.part_to_draw(cast(Any, {**GRU, "parts": parts, "overall": worst}))
    assert drawn is not None
    assert drawn["key"] == "group-3-race"


def test_race_and_gender_move_a_score_in_the_plural() -> None:
    parts = [{**part, "score": 0.105 * (part["key"] == "group-3-race-gender")} for part in GRU["parts"]]
    both: Any = {**GRU, "parts": parts, "overall": {**GRU["overall"], "worst": ["group-3-race-gender"]}}
    assert VIEW.level_line(both, "2").startswith("race and gender move the score by")
    assert VIEW.level_line(GRU, "2").startswith("gender moves the score by")


def test_how_many_systems_are_not_distinguished_is_no_rank() -> None:
    """A rank "2 to 3; not distinguished from 1" reads as one that is not distinguished from the first."""
    whole = {"rank": [2, 3], "of": 3, "tied_with": ["other"], "systems": []}
    tied: Any = {**GRU, "details": {**GRU["details"], "orders": {"": whole}}}
    assert VIEW.summary_tile(tied)[2].endswith("not distinguished from 1 of them")


def test_the_order_of_effects_is_not_said_to_determine_levels_of_raw_scores() -> None:
    one = causal_fixtures.published("gru")
    run = document(causal_fixtures.run([one]), [one])["run"]
    (order,) = (each for each in VIEW.sections(PUBLISHED, run, alone=True) if each.key == "order1")
    assert "order of effects" in order.lead
    assert "determines the levels" not in order.lead


def test_what_to_do_about_observed_conversations_names_no_columns() -> None:
    observed = {"code": "causal.observed", "facts": {}}
    table, chat = (
        {
            **GRU,
            "state": "not tested",
            "reasons": [observed],
            "parts": [{**GRU["parts"][0], "state": "not tested", "details": {"data": data}}],
        }
        for data in ("sentences", "conversation-user")
    )
    assert "column of frames" in next_step(cast(Any, table))
    assert next_step(cast(Any, chat)).startswith('For a level of what users say, set `proxy = "crossed"`')


def test_too_many_missing_scores_are_said_of_observed_data_too() -> None:
    loss = {"code": "incomplete-loss", "facts": {"share": 0.5, "where": "Sentences: gender", "planned": 400}}
    observed = [{"code": "causal.observed", "facts": {}}, loss]
    part = {**GRU["parts"][0], "state": "not tested", "reasons": observed}
    rating: Any = {**GRU, "state": "not tested", "reasons": observed, "parts": [part]}
    assert sentences.verdict(rating) == (
        "No causal level: the texts differ in more than gender and race. "
        "50 % of the planned answers are missing (Sentences: gender): too many to rate."
    )


@pytest.mark.parametrize("gap", ["ties", "few"])
def test_labels_of_people_that_are_missing_are_not_waited_for(gap: str) -> None:
    loss = {"code": "loss-lowers-certainty", "facts": {"missing": 39, "planned": 1152}}
    people: Any = {**GRU, "state": "not settled", "reasons": [loss], "parts": []}
    assert next_step(people).startswith("Rate it with --fresh once the service gives what is missing")
    agreement = {"ties": 0, "few": 0, "items": 1152}
    for facts, said in (
        (agreement, "Rate it with --fresh"),
        (agreement | {gap: 39}, "Add labels of more people"),
    ):
        people["details"] = {**GRU["details"], "agreement": facts}
        assert next_step(people).startswith(said)


def test_a_table_that_is_not_matched_is_told_to_match_its_texts() -> None:
    found: Any = {**GRU, "state": "not tested", "reasons": [{"code": "causal.texts-differ", "facts": {}}]}
    assert next_step(found).startswith("For a level, make the texts of a frame and word the same")


def test_a_confounded_part_that_decides_has_its_own_sentence() -> None:
    one = causal_fixtures.rating("gru")
    mixed = entry_of(replace(one, parts=one.parts[1:2], worst=("group-2",)))["ratings"][0]
    assert sentences.verdict(mixed) == (
        "Its mean score of one emotion moves by 10 % of the range once gender no longer confounds the "
        "emotion."
    )


def test_the_attribute_named_is_what_the_leading_parts_share() -> None:
    assert sentences.protected_attribute(GRU) == "gender"  # of "gender" and "race and gender", equally large
    none = entry_of(causal_fixtures.rating("textblob"))["ratings"][0]
    assert sentences.protected_attribute(none) == "gender or race"
    largest = json.loads(json.dumps(none))  # whichever part has the largest figure, none has an effect
    largest["overall"]["score"] = next(one["score"] for one in none["parts"] if one["key"] == "group-1")
    largest["parts"] = [
        {**one, "score": one["score"] + 0.001 * (one["key"] != "group-1")} for one in none["parts"]
    ]
    assert sentences.protected_attribute(largest) == "gender or race"
    bare = json.loads(json.dumps(none))
    bare["overall"]["worst"] = []
    assert sentences.protected_attribute(bare) == "gender and race"  # the issue of the rating


def test_a_relative_level_says_that_it_is_relative() -> None:
    assert sentences.level_in_words(PUBLISHED, "1") == "1, lowest bias score"
    assert sentences.level_in_words(PUBLISHED, "3") == "3, highest bias score"
    assert sentences.verdict(PUBLISHED).startswith("Among the 6 systems compared it is in group 2 of 3")
    assert "Rule: published" in views.rule(PUBLISHED)
    assert "divided into 3 groups" in views.rule(PUBLISHED)
    said = views.other_rule(PUBLISHED)
    assert said.startswith("Under the rule “sound” the same answers give 2, some effect for Group 1: gender")
    assert VIEW.cautions(PUBLISHED) == [
        "The level is a place in the order of 6 systems. It may change with other systems."
    ]
    assert VIEW.cautions(GRU) == []


def test_sound_is_said_to_give_no_level_where_a_class_was_left_out_of_an_adjustment() -> None:
    """A constant scorer was said to have "some effect" under the rule "sound", which refuses such texts."""
    empty = json.loads(json.dumps(PUBLISHED))
    left_out = next(part for part in empty["parts"] if part["key"] == "group-2")
    assert left_out["title"] in views.other_rule(empty)
    left_out["details"]["sets"][0]["missing"] = [["male", "negative"]]
    assert "same answers give" in views.other_rule(empty)
    assert left_out["title"] not in views.other_rule(empty)


def test_a_scale_of_five_relative_levels_has_words_for_each() -> None:
    five = json.loads(json.dumps(PUBLISHED))
    five["overall"]["scale"] = [{"level": str(i), "words": "x"} for i in range(1, 6)]
    words = [sentences.level(five, str(i)).short for i in range(1, 6)]
    assert words == ["lowest bias score", *["middle bias score"] * 3, "highest bias score"]


def test_the_overall_can_be_redone_by_hand() -> None:
    assert sentences.follows(GRU) == (
        "The overall rating is the level of the worst part. Of 5 parts: 3 at level 1, no effect "
        "(Group 2: gender, "
        "confounded, Group 3: race and Group 4: race and gender, confounded); 2 at level 2, some effect "
        "(Group 1: gender and Group 3: race and gender)."
    )


def test_terminal_has_effect_and_rank_and_never_a_bare_number() -> None:
    lines = terminal.plain(terminal.result(entry_of(causal_fixtures.rating("gru")))).splitlines()
    assert lines[:3] == [
        " 2 some effect  gru 1.0: Its scores differ by 10 % of their range when nothing but gender changes "
        "(Group 1: gender, Group 3: race and gender)",
        "part                                  rating         effect  certainty         rank",
        "Group 1: gender                       2 some effect  10%           98%       5 of 6",
    ]
    assert any(line.startswith("Group 3: race ") and "1 no effect" in line for line in lines)
    several = terminal.plain(terminal.result(document(*causal_fixtures.several()))).splitlines()
    assert several[0].split() == ["service", "rating", "effect", "certainty", "rank", "note"]
    assert "1 to 3 of 6" in several[1]


def test_parts_of_other_states_have_no_figures() -> None:
    shown = terminal.plain(terminal.part_table(ALL))
    lost = next(line for line in shown.splitlines() if line.startswith("Group 1: gender, through Spanish"))
    assert "not rated 1440/2400" in lost
    assert "%" not in lost.split("2400")[1].split("not rated")[0]
    assert "(1 no effect)" in shown


def test_label_says_the_effect_and_which_effects_the_levels_hold() -> None:
    words = re.findall(r">([^<>]+)</text>", label.label(GRU))
    assert words[4:12] == [
        "No effect",
        "below 5 % of the range",
        "Some effect",
        "gender moves the score by",
        "10\u00a0% of its range",
        "2",
        "Strong effect",
        "20 % of the range or more",
    ]
    assert words[words.index("of range") - 1] == "10%"
    assert len(label.label(GRU).encode()) < 10_000
    assert "of the 6 systems compared" in label.label(PUBLISHED)


def test_tile_shows_the_order_as_relative_and_the_effect_where_there_is_none() -> None:
    assert VIEW.summary_tile(GRU) == ("Order", "Rank 5", "among 6 systems: relative, 95 % interval")
    alone = json.loads(json.dumps(GRU))
    alone["details"]["orders"] = None
    assert VIEW.summary_tile(alone) == ("Largest effect", "10.5 %", "of the score's range, 8.5 to 12.5 %")


def test_part_table_shows_effect_raw_score_and_place() -> None:
    table = VIEW.part_table(ALL)
    first = {row.title: row for row in table.rows}["Group 1: gender"]
    assert [(one.text, one.under) for one in first.before] == [
        ("10.5 %", "8.5 to 12.5 %, n = 2,400"),
        ("WRS 12", "of at most 12"),
        ("rank 5", "among 6; level 2 of the order"),
    ]
    assert list(first.after) == ["< 0.001"]
    lost = {row.title: row for row in table.rows}["Group 1: gender, through Spanish"]
    assert [one.text for one in lost.before] == ["–", "–", "–"]


def test_division_by_zero_is_a_value_of_its_own_and_ties_are_ties() -> None:
    constant = entry_of(causal_fixtures.rating("constant"))["ratings"][0]
    die = dict(constant["parts"][1]["details"], die={"percent": None, "undefined": True, "delta": 0.0})
    constant["parts"][1]["details"] = die
    cells = {row.title: row.before for row in VIEW.part_table(constant).rows}
    assert cells["Group 2: gender, confounded"][1] == Cell("DIE ÷ 0", "Δ 0.000")
    constant["parts"][1]["details"] = {**die, "die": {"percent": 419.1, "delta": 0.1, "shown": False}}
    cells = {row.title: row.before for row in VIEW.part_table(constant).rows}
    assert cells["Group 2: gender, confounded"][1] == Cell("DIE not shown", "Δ 0.100")
    assert cells["Group 1: gender"][2].text == "=1, rank 1 to 3"


def test_tests_show_t_with_its_dots_and_the_sum_gives_the_score() -> None:
    part = ALL["parts"][0]
    table = view_tables.tests(part, "x")
    first = table.rows[0]
    assert [cell.text for cell in first] == [
        "e1", "male – female", "0.10 / 0.31", "−7.50", "< 0.001", "−0.21", "found", "g −0.42", "10 %",
    ]  # fmt: skip
    assert (first[3].symbols, first[3].spoken) == ("●●●", "rejected at 95 %, 70 % and 60 %")
    assert first[5].under == "−0.25 to −0.17"
    dots = sum(row[3].symbols.count("●") for row in table.rows)
    wrs = part["details"]["wrs"]
    assert dots == sum(wrs["counts"])
    (sum_,) = (one for one in view_tables.rejections(part) if isinstance(one, Words))
    assert sum_.text == (
        "WRS = 1 × 5 + 0.8 × 5 + 0.6 × 5 = 12 of at most 12 (100 %); expected without any effect: "
        "2.65; reached by permuted labels with p = 0.001."
    )
    assert sum(weight * count for weight, count in zip(wrs["weights"], wrs["counts"], strict=True)) == 12


@pytest.mark.parametrize(
    ("test", "shown", "symbols", "spoken"),
    [
        ({"testable": False, "t": None, "t_infinite": False, "rejected": []}, "–", "", ""),
        ({"t": None, "t_infinite": True, "rejected": [True, True]}, "÷ 0", "●●", "rejected at 95 % and 70 %"),
        ({"t": 1.2, "t_infinite": False, "rejected": [False, True]}, "1.20", "●○", "rejected at 70 %"),
        ({"t": 0.0, "t_infinite": False, "rejected": [False, False]}, "0.00", "○○", "not rejected"),
    ],
)
def test_infinite_untestable_and_zero_are_told_apart(
    test: Any, shown: str, symbols: str, spoken: str
) -> None:
    cell = view_tables.statistic(test, (0.05, 0.3))
    assert (cell.text, cell.symbols, cell.spoken) == (shown, symbols, spoken)


def test_untestable_pairs_are_named() -> None:
    told_ = view_tables.rejections(ALL["parts"][2])
    assert isinstance(told_[1], Words)
    assert told_[1].text == (
        "Not testable, so in neither the score nor its maximum: e1 / European / African-American."
    )
    assert view_tables.tests(ALL["parts"][2], "x").rows[0][6].text == "not tested"


def test_impacts_show_percent_only_where_it_means_something() -> None:
    table = view_tables.impacts(ALL["parts"][1], "x")
    assert rows(table)[0] == [
        "e3", "negative", "−0.52", "−0.60", "−0.084", "÷ 0", "0.001", "found", "600",
        "all classes occur",
    ]  # fmt: skip
    assert rows(table)[1][5] == "not shown"
    assert rows(table)[1][9] == "no text of male"
    assert rows(table)[2][5] == "16.3 %"
    assert table.rows[0][4].under == "−0.11 to −0.05"


def test_the_level_can_be_redone_from_effect_and_bias() -> None:
    (words,) = view_tables.arithmetic(GRU["parts"][0])
    assert isinstance(words, Words)
    assert words.text.startswith("Largest effect (e3, male – female): 10.9 % of the range as measured.")
    assert "by about 0.4 %, which is subtracted: 10.5 %." in words.text
    (fold,) = view_tables.persons(GRU["parts"][0], "x")
    assert isinstance(fold, Fold)
    (table,) = fold.pieces
    assert isinstance(table, Table)
    assert rows(table)[0] == ["Tia", "female", "10.5 %", "20"]  # by_person has shares of the range
    many = [{"person": f"p{i}", "class": "x", "difference": i / 100, "n": 1} for i in range(50)]
    (long,) = view_tables.persons(cast(Any, {"details": {"by_person": many}}), "x")
    assert isinstance(long, Fold)
    (ends,) = long.pieces
    assert isinstance(ends, Table)
    assert [row[0] for row in rows(ends)] == [f"p{i}" for i in (*range(10), *range(40, 50))]
    assert "of 50" in ends.note


def test_sections_come_in_order_and_only_with_content() -> None:
    run = document(causal_fixtures.run([KINDS]), [KINDS])["run"]
    keys = [one.key for one in VIEW.sections(ALL, run, alone=True)]
    assert keys == ["numbers", "order1", "before", "texts"]
    assert [one.key for one in VIEW.sections(GRU, run, alone=False)] == ["numbers", "texts"]
    (before,) = (one for one in VIEW.sections(ALL, run, alone=True) if one.key == "before")
    (table,) = before.pieces
    assert isinstance(table, Table)
    assert rows(table)[0] == [
        "Group 1: gender", "textblob", "WRS", "5.90", "1.90", "−4.00", "−67.8 %", "0.01", "",
    ]  # fmt: skip
    assert rows(table)[1][6] == "–"


def test_every_part_with_numbers_has_its_fold_and_its_diagram() -> None:
    (numbers,) = (
        one for one in VIEW.sections(ALL, cast(Any, {"services": {}}), alone=True) if one.key == "numbers"
    )
    folds = [one for one in numbers.pieces if isinstance(one, Fold)]
    assert [fold.summary for fold in folds] == [
        "Group 1: gender: 2, some effect",
        "Group 2: gender, confounded: 1, no effect",
        "Group 3: race: 1, no effect, not settled",
        "Group 3: race and gender: 2, some effect",
        "Group 4: race and gender, confounded: 1, no effect",
        "Texts of the user: 2, some effect",
    ]
    drawn = [any(piece.kind == "figure" for piece in fold.pieces) for fold in folds]
    assert drawn == [False, True, True, True, True, True]  # the first stands under "why"
    assert [fold.shown for fold in folds] == [True, False, False, False, False, False]
    assert len(VIEW.figures(ALL)) == 1


def test_one_order_stands_for_all_ratings_of_an_experiment() -> None:
    both = document(*causal_fixtures.several())
    (section,) = VIEW.overview(both["ratings"], both["run"])
    assert [one.kind for one in section.pieces] == ["figure", "table", *["fold"] * 5]
    table = section.pieces[1]
    assert isinstance(table, Table)
    assert rows(table)[0] == ["textblob", "1 to 3", "0 %"]


def test_page_holds_all_sections_and_every_id_once() -> None:
    page = html.report(entry_of(KINDS), causal_fixtures.evidence("gru"))
    heads = re.findall(r"<h2[^>]*>([^<]+)", page)
    assert heads == [
        "Why this rating",
        "Part by part",
        "Effect size and certainty",
        "Where the numbers come from",
        "Order of systems",
        "Before and after the round trip",
        "The texts",
        "Evidence, sentence by sentence",
        "Check it, run it again",
        "Limitations",
    ]
    read = Reader(page)
    ids = [facts["id"] for _, facts in read.tags if facts.get("id")]
    assert len(ids) == len(set(ids))
    goals = {(facts["href"] or "")[1:] for tag, facts in read.tags if tag == "a"}
    assert goals <= set(ids)
    for words in (
        "Fleiss κ 0.62",
        "words per utterance",
        "Group 1, e3",
        "Classes and word → score",
        "undesired: found, ATE −0.21",
        "The order holds only among the systems compared",
        "1 or 2",
        "3 of 3 got the expected rating",
    ):
        assert words in re.sub(r"\s+", " ", " ".join(read.words)), words
    regions = [facts["aria-label"] for _, facts in read.tags if facts.get("role") == "region"]
    assert len(regions) == len(set(regions))


def test_page_of_one_service_is_small() -> None:
    one = causal_fixtures.rating("gru")
    rows_ = causal_fixtures.evidence("gru", frames=60)
    assert rows_.height == 480
    assert len(html.report(entry_of(one), rows_).encode()) < 250_000


def test_page_of_several_services_shows_the_order_once() -> None:
    page = html.report(document(*causal_fixtures.several()))
    assert page.count("Order of systems</h2>") == 1
    assert "the order of systems stands apart" in page
    assert "nothing is ranked" not in page


def test_methods_never_share_a_table() -> None:
    from tests.browser import pages

    page = pages.two_methods()
    assert "Rated by two-step</h2>" in page
    assert "Rated by causal</h2>" in page
    assert page.count('aria-label="All services, ') == 2


def test_markdown_and_notebook_have_the_columns_of_the_method() -> None:
    document_ = entry_of(KINDS)
    assert "| part | rating | effect | certainty | rank | note |" in exports.markdown(document_).decode()
    shown = notebook.html(document_)
    assert '<th scope="col" style="text-align:left">effect</th>' in shown
    assert "balanced in" not in shown


def test_unsettled_and_incomplete_never_look_settled() -> None:
    open_ = entry_of(causal_fixtures.rating("gru", state="not settled"))
    page = html.report(open_)
    assert re.search(r'class="pill l2 dashed"', page)
    assert sentences.verdict(open_["ratings"][0]).startswith("Not settled. Most likely: its scores")
    assert terminal.headline(open_["ratings"][0])[0][0] == "(2 some effect)"


def test_hostile_names_words_and_notes_stay_text() -> None:
    page = html.report(attacked())
    read = Reader(page)
    assert {tag for tag, _ in read.tags} <= {tag for tag, _ in Reader(html.report(entry_of(KINDS))).tags}
    assert not [key for _, facts in read.tags for key in facts if key.startswith("on")]
    for char in ("\x1b", "\x00", "\x08", "\u202e", "\u2066"):
        assert char not in page
    shown = terminal.plain(terminal.show(attacked()))
    assert not set(shown) & set("\x1b\x00\x07\x08\u202e\u2066\u2028")


def attacked() -> Any:
    """The document with everything that comes from outside replaced by something hostile."""
    bad = hostile.NAME

    def spoil(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {
                (bad if key in {"statistics", "tests"} and name == "name" else name): spoil(inner, name)
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [spoil(one, key) for one in value]
        free = {"title", "set", "words", "pair", "classes", "note", "from", "unit", "valence", "asked"}
        return bad + str(value) if isinstance(value, str) and key in free else value

    whole = entry_of(KINDS)
    rating = whole["ratings"][0]
    rating["details"] = spoil(rating["details"])
    rating["parts"] = [one | {"title": bad, "details": spoil(one["details"])} for one in rating["parts"]]
    return whole


def test_bare_details_make_a_page_too() -> None:
    one = causal_fixtures.rating("gru")
    bare = replace(
        one,
        details={},
        parts=tuple(replace(part, details={"title": "x"}, score=None, p=None) for part in one.parts),
    )
    page = html.report(entry_of(bare))
    assert "No part has enough data for a chart" in page
    assert "Order of systems" not in page


def test_a_method_without_a_view_shows_level_certainty_and_counts() -> None:
    one = replace(causal_fixtures.rating("gru"), method="plug-in")
    document_ = entry_of(one)
    rating = document_["ratings"][0]
    assert type(view_of(rating)) is DefaultView
    assert DefaultView().cells(rating, rating["parts"][0]).before == ("2,400 of 2,400",)
    page = html.report(document_, causal_fixtures.evidence("gru"))
    for words in ("2,400 of 2,400", "0.105", "98 %", "some effect"):
        assert words in page
    shown = terminal.plain(terminal.result(document_)).splitlines()
    assert shown[1].split() == ["part", "rating", "answers", "certainty", "score"]
    assert DefaultView().summary_tile(rating)[1] == "0.105"
    assert DefaultView().label_fact(rating) == ("0.105", "score")


@pytest.mark.parametrize("method", ["two-step", "causal", "other"])
def test_what_a_plan_can_find_is_told_in_the_words_of_the_method(method: str) -> None:
    facts = terminal.PlanFacts(["x"], method, "gender", 3, 20, "sound", 9, 0, 0.1, 0.0, effect=0.08)
    last = terminal.plain(terminal.plan([facts])).splitlines()[-1]
    assert last == {
        "two-step": "finds    a shift of 8 points or more, 8 times in 10",
        "causal": "finds    an effect of 8 % of the score's range or more, 8 times in 10",
        "other": "finds    an effect of 0.08 or more, 8 times in 10",
    }.get(method)


def test_pieces_carry_drawings_that_were_escaped_where_they_were_made() -> None:
    assert all(isinstance(one.drawing, Markup) for one in VIEW.figures(GRU))
