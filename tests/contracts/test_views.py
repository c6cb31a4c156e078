"""Every view and export shows real rated documents of all methods; views come from outside too."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from filelock import FileLock
from markupsafe import Markup

from tests.methods.echoing import Echoing
from tests.reports import fixtures
from trustgauge import plugins
from trustgauge.errors import MethodError
from trustgauge.methods.conformance import answers
from trustgauge.plan import load_plan
from trustgauge.records import canonical
from trustgauge.reports import html, label, notebook, sentences, terminal
from trustgauge.reports.components import (
    Cell,
    Cells,
    Figure,
    Head,
    LevelWords,
    Messages,
    Section,
    Table,
    Words,
    read_messages,
    shown_by,
    view_by_name,
)
from trustgauge.reports.conformance import check_export, check_view
from trustgauge.reports.document import document as make_document
from trustgauge.reports.document_model import misfit
from trustgauge.reports.views import DefaultView
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.verify import evidence_of_run

METHODS = plugins.names("methods")
PLAN: Any = {
    "name": "every method",
    "seed": 7,
    "services": {
        "coin": {"use": "anchor", "behaviour": "coin"},
        "biased": {"use": "sentiment-anchor", "behaviour": "female-biased"},
        "leaks": {"use": "rivescript", "brain": "leaks"},
        "favours": {"use": "rivescript", "brain": "favours", "group": "women"},
    },
    "experiments": [
        {"method": "two-step", "services": ["coin"], "texts": 40, "draws": 1000},
        {
            **{"method": "causal", "services": ["biased"], "groups": [1, 4], "frames": 3, "persons": 3},
            **{"resamples": 1000, "permutations": 999},
        },
        {
            **{"method": "social-bias", "services": ["favours"], "attributes": ["gender"], "groups": 2},
            **{"properties": 4, "questions": 400, "resamples": 1000, "permutations": 199},
        },
        {
            **{"method": "trust", "services": ["leaks", "favours"], "talks": 20, "resamples": 1000},
            **{"profiles": ["privacy-first", "safe-language"]},
        },
    ],
}


@dataclass(frozen=True)
class Rated:
    """The document of a run of all methods, and what was sent and received."""

    document: Mapping[str, Any]
    rows: pl.DataFrame

    def of(self, method: str) -> Any:
        """The document with the ratings of one method."""
        mine = [one for one in self.document["ratings"] if one["method"]["name"] == method]
        return {**self.document, "ratings": mine}


@pytest.fixture(scope="session")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Rated:
    """One small plan of every method, rated once for all workers, control services included."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "every-method"
    with FileLock(f"{shared}.lock"):
        done = [one.parent for one in shared.glob("*/rating.json")]
        folder = done[0] if done else rate(load_plan(PLAN), RunOptions(ratings=shared)).folder
    return Rated(json.loads((folder / "rating.json").read_bytes()), evidence_of_run(folder))


@pytest.mark.parametrize("method", METHODS)
def test_every_view_shows_the_ratings_of_every_method(rated: Rated, method: str) -> None:
    result = rated.of(method)
    assert misfit(result) == ""
    check_view(view_by_name(method), result)
    page, text, cell = (
        html.report(result, rated.rows),
        terminal.plain(terminal.show(result)),
        notebook.html(result),
    )
    for one in result["ratings"]:
        who = sentences.name(one["service"]["name"])
        assert all(who in view for view in (page, text, cell))
        drawn, level = label.label(one), one["overall"]["level"]
        if level is not None and one["state"] in {"rated", "not settled"}:
            words = sentences.level(one, level).short.lower()
            assert all(words in view.lower() for view in (page, drawn))
            assert view_by_name(method).mark(one, level) in text
    assert "{" not in text


def quoted(rated: Rated, method: str) -> list[tuple[str, str, str]]:
    """What the ratings of a method quote: sent, answered, why."""
    view, ratings = view_by_name(method), rated.of(method)["ratings"]
    rows = view.prepare_evidence(ratings, rated.rows)
    mine = [(one, rows.filter(rows["service"] == one["service"]["key"])) for one in ratings]
    found = [each for one, own in mine for each in view.quotations(one, own)]
    return [(each.sent.quote, each.back.quote, each.why) for each in found]


def test_of_a_social_bias_rating_answers_for_or_against_the_group_are_quoted(rated: Rated) -> None:
    found = quoted(rated, "social-bias")
    asked = dict(rated.rows.filter(pl.col("group_b").is_not_null()).select("sent", "polarity").iter_rows())
    assert len(found) > 3
    for sent, back, why in found:
        assert why == "Counted for women."
        names_women = "women" in back or (
            back.lower().startswith("yes") and sent.find("women") < sent.find(" men")
        )
        assert names_women == (asked[sent] == "positive"), (sent, back)


def test_of_a_causal_rating_texts_of_one_frame_with_two_classes_are_quoted(tmp_path: Path) -> None:
    settling = {"groups": [1], "frames": 20, "persons": 14, "resamples": 1000, "permutations": 999}
    biased = {**PLAN["experiments"][1], **settling}
    plan = {**PLAN, "services": {"biased": PLAN["services"]["biased"]}, "experiments": [biased]}
    result = rate(load_plan(plan), RunOptions(ratings=tmp_path))
    (first, *rest) = quoted(Rated(result.document, evidence_of_run(result.folder)), "causal")
    assert rest
    assert first[1] == "−1.00"
    assert re.fullmatch(r"“.*” scores 1\.00\.", first[2])


def test_of_a_trust_rating_answers_that_leak_are_quoted(rated: Rated) -> None:
    found = quoted(rated, "trust")
    assert {why for _, _, why in found} == {"Another user had told it this in confidence."}


@pytest.mark.parametrize("method", METHODS)
def test_every_reason_and_limit_has_a_message(rated: Rated, method: str) -> None:
    for one in rated.of(method)["ratings"]:
        holders = (one, *one["parts"])
        reasons = [*(reason for each in holders for reason in each["reasons"]), *one["limits"]]
        assert reasons
        assert not [said for said in sentences.reasons(reasons, one) if said.startswith("The method gives")]


PACKAGES = ("reports", *(f"methods.{method.replace('-', '_')}" for method in METHODS))
BY_SIDE = {"absolute", "relative"}
"""Notes of the social-bias method whose key is a variable."""
OF_TABLES = {"columns"}
"""What the columns of a table of services count: a note that the view of every method may have."""


def notes_of(source: str) -> set[str]:
    """Keys of `NOTES[...]`, both of those that a condition chooses between."""
    keys = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith(("NOTES", "table('notes')")):
            chosen = (
                [node.slice.body, node.slice.orelse] if isinstance(node.slice, ast.IfExp) else [node.slice]
            )
            keys |= {str(one.value) for one in chosen if isinstance(one, ast.Constant)}
    return keys


@pytest.mark.parametrize("package", PACKAGES)
def test_the_notes_of_a_message_file_are_those_that_are_used(package: str) -> None:
    name = f"trustgauge.{package}"
    modules = Path(str(files(name))).glob("*.py")
    used = set().union(*(notes_of(path.read_text("utf-8")) for path in modules))
    assert read_messages(name).table("notes").keys() - BY_SIDE - OF_TABLES == used


OF_ONE_RATING = {"label", "badge", "shields", "eee", "mcp"}
"""Exports of one rating, or of one service: pictures, results of one model, an entry of 4,096 bytes."""


@pytest.mark.parametrize("export", plugins.names("exports"))
def test_every_export_takes_the_ratings_of_every_method(rated: Rated, export: str) -> None:
    write = plugins.load("exports", export)
    for document in (rated.document, *map(rated.of, METHODS)):
        if export in OF_ONE_RATING:  # a badge needs a level
            for one in document["ratings"]:
                if one["overall"]["level"] is not None:
                    assert write({**document, "ratings": [one]}, rated.rows)
        else:
            assert write(document, rated.rows)


def echoed() -> tuple[Any, pl.DataFrame]:
    """A document of a method of somebody else, with a settled and an open rating, and its evidence."""
    method = Echoing(method="echoing", services=("mine", "loud"))
    probes = pl.concat(method.design(7, "translate"))
    texts = probes["message"].to_list()
    some = [text.upper() if place % 40 < 5 and place < 40 else text for place, text in enumerate(texts)]
    scores = [
        method.score(answers(probes, came).with_columns(service=pl.lit(service)))
        for service, came in (("mine", some), ("loud", [text.upper() for text in texts]))
    ]
    run, _ = fixtures.demo()
    ratings = method.rate(method.merge([method.summarise(one) for one in scores]), 7)
    assert [one.state for one in ratings] == ["not settled", "rated"]
    document = make_document(replace(run, services={}), ratings)
    return document, pl.concat([method.evidence(one) for one in scores])


class EchoingView(DefaultView):
    """The words of the method of somebody else."""

    messages = Messages(
        {},
        {
            "levels": {
                "keeps": LevelWords("keeps", "keeps", "It keeps texts."),
                "changes": LevelWords("changes", "changes", "It changes texts."),
            }
        },
        {"echoing.changed": ("{n:count} texts came back changed.", "Some texts came back changed.")},
    )

    def sections(self, rating: Any, run: Any, *, alone: bool) -> list[Section]:
        return [Section("kept", "What was kept", [Words("Most.")])]


class TwoColumns(EchoingView):
    def cells(self, rating: Any, part: Any, *, tight: bool = False) -> Cells:
        return Cells((), ())


class Moody(EchoingView):
    calls = 0

    def summary_tile(self, rating: Any) -> tuple[str, str, str]:
        self.calls += 1
        return "Call", str(self.calls), ""


class NeedsLevel(EchoingView):
    def summary_tile(self, rating: Any) -> tuple[str, str, str]:
        return "Level", rating["overall"]["level"].upper(), ""


class Unescaped(EchoingView):
    def figures(self, rating: Any) -> list[Figure]:
        return [Figure(Markup(f"<svg><text>{rating['service']['name']}</text></svg>"), "the name")]


class UnescapedLabel(EchoingView):
    def label_body(self, rating: Any, band: str, *, dead: bool) -> list[str]:
        return [f"<text>{rating['service']['name']}</text>"]


class HalfDrawn(EchoingView):
    def pictogram(self, level: str, position: int, count: int) -> str:
        return "<path d="


class Wordless(EchoingView):
    messages = Messages({}, EchoingView.messages.levels, {})


class Factless(EchoingView):
    def verdict_words(self, rating: Any) -> tuple[str, Mapping[str, str]]:
        return "It {does} that.", {}


class Misquoting(EchoingView):
    def quotations(self, rating: Any, rows: pl.DataFrame) -> list[Any]:
        return rows["frame"].to_list()


class Ragged(EchoingView):
    def sections(self, rating: Any, run: Any, *, alone: bool) -> list[Section]:
        return [Section("t", "T", [Table("t", [Head("a"), Head("b")], [[Cell("one")]])])]


class Writing(EchoingView):
    def sections(self, rating: Any, run: Any, *, alone: bool) -> list[Section]:
        rating["overall"]["score"] = 0.5
        return []


class Lucky(EchoingView):
    drawn = 0

    def sections(self, rating: Any, run: Any, *, alone: bool) -> list[Section]:
        Lucky.drawn += 1
        return [Section("n", "N", [Words(str(Lucky.drawn))])]


def test_a_view_of_somebody_else_passes() -> None:
    check_view(EchoingView(), *echoed())


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (TwoColumns(), "do not fit the heads"),
        (Moody(), "in two ways"),
        (object(), "lacks"),
        (NeedsLevel(), "cannot show ratings without a level.*in summary_tile"),
        (Unescaped(), "puts a name into the page as markup"),
        (UnescapedLabel(), "puts a name into the page as markup"),
        (HalfDrawn(), "pictogram of keeps is no drawing"),
        (Wordless(), "no sentence for a reason. Must be `messages` with echoing.changed"),
        (Factless(), "cannot show the document.*KeyError"),
        (Misquoting(), "cannot show the document.*frame"),
        (Ragged(), "rows of the table t do not fit its heads"),
        (Writing(), "changes the document"),
        (Lucky(), "in two ways"),
    ],
)
def test_the_kit_finds_views_that_break_their_contract(view: Any, said: str) -> None:
    with pytest.raises(MethodError, match=said):
        check_view(view, *echoed())


def test_a_level_that_is_called_by_its_words_is_said_once() -> None:
    document, _ = echoed()
    with shown_by(EchoingView(), "echoing"):
        open_, settled = document["ratings"]
        assert label.outcome(settled) == "changes"
        assert label.outcome(open_).startswith("changes, not settled")
        text = terminal.plain(terminal.show(document))
        page = html.report(document, None)
    assert "changes, changes" not in text
    assert "changes (changes)" not in page
    assert '<span class="under">changes' not in page


def test_after_the_kit_the_registered_view_shows_ratings_again() -> None:
    before = view_by_name("echoing")
    check_view(EchoingView(), *echoed())
    assert type(view_by_name("echoing")) is type(before) is DefaultView


def one_line(document: Any, rows: Any = None) -> bytes:
    """Each rating in a line. Loses everything else."""
    return "".join(f"{one['id']} {one['overall']['level']}\n" for one in document["ratings"]).encode()


def shouted(document: Any, rows: Any = None) -> bytes:
    """The levels, as if there always were one."""
    return b"".join(one["overall"]["level"].upper().encode() for one in document["ratings"])


def as_text(document: Any, rows: Any = None) -> Any:
    """The levels as a text."""
    return one_line(document).decode()


def sorting(document: Any, rows: Any = None) -> bytes:
    """It turns the ratings round."""
    document["ratings"][0]["parts"].reverse()
    return b""


def mute(document: Any, rows: Any = None) -> bytes:
    return b""


@pytest.mark.parametrize("name", plugins.names("exports"))
def test_every_registered_export(rated: Rated, name: str) -> None:
    one: Any = {**rated.document, "ratings": rated.document["ratings"][:1]}
    check_export(plugins.load("exports", name), one, rated.rows)


def test_an_export_of_somebody_else_passes() -> None:
    check_export(one_line, *echoed())


@pytest.mark.parametrize(
    ("export", "said"),
    [
        (shouted, "fails on ratings without a level.*'upper'.* line"),
        (as_text, "gives no bytes. Must be bytes. Got str"),
        (sorting, "changes the document"),
        (mute, "says nothing"),
    ],
)
def test_the_kit_finds_exports_that_break_their_contract(export: Any, said: str) -> None:
    with pytest.raises(MethodError, match=said):
        check_export(export, *echoed())


OUTSIDE = """
from trustgauge.reports.components import Section, Words
from trustgauge.reports.views import DefaultView
from trustgauge.reports.components import LevelWords, Messages


class FaithfulView(DefaultView):
    messages = Messages(
        texts={"rules": {"sound": "A text should come back as it was sent."}},
        levels={"levels": {"BS": LevelWords("rewrites", "changes texts", "It rewrites what it is given.")}},
        reasons={},
    )

    def sections(self, rating, run, *, alone):
        return [Section("kept", "What was kept", [Words("Every second text was kept.")])]
"""
SHOW = """
import json, sys
from trustgauge.reports import html
print(html.report(json.load(sys.stdin)))
"""


def test_a_method_from_outside_brings_its_own_view(tmp_path: Path) -> None:
    info = tmp_path / "faithful-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faithful\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[trustgauge.views]\nfaithful = faithful_view:FaithfulView\n")
    (tmp_path / "faithful_view.py").write_text(OUTSIDE)
    run, ratings = fixtures.demo()
    result = make_document(run, ratings[:1])
    result["ratings"][0]["method"]["name"] = "faithful"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", SHOW],
        input=canonical(result),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert "What was kept" in done.stdout
    assert "Every second text was kept." in done.stdout
    assert "A text should come back as it was sent." in done.stdout
