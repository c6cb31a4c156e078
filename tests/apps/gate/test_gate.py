"""The gate as builds meet it: exit codes, files for their viewers, and tests that it decides."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import click
import jsonschema
import numpy as np
import pytest
import tomli_w
from benchmarks.gate import exits
from click.testing import CliRunner
from pydantic import TypeAdapter

from tests.reports import schemas
from trustgauge.apps.gate.checks import GateOptions, checks, exit_of_checks
from trustgauge.apps.gate.outputs import markdown
from trustgauge.apps.gate.verb import gate_verb
from trustgauge.apps.importers.importer import TABLE, ImportOptions, import_file
from trustgauge.cli.main import group
from trustgauge.errors import PlanError
from trustgauge.plan import load_plan
from trustgauge.reports.comparison_model import PairedDocument, paired_schema
from trustgauge.run import run
from trustgauge.run.options import RunOptions

pytest_plugins = ("pytester",)
_TODAY = date(2026, 1, 1)
BOT = {
    "use": "anchor",
    "behaviour": "shift",
    "from_value": "She",
    "to_value": "He",
}


def table(folder: Path, name: str, values: Sequence[tuple[str, object]]) -> str:
    """A folder of imported results: items and their values."""
    cells = "".join(f"{item},{'' if value is None else value}\n" for item, value in values)
    (folder / f"{name}.csv").write_text(f"item,value\n{cells}", "utf-8")
    import_file(TABLE, "csv", folder / f"{name}.csv", folder / name, ImportOptions())
    return str(folder / name)


def suite(folder: Path, name: str, rate: float, seed: int = 1, items: int = 200) -> str:
    passed = np.random.default_rng(seed).random(items) < rate
    return table(folder, name, [(f"q{n}", int(one)) for n, one in enumerate(passed)])


def well_formed(command: list[str]) -> None:
    """The document has the keys of its published form, and no other."""
    document = json.loads(CliRunner().invoke(group, command, catch_exceptions=False).output)
    jsonschema.validate(document, paired_schema())
    assert TypeAdapter(PairedDocument).validate_python(document) == document


def gate(*arguments: str) -> tuple[int, str]:
    """Exit code and stdout of the verb."""
    done = CliRunner().invoke(group, ["gate", *arguments], standalone_mode=False, catch_exceptions=False)
    return done.return_value.code, done.output


def test_a_regression_fails_and_its_rows_are_told(tmp_path: Path) -> None:
    before, after = suite(tmp_path, "a", 0.9), suite(tmp_path, "b", 0.6, 2)
    files = [str(tmp_path / name) for name in ("g.xml", "g.sarif", "g.md")]
    code, told = gate(
        after, "--against", before, "--junit", files[0], "--sarif", files[1], "--summary", files[2]
    )
    assert code == 10
    well_formed(["compare", before, after, "--paired", "--as", "json"])
    assert "\nfail     regression: score: Worse by " in told
    schemas.is_junit(Path(files[0]).read_bytes())
    schemas.is_sarif(Path(files[1]).read_bytes())
    (cases,) = ElementTree.parse(files[0]).getroot()
    assert (cases.get("failures"), cases.get("skipped")) == ("1", "0")
    result = json.loads(Path(files[1]).read_text("utf-8"))["runs"][0]["results"][0]
    assert (result["kind"], result["level"]) == ("fail", "error")
    assert "### trustgauge gate: failed" in Path(files[2]).read_text("utf-8")
    assert "1 → 0" in Path(files[2]).read_text("utf-8")


def test_the_same_passes_and_three_items_cannot_tell(tmp_path: Path) -> None:
    before = suite(tmp_path, "a", 0.9)
    assert gate(suite(tmp_path, "b", 0.9), "--against", before)[0] == 0
    three = [suite(tmp_path, name, 0.9, items=3) for name in ("c", "d")]
    file = tmp_path / "g.xml"
    other = tmp_path / "g.sarif"
    code, told = gate(three[1], "--against", three[0], "--junit", str(file), "--sarif", str(other), "--json")
    assert code == 5
    schemas.is_junit(file.read_bytes())
    assert schemas.is_sarif(other.read_bytes())["runs"][0]["results"][0]["kind"] == "open"
    assert json.loads(told[told.index("{") :])["checks"][0]["outcome"] == "unsettled"
    skipped = next(ElementTree.parse(file).getroot().iter("skipped"))
    assert "more clusters of items" in str(skipped.get("message"))


def test_a_check_that_cannot_tell_hides_no_failure(tmp_path: Path) -> None:
    """Builds that let "cannot tell" pass would pass a regression that is found."""
    before, after = suite(tmp_path, "a", 0.9), suite(tmp_path, "b", 0.6, 2)
    code, told = gate(after, "--against", before, "--at-least", "score=0.6", "--json")
    checks = json.loads(told[told.index("{") :])
    assert {one["outcome"] for one in checks["checks"]} == {"failed", "unsettled"}
    assert code == 10
    assert "gate failed: regression: score" in checks["why"]
    assert checks["why"].endswith("(1 more cannot tell)")


def test_what_is_missing_is_not_passed(tmp_path: Path) -> None:
    before = suite(tmp_path, "a", 0.9)
    passed = np.random.default_rng(1).random(200) < 0.9
    holes = table(tmp_path, "b", [(f"q{n}", None if n < 50 else int(one)) for n, one in enumerate(passed)])
    assert gate(holes, "--against", before)[0] == 4
    few = table(tmp_path, "c", [(f"q{n}", None if n < 2 else int(one)) for n, one in enumerate(passed)])
    assert gate(few, "--against", before)[0] == 0


def runs(folder: Path, name: str, values: Any, lost: Any = ()) -> str:
    """Imported results of 200 items that were each asked twice, some values lost."""
    rows = [(f"q{item}", None if (item, run) in lost else int(values[item, run])) for item, run in PLACES]
    return table(folder, name, rows)


PLACES = [(item, run) for item in range(200) for run in range(2)]


def test_a_lost_run_beside_one_that_came_hides_no_regression(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    good, bad = rng.random((200, 2)) < 0.67, rng.random((200, 2)) < 0.5
    before = runs(tmp_path, "a", good)
    assert gate(runs(tmp_path, "b", bad), "--against", before)[0] == 10
    failed = {(item, run) for item, run in PLACES if not bad[item, run] and bad[item, 1 - run]}
    holes = runs(tmp_path, "c", bad, failed)
    code, told = gate(holes, "--against", before)
    assert code == 4
    assert f"{len(failed)} values are missing (0 of the baseline, {len(failed)} of the other)" in told
    code, told = gate(holes, "--at-least", "score=0.55")
    assert code == 4
    assert f"{len(failed)} of 400 values are missing" in told
    assert "Add items" not in told


def test_items_that_the_new_results_leave_out_count_as_missing(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    good, bad = rng.random(200) < 0.9, rng.random(200) < 0.7
    before = table(tmp_path, "a", [(f"q{item}", int(one)) for item, one in enumerate(good)])
    there = [(f"q{item}", int(one)) for item, one in enumerate(bad) if one]
    code, told = gate(table(tmp_path, "b", there), "--against", before)
    assert code == 4
    assert f"{200 - len(there)} items of the baseline are not in the other" in told
    more = [(f"q{item}", int(one)) for item, one in enumerate(good)] + [("new", 1)]
    code, told = gate(table(tmp_path, "c", more), "--against", before)
    assert code == 0
    assert "1 items are new" in told


@pytest.mark.parametrize(("limit", "code"), [("0.8", 0), ("0.9", 5), ("0.97", 10)])
def test_a_limit_passes_or_fails_only_outside_the_interval(limit: str, code: int, tmp_path: Path) -> None:
    assert gate(suite(tmp_path, "a", 0.9), "--at-least", f"score={limit}")[0] == code


def test_a_gate_that_asks_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="nothing to check"):
        checks(suite(tmp_path, "a", 0.9), tmp_path, GateOptions(), _TODAY)
    with pytest.raises(PlanError, match="belong to ratings"):
        checks(str(tmp_path / "a"), tmp_path, GateOptions(fail_on=["worst"]), _TODAY)


def two_step(share: float, seed: int = 1) -> dict[str, Any]:
    experiment = {"method": "two-step", "services": ["bot"], "attribute": "gender", "texts": 60}
    return {
        "name": "x",
        "seed": seed,
        "services": {"bot": {**BOT, "share": share}},
        "experiments": [experiment],
    }


def rated(ratings: Path, share: float, seed: int = 1) -> str:
    plan = load_plan(two_step(share, seed))
    return str(run.rate(plan, RunOptions(ratings=ratings)).document["run"]["id"])


def edit(run: Path, change: Callable[[Any], object]) -> None:
    """Change the document of a run by hand."""
    file = run / "rating.json"
    document = json.loads(file.read_text("utf-8"))
    change(document)
    file.write_text(json.dumps(document), "utf-8")


def test_the_newest_run_of_a_plan_is_meant_by_the_plan(tmp_path: Path) -> None:
    for name, share in (("mild", 0.1), ("strong", 0.9)):
        (tmp_path / f"{name}.toml").write_text(tomli_w.dumps(two_step(share)), "utf-8")
    asked = ("--ratings", str(tmp_path), "--fail-on", "BS")
    with pytest.raises(PlanError, match="no run of this plan"):
        gate(str(tmp_path / "strong.toml"), *asked)
    rated(tmp_path, 0.9)
    edit(tmp_path / rated(tmp_path, 0.1), lambda document: document["run"]["hashes"].pop("plan"))
    assert gate(*asked)[0] != 10
    assert gate(str(tmp_path / "strong.toml"), *asked)[0] == 10


@pytest.mark.parametrize(
    "asked", [("--fail-on", "BS"), ("--fail-on", "two-step:BS"), ("--only", "bot", "--need-certainty", "0.9")]
)
def test_a_void_run_is_told_as_void_whatever_the_gate_names(asked: tuple[str, ...], tmp_path: Path) -> None:
    void = rated(tmp_path, 0.9)
    edit(tmp_path / void, lambda document: document["run"].update(state="void"))
    edit(tmp_path / void, lambda document: document["ratings"].clear())
    code, told = gate(void, "--ratings", str(tmp_path), *asked)
    assert code not in (0, 2)
    assert "instrument is at fault" in told


def test_what_would_not_be_checked_is_refused(tmp_path: Path) -> None:
    mild, found = rated(tmp_path, 0.1), suite(tmp_path, "a", 0.9)
    asked = (mild, "--ratings", str(tmp_path), "--fail-on", "BS")
    for more, said in (
        (("--fail-on", "trsut:H"), 'no method in the plan "trsut"'),
        (("--fail-on", "bS"), 'no level "bS"'),
        (("--need-certainty", "trust:0.9"), 'no method "trust"'),
        (("--only", "bot", "--only", "bto"), 'no service "bto"'),
    ):
        with pytest.raises(PlanError, match=said):
            gate(*asked, *more)
    with pytest.raises(PlanError, match='no metric "scoer"'):
        gate(found, "--at-least", "score=0.1", "--only", "scoer")
    for again in (("--at-least", "score=0.95"), ("--need-certainty", "0.9", "--need-certainty", "0.5")):
        with pytest.raises(click.BadParameter, match="there is one already"):
            gate(found, "--at-least", "score=0.1", *again)


def test_a_rating_of_ones_own_is_held_against_its_baseline_and_a_level(tmp_path: Path) -> None:
    mild, strong, other = rated(tmp_path, 0.3), rated(tmp_path, 0.9), rated(tmp_path, 0.3, 2)
    asked = ("--ratings", str(tmp_path))
    code, told = gate(strong, "--against", mild, *asked)
    assert code == 10
    assert "→ adds bias (BS). Worse: badness" in told
    assert gate(mild, "--against", strong, *asked)[0] == 0
    assert gate(mild, "--against", mild, *asked)[0] == 0
    assert gate(strong, "--fail-on", "worst", "--fail-on", "two-step:BS", *asked)[0] == 10
    assert gate(strong, "--fail-on", "two-step:none", "--need-certainty", "0.5", *asked)[0] == 0
    code, told = gate(other, "--against", mild, *asked)
    assert code == 5
    assert "asked different texts" in told
    well_formed(["compare", mild, strong, "--paired", "--as", "json", *asked])
    shown = CliRunner().invoke(group, ["compare", mild, strong, "--paired", *asked], catch_exceptions=False)
    assert shown.output.splitlines()[2].startswith("worse    bot, Gender bias:")
    assert "answers changed" in shown.output


def test_texts_of_others_are_inert_in_a_summary(tmp_path: Path) -> None:
    evil = "<script>|](x)\x1b[2J"
    rows = [(f"{evil}{n}", 1) for n in range(60)]
    before = table(tmp_path, "a", rows)
    after = table(tmp_path, "b", [(item, 0) for item, _ in rows])
    found = checks(after, tmp_path, GateOptions(against=before), _TODAY)
    assert exit_of_checks(found).code == 10
    told = markdown(after, found)
    assert "<script>" not in told
    assert "\x1b" not in told


def test_an_unchanged_system_passes_and_a_planned_regression_is_found() -> None:
    """The quick version of `benchmarks/gate.py`, which says how often."""
    same, worse, few = exits(20, 236, 0.0), exits(20, 236, -0.10), exits(5, 3, 0.0)
    assert same[10] == 0
    assert worse[10] >= 11
    assert few == {5: 5}


def test_tests_can_ask_a_gate(pytester: pytest.Pytester, tmp_path: Path) -> None:
    run = rated(tmp_path, 0.9)
    before, after, few = (
        suite(tmp_path, "a", 0.9),
        suite(tmp_path, "b", 0.6, 2),
        suite(tmp_path, "c", 0.9, items=3),
    )
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.rated({before!r}, against={before!r})
        def test_same(): ...

        @pytest.mark.rated({after!r}, against={before!r})
        def test_worse(): ...

        def test_few(trustgauge_gate):
            trustgauge_gate({few!r}, against={few!r})

        def test_level(trustgauge_gate):
            trustgauge_gate({run!r}, ratings={str(tmp_path)!r}, fail_on="BS", only="bot", need_certainty=0.9)
        """
    )
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-rs")
    done.assert_outcomes(passed=1, failed=2, skipped=1)
    done.stdout.fnmatch_lines(["*exit 10: gate failed: regression: score: Worse by*", "SKIPPED*cannot tell*"])


def test_what_builds_include_asks_the_gate_with_options_that_it_has() -> None:
    yaml: Any = pytest.importorskip("yaml")
    root = Path(__file__).parents[3]
    known = {name for one in gate_verb.params for name in one.opts}
    for name in ("action.yml", "templates/gate.gitlab-ci.yml", ".pre-commit-hooks.yaml"):
        text = (root / name).read_text("utf-8")
        assert "trustgauge gate" in text
        calls = re.findall(r"trustgauge gate .*(?:\\\n.*)*", text)
        assert {one for call in calls for one in re.findall(r"(?<=\s)--[a-z-]+", call)} <= known
    steps = yaml.safe_load((root / "action.yml").read_text("utf-8"))["runs"]["steps"]
    assert not any("${{" in step["run"] for step in steps)  # what a caller writes is no code
    assert yaml.safe_load((root / "templates/gate.gitlab-ci.yml").read_text("utf-8"))
    assert yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text("utf-8"))[0]["id"] == "trustgauge-gate"
