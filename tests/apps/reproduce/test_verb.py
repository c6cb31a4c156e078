"""The verb reproduce as a user meets it."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

from tests.cli.test_commands import last, trustgauge
from tests.papers import released, test_recorded_trips
from trustgauge.apps.reproduce.page import policy

VOID = {"meta", "br", "input", "img", "link", "hr"}


class Page(HTMLParser):
    """Reads a page and remembers what it holds; refuses tags that do not nest."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.rows = 0
        self.words: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        self.ids |= {str(value) for name, value in attrs if name == "id"}
        self.links |= {str(value) for name, value in attrs if name == "href"}
        self.rows += tag == "tr"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_a_table_with_a_documented_exception_ends_well(tmp_path: Path) -> None:
    done = trustgauge("reproduce", "causal", "table-v", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "causal table-v  Ratings on conversations, from their scores (Table V)"
    differs = [line for line in lines if line.startswith("differs")]
    assert len(differs) == 3
    assert differs[0] == (
        "differs  HD1_SR Chatbot, r: printed 1, published 3, released 3. The printed labels of t, b and r "
        "are permuted; by position the ratings equal the rule."
    )
    assert "cells    recomputed: agrees 69, differs 3 (documented)" in lines
    assert lines[-1] == "total    72 cells in 1 table: recomputed: agrees 69, differs 3 (documented)"
    assert done.stderr == ""


def test_every_cell_is_listed_when_asked(tmp_path: Path) -> None:
    done = trustgauge("reproduce", "causal", "table-iv", "-v", folder=tmp_path)
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["row", "column", "printed", "published", "released", "kind", "verdict"]
    assert sum(line.endswith("agrees") for line in lines) == 108
    assert any(line.startswith("note     By default ratings are absolute") for line in lines)


def test_many_cells_with_one_reason_are_told_together(tmp_path: Path) -> None:
    done = trustgauge("reproduce", "two-step", "table-1", folder=tmp_path)
    never, public = [line for line in done.stdout.splitlines() if line.startswith("lost")]
    assert never == "lost     Turkish, G and 7 more. The output counts behind this level are not published."
    assert public.startswith("lost     Spanish, G and 7 more. ")
    assert done.returncode == 0


def test_json_and_page_say_the_same(tmp_path: Path) -> None:
    done = trustgauge("reproduce", "causal", "--json", "--html", "page.html", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == ["wrote    page.html"]
    data = json.loads(done.stdout)
    page = Page()
    page.feed((tmp_path / "page.html").read_text("utf-8"))
    page.close()
    assert page.open == []
    tables = len(data["tables"])
    assert page.rows == data["totals"]["cells"] + 2 * tables + 1  # a head of each, and the list of tables
    assert {f"causal-{one['name']}" for one in data["tables"]} <= page.ids
    assert {link.removeprefix("#") for link in page.links} <= page.ids
    checked = [data["totals"][kind] for kind in ("recomputed", "consistent", "constant")]
    for verdict in ("agrees", "differs"):
        assert page.words.count(verdict) == sum(one[verdict] for one in checked)
    lost = sum(data["totals"]["cannot_be_recomputed"].values())
    assert page.words.count("cannot be recomputed") == lost
    assert "script" not in policy()
    assert ("content", policy()) in page.attributes
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_the_files_of_the_authors_are_recomputed_too(tmp_path: Path) -> None:
    folder = released.write(tmp_path / "theirs", "biased")
    done = trustgauge("reproduce", "causal", "scores", "--data", str(folder), "--json", folder=tmp_path)
    (table,) = json.loads(done.stdout)["tables"]
    counts = table["counts"]
    assert counts["recomputed"] == {"agrees": 24, "differs": 0}
    assert counts["consistent"] == {"agrees": 24, "differs": 0}  # of people
    assert counts["unexplained"] == {"public": 96}
    assert done.returncode == 10  # the files of four systems are not there
    assert last(done) == "exit 10: figures without a documented reason: 96 cannot be recomputed"


def test_files_of_several_papers_are_read_at_once(tmp_path: Path) -> None:
    """One folder for each paper, and two of one paper."""
    older, newer = (tmp_path / name for name in ("older", "newer"))
    released.write(older, "biased")
    released.write_newer(newer, "dbert")
    recorded = test_recorded_trips.write(tmp_path / "recorded", "t1", "es", str)
    folders = (f"two-step={recorded}", f"causal={older}", f"causal={newer}")
    data = [word for one in folders for word in ("--data", one)]
    done = trustgauge("reproduce", "all", *data, "--json", folder=tmp_path)
    record = json.loads(done.stdout)
    assert {one["method"] for one in record["tables"]} == {"two-step", "causal", "social-bias", "trust"}
    by_name = {(one["method"], one["name"]): one for one in record["tables"]}
    assert by_name["two-step", "table-1"]["counts"]["consistent"] == {"agrees": 2, "differs": 0}
    scores = {(one["row"], one["column"]): one for one in by_name["causal", "scores"]["cells"]}
    assert scores["SD Group-1", "b"]["kind"] == "recomputed"
    assert scores["HD1 User", "d"]["kind"] == "recomputed"
    assert len(by_name) == len(record["tables"])
    assert done.returncode == 10  # most of the causal files are not there
    assert "cannot be recomputed" in last(done)


def test_a_wrong_figure_ends_with_10_and_is_told(tmp_path: Path) -> None:
    folder = released.write(tmp_path / "theirs", "gru")  # which does not favour women in the paper
    done = trustgauge("reproduce", "causal", "scores", "--data", str(folder), folder=tmp_path)
    assert done.returncode == 10
    (line,) = [line for line in done.stdout.splitlines() if "SD Group-1, g:" in line]
    assert line == "differs  SD Group-1, g: printed 0.6, released 23. No reason is known."
    assert "without a documented reason" in done.stdout.splitlines()[-1]
    assert last(done).startswith("exit 10: figures without a documented reason: ")
    assert "recomputed differ" in last(done)


def test_what_is_unknown_is_refused(tmp_path: Path) -> None:
    for arguments, one in (
        (("causl",), 'no method "causl"'),
        (("causal", "table-6"), 'no table "table-6"'),
        (("--data", "."), "the files belong to only one paper"),
        (("causal", "--data", "."), "contains no released scores"),
        (("causal", "--data", "nowhere"), "nowhere"),
    ):
        done = trustgauge("reproduce", *arguments, folder=tmp_path)
        assert done.returncode == 2, arguments
        assert one in done.stderr
        assert last(done).startswith("exit 2: ")
    done = trustgauge("reproduce", "causal", "one-less", "--html", "no/such/page.html", folder=tmp_path)
    assert done.returncode == 2
    assert "choose another place with --html" in done.stderr.replace("Choose", "choose")
