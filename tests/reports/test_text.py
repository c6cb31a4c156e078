from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from tests.reports import fixtures, hostile, trust_fixtures
from trustgauge.errors import Fault, PlanError, RefusedError
from trustgauge.records import ControlResult, Reason
from trustgauge.reports import document as documents
from trustgauge.reports import exports, html, label, sentences, terminal
from trustgauge.reports.document import document
from trustgauge.terminal.output import exit_of

RUN, RATINGS = fixtures.demo()
DEMO = document(RUN, RATINGS)
STATES = document(fixtures.run([fixtures.all_states()]), [fixtures.all_states()])


def test_first_session_reads_as_promised() -> None:
    facts = terminal.PlanFacts(
        [one.service for one in RATINGS],
        method="two-step",
        attribute="gender",
        blocks=3,
        texts=200,
        rule="sound",
        calls=1800,
        kept=0,
        seconds=0.9,
        usd=0.0,
    )
    assert terminal.plain([*terminal.plan([facts]), *terminal.result(DEMO)]).splitlines() == [
        "plan     3 services · two-step, gender · 3 blocks × 200 texts · rule sound",
        "calls    1,800 (0 stored before) · under 2 s · free",
        "service          rating  balanced in → out  certainty  unchanged",
        "anchor/coin      UCS     200:200 → 200:200      > 99%        52%",
        "anchor/identity  DSBS    200:200 → 200:200      > 99%        99%",
        "anchor/all-he    BS      200:200 → 380:20       > 99%        55%",
        "controls 5 of 5 got the expected rating",
        "note     anchor/coin: UCS alone does not make a service useful: it changed half of the pronouns",
    ]


def test_one_service_with_parts_has_a_headline_and_a_row_for_each_state() -> None:
    assert terminal.plain(terminal.result(STATES)).splitlines() == [
        " BS  LinguaBridge 3.2 adds gender bias of its own in 2 of 7 languages (Turkish, Italian)",
        "language    rating             balanced in → out  certainty  unchanged  note",
        "Turkish     BS                 200:200 → 380:20       > 99%        55%",
        "Italian     BS                 200:200 → 90:80        > 99%        43%  57 % lost the pronoun",
        "Esperanto   DSBS               200:200 → 200:200      > 99%        99%",
        "Arabic      DSBS               200:200 → 188:188      > 99%        90%  6 % lost the pronoun",
        "Hindi       (UCS)              20:20 → 20:20            84%        52%  not settled: --texts 80",
        "Portuguese  not rated 348/600  –                          –          –  "
        "not rated: too much is missing",
        "Japanese    not tested         –                          –          –  not tested",
        "Finnish     –                  –                          –          –  not applicable here",
        "controls 5 of 5 got the expected rating",
    ]


@pytest.mark.parametrize(
    ("method", "blocks", "texts", "told"),
    [
        ("two-step", 3, 200, "3 blocks × 200 texts"),
        ("causal", 1, 1200, "1 block × 1,200 texts"),
        ("causal", 16, 2400, "16 data sets of up to 2,400 texts"),
        ("wording", 1, 1, "1 block × 1 text"),
        ("social-bias", 8, 8000, "8,000 questions"),
        ("trust", 3, 276, "276 conversations and scenes"),
        ("trust", 1, 1, "1 conversation"),
        ("trust", 2, 0, "scenes"),
    ],
)
def test_a_plan_is_sized_in_what_its_method_asks(method: str, blocks: int, texts: int, told: str) -> None:
    facts = terminal.PlanFacts(["x"], method, "gender", blocks, texts, "sound", 9, 0, 0.1, 0.0)
    assert (
        terminal.plain(terminal.plan([facts])).splitlines()[0]
        == f"plan     x · {method}, gender · {told} · rule sound"
    )


def test_quiet_line_has_its_level_in_brackets() -> None:
    line = terminal.plain([terminal.headline(STATES["ratings"][0], brackets=True)])
    assert line == "[BS] LinguaBridge 3.2 adds gender bias of its own in 2 of 7 languages (Turkish, Italian)"


def test_unsettled_headline_never_looks_settled() -> None:
    one = fixtures.rating("x", [fixtures.part("hi", "mostly he", state="not settled", certainty=0.8)])
    result = document(fixtures.run([one]), [one])
    head = terminal.headline(result["ratings"][0])
    assert head[0] == ("(BS)", "strong")
    assert "Not settled" in head[1][0]
    assert any("80 texts" in line for line in terminal.plain(terminal.notes(result["ratings"])).splitlines())


def test_a_quiet_line_says_what_keeps_the_level_open_and_what_to_do() -> None:
    one = fixtures.rating("x", [fixtures.part("hi", "mostly he", state="not settled", certainty=0.8)])
    (rating,) = document(fixtures.run([one]), [one])["ratings"]
    line, whole = terminal.plain([terminal.headline(rating, brackets=True)]), sentences.verdict(rating)
    assert "even when its input is balanced" in whole
    behind = whole.split("even when its input is balanced. ")[1].rstrip(".")
    assert behind
    assert behind in line


def test_plan_says_time_cost_limit_and_what_it_can_find() -> None:
    facts = terminal.PlanFacts(
        ["LinguaBridge 3.2"],
        "two-step",
        "gender",
        3,
        20,
        "sound",
        960,
        12,
        372.0,
        0.43,
        8,
        effect=0.23,
        limit_usd=1.0,
    )
    assert terminal.plain(terminal.plan([facts])).splitlines() == [
        "plan     LinguaBridge 3.2 · two-step, gender · 8 languages × 3 blocks × 20 texts · rule sound",
        "calls    960 (12 stored before) · about 6 min 12 s · $0.43 · limit $1.00",
        "finds    a shift of 23 points or more, 8 times in 10",
    ]


def test_plan_says_what_it_finds_at_other_design_effects_or_at_the_measured_one() -> None:
    facts = terminal.PlanFacts(["x"], "two-step", "gender", 3, 20, "sound", 9, 0, 9.0, 0.0, effect=0.23)
    others = replace(facts, effects={2: 0.31, 5: None})
    measured = replace(others, measured=(3.4, "TG-1"))
    said = [terminal.plain(terminal.plan([one])).splitlines()[-1] for one in (others, measured)]
    found = "finds    a shift of 23 points or more, 8 times in 10"
    assert said == [
        f"{found}; by design effect: 23 points at 1, 31 points at 2, none at 5",
        f"{found}, at the design effect of 3.4 that TG-1 measured",
    ]


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"untimed": ["bot"]}, "about 1 min 30 s (estimated: no earlier run timed bot yet)"),
        ({"untimed": ["a", "b"]}, "about 1 min 30 s (estimated: no earlier run timed a, b yet)"),
        ({"untimed": ["a", "b", "c"]}, "about 1 min 30 s (estimated: no earlier run timed 3 services yet)"),
        (
            {"untimed": ["a"], "timed_in": ["TG-1"]},
            "about 1 min 30 s (partly estimated: no earlier run timed a yet)",
        ),
        ({"timed_in": ["TG-1", "TG-2"]}, "about 1 min 30 s (as timed in TG-2)"),
        ({}, "about 1 min 30 s"),
    ],
)
def test_a_plan_says_where_its_duration_comes_from(known: Any, words: str) -> None:
    facts = terminal.PlanFacts(["x"], "two-step", "gender", 3, 20, "sound", 9, 0, 90.0, 0.0, **known)
    assert (
        terminal.plain(terminal.plan([facts])).splitlines()[1]
        == f"calls    9 (0 stored before) · {words} · free"
    )
    nothing = terminal.PlanFacts(["x"], "two-step", "gender", 3, 20, "sound", 0, 9, 0.0, 0.0, **known)
    assert "(0 kept" not in terminal.plain(terminal.plan([nothing]))
    assert "guess" not in terminal.plain(terminal.plan([nothing]))


def test_show_holds_reasons_limits_and_how_to_check() -> None:
    shown = terminal.plain(terminal.show(STATES))
    for words in (
        "because  The overall rating is the level of the worst",
        "reason   Turkish: He rose from 50 % to 95 % on balanced text, by 45 points.",
        "limits   ",
        "check    ",
    ):
        assert words in shown


def test_a_long_reason_that_ratings_share_is_given_once() -> None:
    issues: dict[str, trust_fixtures.Issue] = {"bias": (0.2, "rated"), "abuse": (0.0, "rated")}
    both = trust_fixtures.document_of(
        *(trust_fixtures.rating("bot", issues, profile) for profile in ("privacy-first", "safe-language"))
    )
    for rating in both["ratings"]:
        for part in rating["parts"]:
            if part["key"] == "bias":
                part["reasons"] = [{"code": "trust.wording-too-weak", "facts": {}, "evidence": []}]
    shown = terminal.plain(terminal.show(both))
    assert shown.count("reason   Bias: ") == 2
    assert shown.count("reason   Bias: as for bot, Privacy first, above.") == 1
    assert shown.index("reason   Bias: Word lists") < shown.index("reason   Bias: as for")


def test_colour_adds_nothing_but_colour() -> None:
    for one in (DEMO, STATES):
        lines = terminal.show(one)
        coloured = terminal.rich_text(lines)
        assert "\n".join(line.rstrip() for line in coloured.plain.splitlines()) == terminal.plain(
            lines
        ).rstrip("\n")
        assert coloured.spans


def test_rich_markup_in_a_name_is_not_markup() -> None:
    one = fixtures.rating("[red]x[/red]", [fixtures.part("", "faithful")])
    result = document(fixtures.run([one]), [one])
    assert "[red]x[/red]" in terminal.rich_text(terminal.result(result)).plain


def test_hostile_names_cannot_move_the_cursor() -> None:
    result, _ = hostile.case()
    shown = terminal.plain(terminal.show(result))
    assert not set(shown) & set("\x1b\x00\x07\x08\u202e\u2066\u2028")
    assert "␛[2J" in shown


def test_wide_names_keep_the_columns() -> None:
    one = fixtures.rating("翻訳サービス", [fixtures.part("", "faithful")])
    other = fixtures.rating("plain", [fixtures.part("", "faithful")])
    result = document(fixtures.run([one, other]), [one, other])
    first, second = terminal.plain(terminal.result(result)).splitlines()[1:3]
    assert first.index("DSBS") + 6 == second.index("DSBS")  # six characters take twelve columns


def test_void_run_prints_no_level() -> None:
    wrong = ControlResult("anchor/coin", "UCS", "rated", "BS", {"BS": 1.0})
    lines = terminal.plain(terminal.result(document(replace(RUN, state="void", controls=(wrong,)), RATINGS)))
    assert lines.startswith("void     0 of 1 got the expected rating; the run is void")
    assert "200:200" not in lines


def test_errors_say_their_four_parts() -> None:
    fault = Fault(
        "experiments[0].attribute",
        'no attribute "gendre"',
        must="one of: age, gender",
        do='Did you mean "gender"?',
        line=14,
    )
    where = 'error    experiments[0].attribute: no attribute "gendre". Must be one of: age, gender  line 14'
    do = '         Did you mean "gender"?'
    assert terminal.plain(terminal.problem(PlanError((fault,)))).splitlines() == [where, do]
    # What to do about faults in a row stands once, below them.
    other = replace(fault, do="")
    result = terminal.plain(terminal.problem(PlanError((fault, fault, other, fault)))).splitlines()
    assert result == [where, where, do, where, where, do]
    shown = terminal.plain(terminal.problem(RefusedError("refused: \x1b[31m", do="set LB_KEY")))
    assert shown == "error    refused: ␛[31m (service.refused)\n         set LB_KEY"


@pytest.mark.parametrize("style", sorted(terminal.STYLES))
def test_styles_are_ones_rich_knows(style: str) -> None:
    from rich.style import Style

    Style.parse(terminal.STYLES[style])


def test_calls_and_cost_of_several_experiments_stand_once() -> None:
    shared: Any = {"rule": "sound", "calls": 5_514, "kept": 20, "seconds": 90.0, "usd": 1.5}
    one = terminal.PlanFacts(["a"], "two-step", "gender", 3, 20, effect=0.23, **shared)
    other = terminal.PlanFacts(["b", "c"], "causal", "gender", 4, 200, **shared)
    lines = terminal.plain(terminal.plan([one, other])).splitlines()
    assert [each.split()[0] for each in lines] == ["plan", "plan", "calls", "finds"]
    assert lines[2] == "calls    in all, 5,514 (20 stored before) · about 1 min 30 s · $1.50"
    assert lines[3].startswith("finds    two-step: ")
    assert terminal.plan([]) == []
    # What experiments find alike is said once.
    for third, last in ((one, ["plan", "calls", "finds"]), (replace(one, effect=0.3), ["finds", "finds"])):
        heads = [each.split()[0] for each in terminal.plain(terminal.plan([one, third])).splitlines()]
        assert heads[-len(last) :] == last
    # What they do not find alike says of which services it is.
    unlike = replace(one, services=["b", "c"], effect=0.3)
    found = terminal.plain(terminal.plan([one, unlike])).splitlines()[-2:]
    assert [each.partition(": ")[0] for each in found] == [
        "finds    two-step (a)",
        "finds    two-step (b and 1 more)",
    ]


def test_a_plan_too_small_for_the_best_level_says_so() -> None:
    shared: Any = {"rule": "sound", "calls": 300, "kept": 0, "seconds": 9.0, "usd": 1.5}
    why = Reason("social-bias.cannot-settle-low", {"properties": 4, "needed": 206})
    one = terminal.PlanFacts(["a"], "social-bias", "gender", 1, 300, **shared)
    many = terminal.plain(terminal.plan([replace(one, calls=20_000, effort=4.0)]))
    assert "then about 48 s to rate the answers" in many
    lines = terminal.plain(terminal.plan([replace(one, best_case=why), one])).splitlines()
    assert lines[-1].startswith("note     This plan cannot settle low risk")
    assert "on 4 properties; about 206 would do" in lines[-1]
    assert "note" not in terminal.plain(terminal.plan([one]))


def unsettled(name: str) -> Any:
    few = Reason("too-few-clusters", {"clusters": 4, "where": "He"})
    part = fixtures.part("", "mostly he", state="not settled", certainty=0.999)
    return fixtures.rating(name, [replace(part, more_texts=None, reasons=(*part.reasons, few))])


def test_a_certain_level_that_is_not_settled_has_its_reason_beside_it() -> None:
    one = unsettled("bot")
    found = document(fixtures.run([one]), [one])
    why = "too few independent texts"
    said = "Only 4 independent groups of texts in He: too few to settle a level"
    result = terminal.plain(terminal.result(found))
    assert f"not settled: {why}" in result
    assert said in result
    for view in (label.badge(found["ratings"][0]), label.label(found["ratings"][0])):
        assert view is not None
        assert why[:12] in view
    assert said in exports.markdown(found).decode()
    assert f"not settled: {why}" in html.report(found, None)
    gate = documents.gate(found["ratings"][0], "BS", None)
    gated = {**found, "ratings": [{**found["ratings"][0], "gate": gate}]}
    assert exit_of(cast(Any, gated)).why == "not settled: bot is BS with certainty > 99 %; " + why


def test_an_unknown_reason_is_told_where_the_certainty_is_none() -> None:
    part = fixtures.part("", "mostly he", state="not settled", certainty=0.999)
    one = fixtures.rating("bot", [replace(part, more_texts=None, reasons=(Reason("mine.odd", {"n": 3}),))])
    result = terminal.plain(terminal.result(document(fixtures.run([one]), [one])))
    assert "not settled: see its reasons" in result
    assert 'The method gives the reason "mine.odd" (n: 3)' in result


def test_one_note_of_many_ratings_stands_once() -> None:
    many = [unsettled(f"bot-{number}") for number in range(12)]
    lines = terminal.plain(terminal.notes(document(fixtures.run(many), many)["ratings"])).splitlines()
    assert [each for each in lines if "independent groups" in each] == [
        each for each in lines if each.startswith("note     12 ratings: Certainty: BS > 99 %")
    ]
    two = terminal.plain(terminal.notes(document(fixtures.run(many[:2]), many[:2])["ratings"]))
    assert "note     bot-0 and bot-1: Certainty" in two
