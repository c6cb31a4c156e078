from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from typing import Any, cast

import polars as pl
import pytest

from tests.reports import fixtures, hostile, social_fixtures
from trustgauge.records import UNNAMED, ControlResult
from trustgauge.reports import html
from trustgauge.reports.document import document

STATES = fixtures.all_states()
DOCUMENT = document(fixtures.run([STATES]), [STATES], fail_on=("BS",))
ROWS = fixtures.evidence(STATES, texts=27)
PAGE = html.report(DOCUMENT, ROWS)


class Reader(HTMLParser):
    """Collects tags, attributes and the words outside of script and style."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in {"script", "style"}:
            self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))


READ = Reader(PAGE)


def test_sections_come_in_the_order_of_a_chooser() -> None:
    heads = re.findall(r"<h[12][^>]*>([^<]+)", PAGE)
    assert heads[0].strip() == "LinguaBridge"
    assert heads[1:] == [
        "Why this rating",
        "Language by language",
        "Distance from balanced, and certainty",
        "Evidence, sentence by sentence",
        "Check it, run it again",
        "Limitations",
    ]


def test_page_is_small_for_480_rows() -> None:
    assert ROWS.height >= 480
    assert len(PAGE.encode()) < 200_000


def test_policy_allows_exactly_the_style_and_the_script_of_the_page() -> None:
    policy = next(facts["content"] for tag, facts in READ.tags if tag == "meta" and facts.get("http-equiv"))
    assert policy is not None
    for name in ("style", "script"):
        (inside,) = re.findall(rf"<{name}>(.*?)</{name}>", PAGE, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_nothing_in_the_page_refers_outside() -> None:
    for tag, facts in READ.tags:
        for key, value in facts.items():
            assert not key.startswith("on"), (tag, key)
            assert key != "style", tag
            if key in {"src", "href", "action", "data", "poster", "srcset"}:
                assert (value or "").startswith("#"), (tag, value)
    assert not re.search(r"@import|url\(|//[a-z]", html.style())


def test_every_id_is_there_once_and_every_link_has_its_goal() -> None:
    ids = [facts["id"] for _, facts in READ.tags if facts.get("id")]
    assert len(ids) == len(set(ids))
    goals = {(facts["href"] or "")[1:] for tag, facts in READ.tags if tag == "a"}
    assert goals <= set(ids)


def test_every_state_of_a_part_is_on_the_page() -> None:
    for words in (
        "not settled: try 80 texts",
        "not rated",
        "not tested",
        "not applicable",
        "adds bias",
        "follows",
    ):
        assert words in READ.text
    assert READ.text.count("⚑") == 0  # the flag is drawn by the style sheet, not read aloud
    unsettled = re.search(r'<span class="pill l1 dashed">', PAGE)
    assert unsettled, "a level that is not settled is dashed"
    assert len(re.findall(r'<span class="pill l\d dashed">', PAGE)) == 1


def test_missing_is_never_zero() -> None:
    row = PAGE[PAGE.index("<bdi>Portuguese") :]
    row = row[: row.index("</tr>")]
    assert "0 %" not in row
    assert row.count("–") >= 4


def test_level_never_stands_alone() -> None:
    for words in (
        "It adds gender bias of its own in 2 of 7 languages",
        "> 99 %",
        "5 of 7",
        "21 Feb 2027",
        "Example Lab (third party)",
        "came back as sent",
        "5 of 5 got the expected rating",
        "The gate failed",
        "Rule: sound",
    ):
        assert words in READ.text, words


def test_what_it_does_not_say_is_never_empty() -> None:
    bare = replace(STATES, limits=())
    page = html.report(document(fixtures.run([bare]), [bare]))
    items = page[page.index('<ul class="limits">') :]
    assert items[: items.index("</ul>")].count("<li>") >= 3


def test_evidence_has_every_text_with_its_language() -> None:
    assert PAGE.count("<tr id=e") == ROWS.height
    assert '<tbody lang="en">' in PAGE
    assert "lang=tr" in PAGE
    assert 'class="ch">He</b>' in PAGE


def test_all_rows_stand_in_the_page_up_to_the_limit_and_packed_above() -> None:
    packed = html.report(DOCUMENT, ROWS, limits=html.Limits(inline=100))
    assert packed.count("<tr id=e") == 100
    assert 'type="application/octet-stream" id="packed"' in packed
    assert "the first 100 of 486 rows are here" in Reader(packed).text
    sample = Reader(html.report(DOCUMENT, ROWS, limits=html.Limits(100, 200, 150))).text
    assert "a sample of 122 of 486 rows," in sample


def test_thirty_thousand_rows_are_usable() -> None:
    many = pl.concat(
        [ROWS.with_columns(pl.format("{}-{}", pl.col("id"), pl.lit(i)).alias("id")) for i in range(62)]
    )
    page = html.report(DOCUMENT, many)
    assert many.height > 30_000
    assert len(page.encode()) < 3_000_000


def test_without_evidence_the_page_says_where_it_is() -> None:
    assert "trustgauge show TG-2026-1122-7f3a --as evidence-csv" in html.report(DOCUMENT)


def test_several_ratings_share_a_page() -> None:
    run, ratings = fixtures.demo()
    read = Reader(html.report(document(run, ratings), fixtures.evidence(ratings[0])))
    assert sum(tag == "article" for tag, _ in read.tags) == 3
    assert "200:200 → 200:200" in read.text
    assert [facts["id"] for tag, facts in read.tags if tag == "article"] == ["r3", "r2", "r1"]


@pytest.mark.parametrize(
    ("services", "heading"), [(2, "s0 and s1"), (4, "s0, s1, s2 and s3"), (9, "s0, s1, s2 and 6 more")]
)
def test_a_plan_without_a_title_is_headed_by_what_it_rates(services: int, heading: str) -> None:
    run, ratings = fixtures.demo()
    several = [replace(ratings[0], service=f"s{number}") for number in range(services)]
    whole = document(replace(run, name=UNNAMED), several)
    assert f'<h1 id="h-all">{heading}</h1>' in html.report(whole, fixtures.evidence(several[0]))


def test_void_run_shows_no_level() -> None:
    run, ratings = fixtures.demo()
    wrong = ControlResult("anchor/coin", "UCS", "rated", "BS", {"BS": 1.0})
    page = html.report(document(replace(run, state="void", controls=(wrong,)), ratings))
    assert "Void run" in page
    assert "anchor/coin is built as UCS, but was rated BS" in page
    assert 'class="pill' not in page


def test_run_without_ratings_is_a_page() -> None:
    assert "This run has no rating to show" in html.report(document(fixtures.run([]), []))


def test_stopped_run_carries_a_strip() -> None:
    page = html.report(document(fixtures.run([STATES], stopped="limit reached: calls 8000"), [STATES]))
    assert "Stopped early: limit reached: calls 8000." in page


@pytest.mark.parametrize(("today", "over"), [(date(2027, 2, 21), False), (date(2027, 2, 22), True)])
def test_expired_page_opens_with_a_band(today: date, over: bool) -> None:
    page = html.report(DOCUMENT, today=today)
    band = page[page.index('<p id="stale"') :]
    assert ("hidden" in band[: band.index(">")]) is not over
    assert ("Expired 21 Feb 2027</text>" in page) is over


def test_other_methods_and_rules_have_a_page_too() -> None:
    published = replace(STATES, rule="published")
    assert "Rule: published" in html.report(document(fixtures.run([published]), [published]))
    own = replace(STATES, method="plug-in")
    page = html.report(document(fixtures.run([own]), [own]))
    assert "Rule: sound" in page


def test_offensive_texts_are_folded_away_until_asked_for() -> None:
    rows = ROWS.with_columns(pl.lit(True).alias("offensive"))
    page = html.report(DOCUMENT, rows.head(3))
    assert page.count('<details class="off"><summary>████ show</summary>') == 9
    assert "Some texts below may offend" in page
    assert "Show offensive text" in page


def test_hostile_answers_and_names_stay_text() -> None:
    result, rows = hostile.case()
    page = html.report(result, rows)
    read = Reader(page)
    calm = {tag for tag, _ in READ.tags} | {"details", "summary", "br"}
    assert {tag for tag, _ in read.tags} <= calm
    assert sum(tag == "script" for tag, _ in read.tags) == 1
    assert not [key for _, facts in read.tags for key in facts if key.startswith("on")]
    for char in ("\x1b", "\x00", "\x08", "\u202e", "\u2066", "\u2028"):
        assert char not in page
    assert len(page.encode()) < 400_000  # 100 KB lines are cut
    assert "100,000 characters, the first 2,000 here" in page
    page.encode("utf-8")


def test_same_document_gives_the_same_page() -> None:
    assert html.report(DOCUMENT, ROWS) == PAGE


def test_the_first_screen_quotes_what_the_verdict_says_and_advises() -> None:
    one = fixtures.rating("x", [fixtures.part("", "mostly he")])
    result = document(fixtures.run([one]), [one])
    row = {"part": "", "block": "unbiased", "status": "answered", "trail": "[]", "kinds": ["kept"]}
    rows = pl.DataFrame(
        [
            {**row, "service": key, "id": f"b0-{n}", "sent": f"She is {n}. <b>", "back": f"He is {n}.",
             "values_in": ["She"], "values_out": ["He"], "changed": True}
            for key in (result["ratings"][0]["service"]["key"], "another")
            for n in range(5)
        ]
    )  # fmt: skip
    page = html.report(result, rows)
    first = page.split('id="h-why1"')[0]
    assert first.count("“she” was sent, “he” came back.") == 3
    assert "She is 0. &lt;b&gt;" in first
    assert "What to do:" in first
    open_one = {**result, "ratings": [{**result["ratings"][0], "state": "not settled"}]}
    assert "“she” was sent" not in html.report(cast(Any, open_one), rows)


def test_the_first_screen_has_no_term_of_the_method_and_no_other_rule() -> None:
    first, below = PAGE.split('id="h-why1"')
    assert "resamples" not in first
    assert "Under the rule" not in first
    why, check = below.split('id="h-check"')
    assert "confident in" in why
    assert "Under the rule" not in why
    assert "Under the rule" in check


def test_a_table_of_services_says_what_its_columns_count() -> None:
    """ "200:200 → 240:0" stood on the first screen without a word of what was counted."""
    run, ratings = fixtures.demo()
    read = Reader(html.report(document(run, ratings))).text
    assert "Balanced in → out: mentions of He : She in balanced text, as sent and as they came back." in read
    bots, chats = social_fixtures.several()
    assert (
        "Preference: how far its choices lean to one group."
        in Reader(html.report(document(bots, chats))).text
    )
    measured = [social_fixtures.measured(name) for name in ("parlour", "porter")]
    told = Reader(html.report(document(social_fixtures.run(measured), measured))).text
    assert "Preference: how far" not in told
