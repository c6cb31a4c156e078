"""All views of a comparison: they agree, say what was measured, and stay inert."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import TypeAdapter

from tests.reports import comparisons, hostile
from tests.reports.test_html import Reader
from tests.run.comparisons import ranks
from trustgauge.reports import comparison, comparison_page, terminal
from trustgauge.reports.comparison_model import ComparisonDocument, comparison_schema

SOURCE = Path(comparison.__file__).parents[1]


@pytest.fixture(scope="module")
def document() -> Any:
    return comparisons.several()


@pytest.fixture(scope="module")
def page(document: Any) -> str:
    return comparison_page.page(document)


def sound(document: Any) -> dict[str, Any]:
    (group,) = [one for one in document["groups"] if (one["method"], one["rule"]) == ("two-step", "sound")]
    return dict(group)


def printed(document: Any, **options: bool) -> str:
    return terminal.plain(comparison.text(document, **options))


def test_a_difference_within_the_margin_is_not_called_worse_and_the_same() -> None:
    pair: Any = {"sign": "worse", "verdict": "same", "settled": True}
    assert (comparison.sign(pair), comparison.verdict(pair, 0.1)) == (
        "slightly worse",
        "by less than 10 points",
    )
    for other in ({"sign": "="}, {"verdict": "different"}):
        assert "slightly" not in comparison.sign(pair | other)


def test_every_remark_of_the_code_has_its_sentence_and_the_reverse() -> None:
    used = set()
    for path in (SOURCE / "run").glob("*.py"):
        used |= set(re.findall(r'"(compare\.[a-z-]+)"', path.read_text("utf-8")))
    assert used == set(comparison.REMARKS)


def test_a_comparison_has_the_form_that_its_views_rely_on(document: Any) -> None:
    """No key is missing, and none is there that the form does not name."""
    assert TypeAdapter(ComparisonDocument).validate_python(document, strict=True) == document
    jsonschema.validate(json.loads(json.dumps(document)), comparison_schema())


def test_the_table_in_the_terminal(document: Any) -> None:
    lines = printed(document).splitlines()
    start = next(i for i, line in enumerate(lines) if "two-step" in line and "rule sound" in line)
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[start + 1 : start + 10]]
    assert rows[0][:4] == ["rank", "service", "rating", "off balance"]
    shown = {row[1]: row[0] for row in rows[1:]}
    assert shown == {name: rank or "–" for name, rank in ranks(sound(document)).items()}
    assert shown["identity"] == shown["copy"] == "=1"
    levels = {row[1]: row[2] for row in rows[1:]}
    assert levels["edge"].startswith("(")
    assert levels["three"] == "BS"


def test_pairs_say_how_sure_and_by_which_margin(document: Any) -> None:
    said = printed(document)
    assert re.search(
        r"copy − identity: 0 points \(0 to 0\) .* = not told apart · same \(within 10 points\)", said
    )
    assert re.search(r"all-he − identity: \d+ points .* · worse · different \(by more than 10 points\)", said)


def test_a_share_of_resamples_says_what_it_is_a_share_of(document: Any, page: str) -> None:
    """It said "P(first worse)" and "worse in < 1 %" beside a difference of +28 points, and not of what."""
    assert "whatever answers would say that are missing or could not be interpreted" in page
    assert "P(" not in page
    pairs = [one for one in printed(document).splitlines() if one.startswith("pair ")]
    assert pairs
    assert all("% of the resamples · " in one for one in pairs)


def test_differences_only_leaves_out_what_is_not_told_apart(document: Any) -> None:
    whole, cut = printed(document), printed(document, differences_only=True)
    assert "copy − identity" in whole
    assert "copy − identity" not in cut
    assert "all-he − identity" in cut


def test_many_pairs_are_counted_and_found_elsewhere(document: Any) -> None:
    group = sound(document)
    group["pairs"] = group["pairs"] * 3
    more = len(group["pairs"]) - comparison.MOST_PAIRS
    assert more > 0
    assert f"{more} more: see --as html" in printed({**document, "groups": [group]})


def test_two_dates_tell_levels_then_texts(document: Any) -> None:
    (one,) = [one for one in document["dates"] if one["before"]["rating"]["overall"]["level"] == "BS"]
    lines = printed({**document, "groups": [], "dates": [one]}).splitlines()
    assert lines[0].startswith("one  ")
    assert lines[1].endswith("BS → DSBS  changed")
    assert re.match(r"change   off balance −\d+ points .* better · different", lines[2])
    flipped = one["readings"]["flipped"]
    assert lines[3] == f"texts    {flipped} of 180 readings changed: {flipped} come right"
    assert lines[4].startswith(" right")
    assert "The service changed in between" in printed(document)


def test_other_texts_are_told_in_one_sentence(document: Any) -> None:
    """The page ended the sentence with two full stops."""
    other = json.loads(json.dumps(document))
    for one in other["dates"]:
        one["readings"] = None
    (said,) = set(re.findall(r"<p>(Different texts were sent[^<]*)</p>", comparison_page.page(other)))
    assert said == "Different texts were sent, so only the levels are compared, not single texts."


def test_an_unsettled_level_is_not_said_to_have_changed(document: Any) -> None:
    (one,) = [one for one in document["dates"] if one["before"]["rating"]["overall"]["level"] == "BS"]
    after = {**one["after"], "rating": {**one["after"]["rating"], "state": "not settled"}}
    open_: Any = {**document, "groups": [], "dates": [{**one, "after": after}]}
    assert "BS → (DSBS)  another level is likeliest; not settled" in printed(open_)
    assert "Another level is likeliest; not settled" in comparison_page.page(open_)
    same = {**document, "groups": [], "dates": [{**one, "after": after, "changed": False}]}
    assert printed(same).splitlines()[1].endswith("the same level is likeliest; not settled")


def test_offensive_examples_are_not_shown(document: Any) -> None:
    result = comparisons.several()
    for one in result["dates"]:
        for example in one["readings"]["examples"]:
            example |= {"sent": "SLUR", "before": "SLUR", "after": "SLUR", "offensive": True}
    for shown in (printed(result), comparison_page.page(result)):
        assert "SLUR" not in shown
        assert "may offend" in shown


def test_csv_has_a_row_for_each_rating_and_no_formula(document: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(comparison.csv(document).decode())))
    assert len(rows) == sum(len(group["rows"]) for group in document["groups"])
    assert {row["rank"] for row in rows if row["service"] in ("identity", "copy")} == {"'=1"}
    (edge,) = [row for row in rows if row["service"] == "edge"]
    assert (edge["rank"], edge["state"]) == ("", "not settled")
    guarded = list(csv.reader(io.StringIO(comparison.csv(comparisons.attacked()).decode())))[1:]
    plain = (cell for row in guarded for cell in row if not re.fullmatch(r"-?\d.*", cell))
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in plain)


def test_page_shows_what_the_terminal_shows(document: Any, page: str) -> None:
    read = Reader(page).text
    for group in document["groups"]:
        for row in group["rows"]:
            assert row["rating"]["service"]["name"] in read
            assert comparison.score(row["rating"]["overall"], group["method"]) in read
        for line in comparison.remarks(group):
            assert line in read
        for pair in group["pairs"]:
            assert comparison.verdict(pair, group["margin"]) in read
    for note in document["notes"]:
        assert comparison.remark(note) in read
    assert "not ranked" in read
    assert "at two dates" in read


def test_two_dates_show_the_version_and_the_score_of_each() -> None:
    """ "No change" stood between two models, and between a score of 15 points and one of 2."""
    document = comparisons.several()
    (one,) = document["dates"]
    for side, version in (("before", "small-7"), ("after", "small-8")):
        one[side]["rating"]["service"]["version"] = version
    other = {**one["parts"][0], "title": "Other", "after": {**one["parts"][0]["after"], "score": 0.61}}
    one["parts"].append(other)
    head, _, rows = comparison_page.page(document).partition("Change of level")
    assert "small-7" in head
    assert "small-8" in head
    assert comparison.score(one["after"]["rating"]["overall"], one["method"]) in rows
    assert "61 points" in rows


def test_policy_allows_the_style_of_the_page_and_no_script(page: str) -> None:
    read = Reader(page)
    policy = next(facts["content"] for tag, facts in read.tags if tag == "meta" and facts.get("http-equiv"))
    (inside,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    assert policy is not None
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "script" not in policy
    assert not any(tag == "script" for tag, _ in read.tags)
    assert len(page.encode()) < 200_000


def test_unsettled_levels_are_dashed_and_settled_ones_are_not(document: Any) -> None:
    group = sound(document)
    alone: Any = {**document, "groups": [group], "dates": [], "notes": []}
    page = comparison_page.page(alone)
    read = Reader(page)
    pills = [facts["class"] or "" for _, facts in read.tags if "pill" in (facts.get("class") or "")]
    states = [row["rating"]["state"] for row in group["rows"]]
    assert ["dashed" in one for one in pills] == [state != "rated" for state in states]
    assert "not rated" not in read.text


def test_hostile_names_and_answers_stay_inert() -> None:
    result = comparisons.attacked()
    read = Reader(comparison_page.page(result))
    assert not any(tag in ("script", "img") for tag, _ in read.tags)
    assert not any(name.startswith("on") for _, facts in read.tags for name in facts)
    assert not any("javascript:" in (facts.get("href") or "") for _, facts in read.tags)
    assert "{{ 7*7 }}" in read.text
    shown = printed(result)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", shown)
    assert hostile.NAME not in shown


def test_a_comparison_without_tables_says_why() -> None:
    void = {"code": "compare.void", "facts": {"run": "TG-1"}, "evidence": []}
    facts = comparisons.several() | {"groups": [], "dates": [], "notes": [void]}
    for shown in (printed(facts), Reader(comparison_page.page(facts)).text):
        assert "Run TG-1 is void" in shown
