"""The verb compare as a user meets it, and a stranger's method that cannot be ranked."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
import tomli_w

from tests.cli.test_commands import last, own_process, shown, trustgauge
from tests.reports.trust_fixtures import PAPER, document_of, kept, rating
from tests.run.comparisons import two_step
from trustgauge.run.comparison import SCHEMA

TWO = {"mine": "identity", "theirs": "all-he"}

OUTSIDER = '''
from typing import ClassVar
from trustgauge.methods.two_step.method import TwoStep

class Outsider(TwoStep):
    """A method that offers no resamples to compare services by."""
    name: ClassVar[str] = "outsider"
    badness_draws: ClassVar[None] = None
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("work")
    for number, services in enumerate((TWO, {"mine": "half"})):
        plan = made / f"{number}.toml"
        plan.write_text(tomli_w.dumps(two_step(services)))
        assert trustgauge("rate", plan.name, folder=made).returncode == 0
    return made


def test_without_an_id_all_ratings_are_compared(folder: Path) -> None:
    done = trustgauge("compare", folder=folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("two-step, gender  version 1.0 · rule sound · 180 texts each")
    assert lines[1].split()[:4] == ["rank", "service", "rating", "off"]
    assert [line.split()[:3] for line in lines[2:4]] == [["1", "mine", "BS"], ["2", "theirs", "BS"]]
    assert any(line.startswith("pair     theirs − mine: ") for line in lines)
    assert any(line.startswith("mine  ") for line in lines)
    assert any(line.startswith("texts    ") and line.endswith("go wrong") for line in lines)
    assert done.stderr == ""


def test_every_form_is_the_same_comparison(folder: Path) -> None:
    whole = json.loads(shown("compare", "--json", folder=folder))
    assert whole["schema"] == SCHEMA
    assert json.loads(shown("compare", "--as", "json", folder=folder)) == whole
    kept = folder / "kept.json"
    shown("compare", "--as", "json", "-o", "kept.json", folder=folder)
    assert json.loads(kept.read_text("utf-8")) == whole
    rows = list(csv.DictReader(io.StringIO(shown("compare", "--as", "csv", folder=folder))))
    assert [row["service"] for row in rows] == ["mine", "theirs"]
    done = trustgauge("compare", "--as", "html", "-o", "comparison.html", folder=folder)
    assert done.stderr.splitlines() == ["wrote    comparison.html"]
    for row in whole["groups"][0]["rows"]:
        assert (folder / row["report"].partition("#")[0]).is_file()
    printed = shown("compare", folder=folder)
    piped = trustgauge("compare", "--as", "json", "-o", "-", folder=folder)
    assert json.loads(piped.stdout) == json.loads((folder / "kept.json").read_text())
    assert not (folder / "-").exists()
    shown("compare", "-o", "kept.txt", folder=folder)
    assert (folder / "kept.txt").read_text("utf-8") == printed


def test_a_page_without_an_address_carries_what_it_links_to(folder: Path) -> None:
    trustgauge("compare", "--as", "html", "-o", "alone.html", folder=folder)
    page = (folder / "alone.html").read_text("utf-8")
    links = set(re.findall(r'href="([^"]*)"', page))
    ids = [row["id"] for row in json.loads(shown("compare", "--json", folder=folder))["groups"][0]["rows"]]
    assert {"#main", *(f"#rating-{one}" for one in ids)} <= links
    assert [link for link in links if link[0] != "#" or f'id="{link[1:]}"' not in page] == []
    assert page.count("What stands behind each rating") == 1


def test_a_page_that_is_mailed_links_to_an_address(folder: Path) -> None:
    options = ("--as", "html", "-o", "mailed.html", "--address", "https://ratings.example/")
    trustgauge("compare", *options, folder=folder)
    page = (folder / "mailed.html").read_text("utf-8")
    ids = [row["id"] for row in json.loads(shown("compare", "--json", folder=folder))["groups"][0]["rows"]]
    assert [f'href="https://ratings.example/r/{one}/"' in page for one in ids] == [True, True]
    assert "report.html" not in page
    assert "What stands behind" not in page
    refused = trustgauge("compare", *options[:-1], "javascript:alert(1)", folder=folder)
    assert (refused.returncode, "--address" in refused.stderr) == (2, True)


def test_filters(folder: Path) -> None:
    cut = trustgauge("compare", "--differences", "--state", "rated", "--rule", "sound", folder=folder)
    assert cut.returncode == 0, cut.stderr
    nothing = trustgauge("compare", "--rule", "released", folder=folder)
    assert nothing.returncode == 2
    assert "no ratings with rule released" in nothing.stderr
    assert last(nothing).startswith("exit 2: ")


def test_what_cannot_be_compared_is_a_usage_error(folder: Path, tmp_path: Path) -> None:
    assert trustgauge("compare", folder=tmp_path).returncode == 2
    unknown = trustgauge("compare", "TG-none", folder=folder)
    assert unknown.returncode == 2
    assert 'no rating "TG-none"' in unknown.stderr
    unwritable = trustgauge("compare", "-o", "no/such/folder.txt", folder=folder)
    assert unwritable.returncode == 2
    assert "cannot be written" in unwritable.stderr


def test_chatbots_for_one_kind_of_user(tmp_path: Path) -> None:
    ratings = [rating(name, issues) for name, issues in PAPER.items()]
    kept(tmp_path / "ratings", document_of(*ratings))
    shown = trustgauge("compare", "--profile", "privacy-first", "--rule", "published", folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[1] == (" 1  Insurance   Low risk      leakage Low      abuse Low  bias Low  complexity High")
    assert lines[5] == "* assumed, not measured · count rule (published): 3-2-1-0, ties to the worse"
    own = trustgauge("compare", "--order", "IL > AL = B", "--rule", "count", "--json", folder=tmp_path)
    assert json.loads(own.stdout)["order"]["written"] == "leakage > abuse = bias"
    page = trustgauge("compare", "--as", "personal", "-o", "personal.html", folder=tmp_path)
    assert page.stderr.splitlines() == ["wrote    personal.html"]
    assert "What matters to you?" in (tmp_path / "personal.html").read_text("utf-8")
    assert trustgauge("compare", "--profile", "privacy-first", "--as", "csv", folder=tmp_path).stdout.count(
        "Insurance"
    ) == len(PAPER["Insurance"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rule", "count"), "give --profile or --order too"),
        (("--profile", "nobody"), 'no profile "nobody"'),
        (("--profile", "privacy-first", "--order", "IL"), "a profile is an order already"),
        (("--order", "IL", "--rule", "best"), 'no rule "best"'),
    ],
)
def test_orders_and_rules_that_are_none(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    kept(tmp_path / "ratings", document_of(rating("HR", PAPER["HR"])))
    done = trustgauge("compare", *options, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_method_without_resamples_is_listed_and_not_ranked(tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    facts = installed / "outsider-1.0.dist-info"
    facts.mkdir(parents=True)
    (installed / "outsider.py").write_text(OUTSIDER)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: outsider\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[trustgauge.methods]\noutsider = outsider:Outsider\n")
    plan = two_step(TWO, texts=40)
    plan["experiments"][0]["method"] = "outsider"
    (tmp_path / "plan.toml").write_text(tomli_w.dumps(plan))
    rated = own_process("rate", "plan.toml", folder=tmp_path, PYTHONPATH=str(installed))
    assert rated.returncode == 0, rated.stderr
    done = own_process("compare", "--json", folder=tmp_path, PYTHONPATH=str(installed))
    (group,) = json.loads(done.stdout)["groups"]
    assert (group["ranked"], group["pairs"]) == (False, [])
    assert sorted(row["rating"]["overall"]["level"] for row in group["rows"]) == ["BS", "DSBS"]
    said = own_process("compare", folder=tmp_path, PYTHONPATH=str(installed)).stdout
    assert "The method outsider provides no resamples for comparing services" in said
    without = own_process("compare", folder=tmp_path)
    assert without.returncode == 0, without.stderr
    assert "cannot be loaded" in without.stdout
