"""The gate as builds meet it: exit codes, files for their viewers, and tests that it decides."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from datetime import date
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
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
from trustgauge.errors import IntegrityError, PlanError
from trustgauge.plan import load_plan
from trustgauge.reports import paired
from trustgauge.reports.comparison_model import NO_DIFFERENCE, PairedDocument, paired_schema
from trustgauge.run import run
from trustgauge.run.options import RunOptions
from trustgauge.run.rating_verdict import RatingVerdict, compare_issues, decide

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
    code, found = gate(
        after, "--against", before, "--junit", files[0], "--sarif", files[1], "--summary", files[2]
    )
    assert code == 10
    well_formed(["compare", before, after, "--paired", "--as", "json"])
    assert "\nfail     regression: score: Worse by " in found
    schemas.is_junit(Path(files[0]).read_bytes())
    schemas.is_sarif(Path(files[1]).read_bytes())
    (cases,) = ElementTree.parse(files[0]).getroot()
    assert (cases.get("failures"), cases.get("skipped")) == ("1", "0")
    result = json.loads(Path(files[1]).read_text("utf-8"))["runs"][0]["results"][0]
    assert (result["kind"], result["level"]) == ("fail", "error")
    assert "### trustgauge gate: failed" in Path(files[2]).read_text("utf-8")
    assert "1 → 0" in Path(files[2]).read_text("utf-8")


def test_a_run_that_is_not_there_is_named(tmp_path: Path) -> None:
    known = suite(tmp_path, "a", 0.9)
    for target, baseline in ((known, "nothere"), ("nothere", known)):
        with pytest.raises(PlanError, match="nothere"):
            checks(target, tmp_path, GateOptions(against=baseline), _TODAY)


def test_what_is_not_rated_yet_says_so_and_a_baseline_says_its_kind(tmp_path: Path) -> None:
    talks = tmp_path / "talks"
    talks.mkdir()
    (talks / "trustgauge.toml").write_text("")  # as an imported chat log has it
    results = suite(tmp_path, "a", 0.9)
    for target, baseline in ((str(talks), "latest"), (results, str(talks))):
        with pytest.raises(PlanError, match=f"`trustgauge rate {talks}/trustgauge.toml` rates it"):
            checks(target, tmp_path, GateOptions(against=baseline), _TODAY)
    run = tmp_path / "TG-1"
    run.mkdir()
    (run / "manifest.json").write_text("{}")
    (run / "rating.json").write_text("{}")
    with pytest.raises(PlanError, match=r"Must be imported results, as .*a is\. Got a run: .*TG-1"):
        checks(results, tmp_path, GateOptions(against=str(run)), _TODAY)
    with pytest.raises(PlanError, match=r"Must be a run, as .*TG-1 is\. Got imported results: .*a"):
        checks(str(run), tmp_path, GateOptions(against=results), _TODAY)


def test_the_regression_that_is_ruled_out_is_named_on_the_scale_of_the_metric(tmp_path: Path) -> None:
    ranges = ImportOptions(ranges={"score": (0.0, 5.0)})
    stars = []
    for name, seed, more in (("a", 1, 0.0), ("b", 6, 0.2)):
        values = 4 * np.random.default_rng(seed).random(150) + more
        stars.append(table(tmp_path, name, [(f"q{n}", float(one)) for n, one in enumerate(values)]))
        import_file(TABLE, "csv", tmp_path / f"{name}.csv", tmp_path / name, ranges)
    (one,) = checks(stars[1], tmp_path, GateOptions(against=stars[0]), _TODAY)
    assert (one.outcome, one.sentence.partition(". ")[0]) == ("passed", "No regression of 0.5")


def test_a_metric_of_two_directions_is_refused(tmp_path: Path) -> None:
    """Else what became worse by one direction would be better by the other."""
    before, after = suite(tmp_path, "a", 0.6), suite(tmp_path, "b", 0.9)
    lower = ImportOptions(lower=["score"])
    import_file(TABLE, "csv", tmp_path / "b.csv", tmp_path / "b", lower)
    with pytest.raises(PlanError, match='the metric "score" has two directions'):
        checks(after, tmp_path, GateOptions(against=before), _TODAY)


def test_a_metric_of_two_scales_is_refused(tmp_path: Path) -> None:
    """Points of five against shares: everything would be better by three."""
    before = suite(tmp_path, "a", 0.6)
    after = table(tmp_path, "b", [(f"q{n}", 5 * (n % 3 > 0)) for n in range(200)])
    with pytest.raises(PlanError, match=r'the metric "score" has two scales.*0 to 1.*--range'):
        checks(after, tmp_path, GateOptions(against=before), _TODAY)
    ranges = ImportOptions(ranges={"score": (0.0, 5.0)})
    import_file(TABLE, "csv", tmp_path / "b.csv", tmp_path / "b", ranges)
    with pytest.raises(PlanError, match=r"two scales.*0 to 1.*0 to 5"):
        checks(after, tmp_path, GateOptions(against=before), _TODAY)
    import_file(TABLE, "csv", tmp_path / "b.csv", tmp_path / "b", ImportOptions(ranges={"score": (0.0, 4.0)}))
    with pytest.raises(PlanError, match=r"has values outside its scale.*0 to 4.*0 to 5"):
        checks(after, tmp_path, GateOptions(against=after), _TODAY)
    import_file(TABLE, "csv", tmp_path / "b.csv", tmp_path / "b", ranges)
    assert exit_of_checks(checks(after, tmp_path, GateOptions(against=after), _TODAY)).code == 0


def test_checks_of_several_profiles_have_names_of_their_own(tmp_path: Path) -> None:
    experiment = {
        "method": "trust",
        "services": ["bot"],
        "talks": 4,
        "issues": [{"issue": "leakage", "secrets": 22}],
        "resamples": 1000,
    }
    plan = load_plan({"services": {"bot": {"use": "trust-anchor"}}, "experiments": [experiment]})
    made = run.rate(plan, RunOptions(ratings=tmp_path)).document["run"]["id"]
    names = [one.name for one in checks(made, tmp_path, GateOptions(fail_on=("H",)), _TODAY)]
    assert len(names) == len(set(names)) > 1
    assert "level: better than H: bot, Chatbot trust, Privacy first" in names
    edit(tmp_path / made, lambda told: [one["service"].update(version="2.1") for one in told["ratings"]])
    later = checks(made, tmp_path, GateOptions(fail_on=("H",)), _TODAY)
    assert [one.name for one in later] == names, "a release is no other check"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ({}, {}, "same"),
        ({}, {"level": "H"}, "worse"),
        ({}, {"state": "not settled"}, "undetermined"),
        ({"state": "not settled"}, {}, "same"),
        ({"state": "not settled"}, {"state": "not settled"}, "undetermined"),
        ({"state": "not settled"}, {"level": "M"}, "undetermined"),
        ({}, {"score": 0.15, "low": 0.13, "high": 0.17}, "same"),
        ({}, {"score": 0.18, "low": 0.1, "high": 0.26}, "undetermined"),
        ({}, {"score": 0.25, "low": 0.23, "high": 0.27}, "worse"),
        ({}, {"low": None, "high": None}, "undetermined"),
    ],
)
def test_an_issue_is_no_worse_if_a_worse_level_and_a_higher_score_are_ruled_out(
    before: dict[str, Any], after: dict[str, Any], verdict: str
) -> None:
    issue: dict[str, Any] = {"key": "abuse", "title": "Abuse", "level": "L", "state": "rated", "score": 0.1}
    issue |= {"low": 0.08, "high": 0.12, "details": {"common": True}}

    def rating(facts: dict[str, Any], state: str = "rated") -> Any:
        left_out = {**issue, "key": "bias", "level": "L" if facts is before else "H"}
        overall = {"level": "M", "scale": [{"level": one} for one in "LMH"]}
        known = {"state": state, "overall": overall, "details": {"order": [["abuse"]]}}
        return {**known, "parts": [issue | facts, left_out]}

    compared = compare_issues(rating(before), rating(after), 0.1)
    assert compared is not None
    assert compared["verdict"] == verdict
    assert compare_issues(rating(before), rating(after, "not settled"), 0.1) is None


@pytest.mark.parametrize(("identical", "verdict"), [(20, "same"), (19, "undetermined"), (0, "undetermined")])
def test_other_words_that_are_read_alike_are_other_answers(identical: int, verdict: str) -> None:
    """A reader that cannot see plain hate reads a bot that took to it as before."""
    overall = {"level": "L", "scale": [{"level": one} for one in "LMH"], "certainty": {}}
    rating = {"state": "not settled", "overall": overall, "coverage": {"planned": 20}, "parts": []}
    readings = {"compared": 20, "unread": 0, "flipped": 0, "identical": identical, "directions": {}}
    one: Any = {"before": {"rating": rating}, "after": {"rating": rating}, "readings": readings}
    one |= {"verdict": "undetermined", "basis": "figure", "issues": None, "why": NO_DIFFERENCE}
    assert decide(one, same_scale=True, error=0.005).verdict == verdict
    if verdict == "undetermined":  # the insults of a bot whose baseline is open were not mentioned
        one["readings"] |= {"directions": {"wrong": 20}}
        assert decide(one, same_scale=True, error=0.005) == RatingVerdict("undetermined", "readings")
        sent_on = {"id": "TG-1", "reasons": [], "service": {"name": "bot"}, "method": {"name": "trust"}}
        one["before"]["rating"] = {**rating, **sent_on, "coverage": {"planned": 20, "failed": 0}}
        one["after"]["rating"] = {**rating, "state": "rated", "overall": {**overall, "level": "H"}}
        one["basis"] = "readings"
        said = paired.following(one, 0.005)
        assert "Without a baseline, a gate at the new level fails: --fail-on H." in said


def test_the_same_passes_and_three_items_cannot_tell(tmp_path: Path) -> None:
    before = suite(tmp_path, "a", 0.9)
    assert gate(suite(tmp_path, "b", 0.9), "--against", before)[0] == 0
    three = [suite(tmp_path, name, 0.9, items=3) for name in ("c", "d")]
    file = tmp_path / "g.xml"
    other = tmp_path / "g.sarif"
    code, result = gate(
        three[1], "--against", three[0], "--junit", str(file), "--sarif", str(other), "--json"
    )
    assert code == 5
    schemas.is_junit(file.read_bytes())
    assert schemas.is_sarif(other.read_bytes())["runs"][0]["results"][0]["kind"] == "open"
    assert json.loads(result[result.index("{") :])["checks"][0]["outcome"] == "unsettled"
    skipped = next(ElementTree.parse(file).getroot().iter("skipped"))
    assert "more clusters of items" in str(skipped.get("message"))


def test_a_settled_failure_is_not_hidden_by_an_open_check(tmp_path: Path) -> None:
    before, after = suite(tmp_path, "a", 0.9), suite(tmp_path, "b", 0.6, 2)
    summary = tmp_path / "g.md"
    code, result = gate(after, "--at-least", "score=0.6", "--against", before, "--summary", str(summary))
    assert code == 10
    assert result.index("\nfail ") < result.index("\nopen ")
    done = exit_of_checks(
        checks(after, tmp_path, GateOptions(against=before, at_least={"score": 0.6}), _TODAY)
    )
    assert done.why.startswith("gate failed: regression: score: Worse by ")
    assert done.why.endswith("; cannot tell: threshold: score")
    lines = summary.read_text("utf-8").splitlines()
    assert lines[0] == "### trustgauge gate: failed, 1 cannot tell"
    assert [line.split(" | ")[1] for line in lines if line.startswith("| ")][2:] == [
        "**fail**",
        "cannot tell",
    ]


def test_what_is_missing_is_not_passed(tmp_path: Path) -> None:
    before = suite(tmp_path, "a", 0.9)
    passed = np.random.default_rng(1).random(200) < 0.9
    holes = table(tmp_path, "b", [(f"q{n}", None if n < 50 else int(one)) for n, one in enumerate(passed)])
    assert gate(holes, "--against", before)[0] == 4
    few = table(tmp_path, "c", [(f"q{n}", None if n < 2 else int(one)) for n, one in enumerate(passed)])
    assert gate(few, "--against", before)[0] == 0


def repeated(folder: Path, name: str, values: Sequence[tuple[object, ...]]) -> str:
    """Imported results of items that were run several times."""
    rows = [(f"q{n}", one) for n, runs in enumerate(values) for one in runs]
    return table(folder, name, rows)


def twice(rate: float, seed: int) -> list[tuple[int, int]]:
    """200 items run twice."""
    passed = np.random.default_rng(seed).random((200, 2)) < rate
    return [(int(first), int(second)) for first, second in passed]


def test_missing_runs_of_an_item_are_not_passed(tmp_path: Path) -> None:
    before = repeated(tmp_path, "a", twice(0.8, 1))
    worse = twice(0.6, 2)
    assert gate(repeated(tmp_path, "c", worse), "--against", before)[0] == 10
    holes = [(None, 1) if sum(runs) == 1 else runs for runs in worse]
    lost = sum(sum(runs) == 1 for runs in worse)
    summary = tmp_path / "g.md"
    asked = ("--against", before, "--summary", str(summary))
    code, result = gate(repeated(tmp_path, "d", holes), *asked)
    said = f"{lost} of 400 new values are missing"
    assert code == 4
    assert said in result
    assert "next     Evaluate what is missing again." in result
    assert said in summary.read_text("utf-8")
    assert said in gate(str(tmp_path / "d"), *asked, "--json")[1]
    code, result = gate(str(tmp_path / "d"), "--at-least", "score=0.55")
    assert code == 4
    assert f"{lost} of 400 values are missing" in result
    assert "limit lies inside" not in result
    dropped = [(1,) if sum(runs) == 1 else runs for runs in worse]
    code, result = gate(repeated(tmp_path, "e", dropped), "--against", before)
    assert code == 4
    assert said in result
    well_formed(["compare", before, str(tmp_path / "d"), "--paired", "--as", "json"])


def test_items_that_the_new_one_leaves_out_are_missing(tmp_path: Path) -> None:
    before = suite(tmp_path, "a", 0.8)
    passed = [(f"q{n}", int(one)) for n, one in enumerate(np.random.default_rng(2).random(200) < 0.6)]
    assert gate(table(tmp_path, "b", passed), "--against", before)[0] == 10
    kept = [row for row in passed if row[1] or int(row[0][1:]) % 3]
    lost = 200 - len(kept)
    code, result = gate(table(tmp_path, "c", kept), "--against", before)
    assert code == 4
    assert f"{lost} of 200 new values are missing" in result
    first = ", ".join(name for name, _ in [row for row in passed if row not in kept][:3])
    named = f"{lost} items of the baseline are not in the new one, so their values are missing: {first}"
    assert named in result.replace('"', "")
    assert gate(table(tmp_path, "d", passed[:70]), "--against", before)[0] == 4
    code, result = gate(
        str(tmp_path / "a"), "--against", table(tmp_path, "e", [(f"q{n}", 1) for n in range(198)])
    )
    assert "2 new items are not in the baseline: " in result
    assert "missing" not in result


def test_a_metric_that_the_new_one_leaves_out_is_missing(tmp_path: Path) -> None:
    rows = "".join(f"q{n},{metric},1\n" for n in range(60) for metric in ("right", "safe"))
    for name, cells in (
        ("a", rows),
        ("b", rows.replace("safe,1", "safe,")),
        ("c", rows.replace("safe", "kind")),
    ):
        (tmp_path / f"{name}.csv").write_text(f"item,metric,value\n{cells}", "utf-8")
        import_file(TABLE, "csv", tmp_path / f"{name}.csv", tmp_path / name, ImportOptions())
    for name in ("b", "c"):
        code, result = gate(str(tmp_path / name), "--against", str(tmp_path / "a"))
        assert code == 4
        assert "regression: safe: No item has a value on both sides." in result
    asked = ("--against", str(tmp_path / "a"), "--only", "right")
    assert gate(str(tmp_path / "b"), *asked)[0] == 0


def test_missing_values_that_cannot_matter_leave_the_outcome(tmp_path: Path) -> None:
    before = repeated(tmp_path, "a", twice(0.9, 1))
    bad = [(None, 0) if n < 30 else runs for n, runs in enumerate(twice(0.2, 2))]
    code, result = gate(repeated(tmp_path, "b", bad), "--against", before, "--at-least", "score=0.8")
    assert code == 10
    assert result.count("30 of 400") >= 2
    once = repeated(tmp_path, "c", [(first,) for first, _ in twice(0.9, 1)])
    assert "missing" not in gate(once, "--against", before)[1]  # run once by design
    few = [(None, 1) if n < 4 else runs for n, runs in enumerate(twice(0.9, 1))]
    code, result = gate(repeated(tmp_path, "e", few), "--against", before)
    assert code == 0
    assert "4 of 400 new values are missing" in result


@pytest.mark.parametrize(("limit", "code"), [("0.8", 0), ("0.9", 5), ("0.97", 10)])
def test_a_limit_passes_or_fails_only_outside_the_interval(limit: str, code: int, tmp_path: Path) -> None:
    assert gate(suite(tmp_path, "a", 0.9), "--at-least", f"score={limit}")[0] == code


def test_one_item_is_one_item(tmp_path: Path) -> None:
    before, after = suite(tmp_path, "a", 1.0, items=1), suite(tmp_path, "b", 1.0, items=1)
    assert " asked; 1 item.\n" in gate(after, "--at-least", "score=0.1")[1]
    shown = CliRunner().invoke(group, ["compare", before, after, "--paired"], catch_exceptions=False).output
    assert "\nopen     score: Cannot tell" in shown
    assert "0 of 1 item worse" in shown
    assert "1 item in 1 cluster, higher is better" in shown
    nine = suite(tmp_path, "c", 1.0, items=9)
    assert "At least 1 more cluster of items" in gate(nine, "--at-least", "score=0.1")[1]


def test_few_items_are_told_to_be_few_whatever_the_limit(tmp_path: Path) -> None:
    code, result = gate(suite(tmp_path, "a", 1.0, items=3), "--at-least", "score=0.1")
    assert code == 5
    assert "next     At least 7 more clusters of items" in result


def test_what_is_next_follows_from_the_reason(tmp_path: Path) -> None:
    run = rated(tmp_path, 0.9)

    def line_of(state: str, code: str, more_texts: int | None = 400, **facts: object) -> str:
        reason = {"code": code, "facts": facts, "evidence": []}
        part: dict[str, Any] = {"state": state, "reasons": [], "more_texts": more_texts}
        edit(tmp_path / run, lambda document: document["ratings"][0].update(state=state, reasons=[reason]))
        edit(tmp_path / run, lambda document: document["ratings"][0]["parts"][0].update(part))
        said = gate(run, "--fail-on", "BS", "--ratings", str(tmp_path))[1]
        return str(re.findall("^next +(.*)$", said, re.MULTILINE)[0])

    assert "--fresh" in line_of("incomplete", "same-answer", answer="Hello.", questions=60)
    assert line_of("incomplete", "not-finished") == "Run the same command to continue."
    assert line_of("incomplete", "unheard-of") == f"Do what its reasons ask for: trustgauge show {run}"
    assert line_of("not settled", "unread-matters", to_read=83, option="--unread") == (
        f"Have people label the answers that could not be interpreted: trustgauge audit {run} --unread"
    )
    assert line_of("not settled", "unread-matters", to_read=83).startswith("Do what its reasons ask for")
    assert line_of("not settled", "instrument-not-measured", audit=300) == (
        f"Have people label its answers: trustgauge audit {run}"
    )
    assert "no longer changes" in line_of("not settled", "changed-during-the-run", p=0.001)
    assert line_of("not settled", "not-settled").startswith("Rate it with more texts")
    assert line_of("not settled", "not-settled", None).startswith("Decide by the distance from balanced")


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


def of_behaviour(behaviour: str, texts: int = 150) -> dict[str, Any]:
    """A plan of one control with known behaviour."""
    plan = two_step(0.0)
    plan["services"]["bot"] = {"use": "anchor", "behaviour": behaviour}
    plan["services"]["bot"] |= {"value": "He"} if behaviour == "all" else {}
    plan["experiments"][0]["texts"] = texts
    return plan


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder of runs by one plan, and the run of each behaviour."""
    folder = tmp_path_factory.mktemp("known")
    return folder, {
        name: run.rate(load_plan(of_behaviour(name)), RunOptions(ratings=folder)).folder.name
        for name in ("coin", "identity", "swap", "all")
    }


@cache
def runs_before() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


@cache
def run_before(share: float, seed: int) -> Path:
    plan = load_plan(two_step(share, seed))
    return run.rate(plan, RunOptions(ratings=Path(runs_before().name))).folder


def rated(ratings: Path, share: float, seed: int = 1) -> str:
    """The run of a plan, made once in each process; whichever test asks first is not when it was rated."""
    found = run_before(share, seed)
    if not (ratings / found.name).exists():
        shutil.copytree(found, ratings / found.name)
    return found.name


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
    _, mild = (
        run.rate(load_plan(two_step(share)), RunOptions(ratings=tmp_path)).folder for share in (0.9, 0.1)
    )
    edit(mild, lambda document: document["run"]["hashes"].pop("plan"))
    assert gate(*asked)[0] != 10
    assert gate(str(tmp_path / "strong.toml"), *asked)[0] == 10


def test_a_plan_whose_runs_had_other_options_names_them(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(tomli_w.dumps(two_step(0.9)), "utf-8")
    other = rated(tmp_path, 0.9, seed=7)
    asking: list[list[str]] = [["gate", "--fail-on", "BS"], ["verify"], ["show"]]
    for command in asking:
        with pytest.raises(PlanError, match="rated with other options") as caught:
            CliRunner().invoke(
                group,
                [*command, str(file), "--ratings", str(tmp_path)],
                standalone_mode=False,
                catch_exceptions=False,
            )
        assert f"{other} (seed 7)" in caught.value.faults[0].must
    run = rated(tmp_path, 0.9)
    for verb in ("verify", "show"):
        asked = [verb, str(file), "--ratings", str(tmp_path)]
        result = CliRunner().invoke(group, asked, standalone_mode=False, catch_exceptions=False).output
        assert result.startswith("ok") or f"trustgauge verify {run}" in result


def test_a_gate_at_the_best_level_is_refused(tmp_path: Path) -> None:
    run = rated(tmp_path, 0.9)
    for level, must in (("UCS", "one of: DSBS, BS, worst"), ("two-step:UCS", "two-step:DSBS")):
        with pytest.raises(
            PlanError, match="best level of two-step, so the gate would always fail"
        ) as caught:
            gate(run, "--fail-on", level, "--ratings", str(tmp_path))
        assert must in caught.value.faults[0].must


@pytest.mark.parametrize(
    "asked", [("--fail-on", "BS"), ("--fail-on", "two-step:BS"), ("--only", "bot", "--need-certainty", "0.9")]
)
def test_a_void_run_is_told_as_void_whatever_the_gate_names(asked: tuple[str, ...], tmp_path: Path) -> None:
    void = rated(tmp_path, 0.9)
    edit(tmp_path / void, lambda document: document["run"].update(state="void"))
    edit(tmp_path / void, lambda document: document["ratings"].clear())
    code, result = gate(void, "--ratings", str(tmp_path), *asked)
    assert code not in (0, 2)
    assert "instrument is at fault" in result


def test_what_would_not_be_checked_is_refused(tmp_path: Path) -> None:
    mild, found = rated(tmp_path, 0.1), suite(tmp_path, "a", 0.9)
    asked = (mild, "--ratings", str(tmp_path), "--fail-on", "BS")
    for more, said in (
        (("--fail-on", "trsut:H"), 'no method in the plan "trsut"'),
        (("--fail-on", "DSB"), 'no level "DSB".*Did you mean "DSBS"'),
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
    summary = tmp_path / "summary.md"
    code, result = gate(strong, "--against", mild, *asked, "--summary", str(summary))
    assert code == 10
    assert re.search(
        r"→ adds bias \(BS\)\. Worse: off balance \d+ points \(\d+ to \d+\) at 95 %, below 0", result
    )
    rows = summary.read_text("utf-8").partition("Rows behind a failure:")[2].strip().splitlines()
    assert rows
    for sent, before, now in (re.split(r"(?<=\.): | → ", row.removeprefix("- ")) for row in rows):
        assert (before, now != before) == (sent, True), "right before, and wrong now"
    assert gate(mild, "--against", strong, *asked)[0] == 0
    assert gate(mild, "--against", mild, *asked)[0] == 0
    assert gate(strong, "--fail-on", "worst", "--fail-on", "two-step:BS", *asked)[0] == 10
    assert gate(strong, "--fail-on", "two-step:none", "--need-certainty", "0.5", *asked)[0] == 0
    code, result = gate(other, "--against", mild, *asked)
    assert code == 5
    assert "asked different texts" in result
    forged = shutil.copytree(tmp_path / strong, tmp_path / "forged" / strong)
    edit(forged, lambda document: document["ratings"][0]["overall"].update(level="UCS", ordinal=3))
    edit(forged, lambda document: document["ratings"][0]["overall"].update(words="compensates"))
    with pytest.raises(IntegrityError, match=r"overall.level: rated UCS, which its certainty speaks against"):
        gate(strong, "--fail-on", "BS", "--ratings", str(forged.parent))
    better = shutil.copytree(tmp_path / strong, tmp_path / "better" / strong)
    edit(better, lambda document: document["ratings"][0]["overall"].update(score=0.001))
    with pytest.raises(IntegrityError, match=r"overall.score: 0.001 is outside its interval, 0"):
        gate(strong, "--fail-on", "BS", "--ratings", str(better.parent))
    differs = CliRunner().invoke(group, ["verify", strong, "--ratings", str(forged.parent)])
    assert "ratings[0].overall.level: claimed UCS, derived BS" in differs.output
    well_formed(["compare", mild, strong, "--paired", "--as", "json", *asked])
    shown = CliRunner().invoke(group, ["compare", mild, strong, "--paired", *asked], catch_exceptions=False)
    assert shown.output.splitlines()[2].startswith("worse    bot, Gender bias:")
    assert "readings changed" in shown.output


def test_a_settled_worse_level_fails_though_the_compared_figure_is_the_same(
    known: tuple[Path, dict[str, str]],
) -> None:
    """UCS and DSBS are alike on balanced input, which the figure measures."""
    folder, runs = known
    asked = ("--ratings", str(folder))
    code, result = gate(runs["identity"], "--against", runs["coin"], *asked)
    assert code == 10
    assert "compensates (UCS) → follows (DSBS). Worse: both levels are settled. Compared: off" in result
    code, result = gate(runs["coin"], "--against", runs["identity"], *asked)
    assert code == 0
    assert "follows (DSBS) → compensates (UCS). Better: both levels are settled. Compared: off" in result
    well_formed(["compare", runs["coin"], runs["identity"], "--paired", "--as", "json", *asked])


@pytest.mark.parametrize("open_one", ["coin", "identity"])
def test_a_worse_level_that_is_not_settled_cannot_be_told(
    open_one: str, known: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    folder, runs = known
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    edit(tmp_path / runs[open_one], lambda told: told["ratings"][0].update(state="not settled"))
    code, result = gate(runs["identity"], "--against", runs["coin"], "--ratings", str(tmp_path))
    assert code == 5
    assert "Cannot tell: the level may have become worse. Compared: off balance" in result
    assert "next     Rate both with more texts." in result


def test_a_level_that_was_settled_and_may_have_become_worse_cannot_be_told(
    known: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    folder, runs = known
    for share, code in ((0.4, 5), (0.01, 0)):
        shutil.copytree(folder / runs["identity"], tmp_path / f"{code}" / runs["identity"])
        later = shutil.copytree(folder / runs["identity"], tmp_path / f"{code}" / f"{runs['identity']}-later")

        def slip(told: Any, share: float = share) -> None:
            told["ratings"][0]["state"] = "not settled"
            told["ratings"][0]["overall"]["certainty"] = {"UCS": 0.0, "DSBS": 1 - share, "BS": share}

        edit(later, slip)
        asked = ("--against", runs["identity"], "--ratings", str(tmp_path / f"{code}"))
        assert gate(later.name, *asked)[0] == code


def test_readings_that_go_wrong_are_not_called_the_same(known: tuple[Path, dict[str, str]]) -> None:
    """Who swaps he and she everywhere follows the input as much as who changes nothing."""
    folder, runs = known
    asked = ("--ratings", str(folder))
    code, result = gate(runs["swap"], "--against", runs["identity"], *asked)
    assert code == 5
    assert "Cannot tell: clearly more readings go wrong. Compared: off balance 0 points" in result
    assert "450 of 450 readings changed: 450 go wrong." in result
    assert "next     Look at what changed" in result
    code, result = gate(runs["identity"], "--against", runs["swap"], *asked)
    assert code == 0
    assert "The same figure, though most readings changed: off balance 0 points" in result
    code, result = gate(runs["identity"], "--against", runs["identity"], *asked)
    assert code == 0
    assert "Same: off balance 0 points" in result
    code, result = gate(runs["swap"], "--against", runs["all"], *asked)
    assert code == 5
    assert "adds bias (BS) → follows (DSBS). Neither better nor worse, but another kind: each" in result
    assert gate(runs["identity"], "--against", runs["all"], *asked)[0] == 0


def test_levels_of_other_settings_do_not_mean_the_same(
    known: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    """And texts of another seed do not matter to settled levels."""
    folder, runs = known
    shutil.copytree(folder / runs["coin"], tmp_path / runs["coin"])
    wider, other = of_behaviour("identity"), {**of_behaviour("identity"), "seed": 2}
    wider["experiments"][0]["margin"] = 0.11
    codes = [
        gate(made.folder.name, "--against", runs["coin"], "--ratings", str(tmp_path))[0]
        for made in (run.rate(load_plan(one), RunOptions(ratings=tmp_path)) for one in (wider, other))
    ]
    assert codes == [5, 10]


def test_settled_levels_decide_where_nothing_can_be_subtracted(tmp_path: Path) -> None:
    issues = [{"issue": "leakage", "secrets": 22}]
    experiment = {"method": "trust", "services": ["bot"], "talks": 4, "issues": issues, "resamples": 1000}
    plan: dict[str, Any] = {"services": {"bot": {"use": "trust-anchor"}}, "experiments": [experiment]}
    safe = run.rate(load_plan(plan), RunOptions(ratings=tmp_path)).folder.name
    plan["services"]["bot"]["behaviour"] = "leaker"
    leaks = run.rate(load_plan(plan), RunOptions(ratings=tmp_path)).folder.name
    asked = ("--ratings", str(tmp_path))
    code, result = gate(leaks, "--against", safe, *asked)
    assert code == 10
    assert (
        "Low risk (privacy-first) → High risk (privacy-first). Worse: both levels are settled. The" in result
    )
    assert re.search(
        r"subtracted: its method gives no difference of two services\. [\d,]+ of [\d,]+ read", result
    )
    assert gate(safe, "--against", leaks, *asked)[0] == 0
    code, result = gate(safe, "--against", safe, *asked)
    assert (code, "Low risk (privacy-first). The same: no answer changed." in result) == (0, True)
    plan["services"]["bot"]["behaviour"], plan["seed"] = "clean", 2
    other = run.rate(load_plan(plan), RunOptions(ratings=tmp_path)).folder.name
    code, result = gate(other, "--against", safe, "--margin", "0.05", *asked)
    assert code == 0
    assert "Not worse: no worse level is possible at 95 %, nor a score more than 5 points high" in result


def test_a_plan_as_baseline_means_its_newest_run_but_the_gated_one(tmp_path: Path) -> None:
    files = {}
    for share in (0.1, 0.9):
        files[share] = tmp_path / f"{share}.toml"
        files[share].write_text(tomli_w.dumps(two_step(share)), "utf-8")
    mild, strong = rated(tmp_path, 0.1), rated(tmp_path, 0.9)
    asked = ("--ratings", str(tmp_path))
    for target in (strong, str(files[0.9])):
        code, result = gate(target, "--against", str(files[0.1]), *asked)
        assert code == 10
        assert "→ adds bias (BS). Worse: off balance" in result
    with pytest.raises(PlanError, match=f"no run of this plan but {mild}, which is gated"):
        gate(mild, "--against", str(files[0.1]), *asked)
    again = shutil.copytree(tmp_path / mild, tmp_path / f"{mild}-again")
    edit(again, lambda told: told["run"].update(id=again.name, started="2027-01-01T00:00:00Z"))
    for target in (mild, again.name):
        assert gate(target, "--against", str(files[0.1]), *asked)[0] == 0


def test_texts_of_others_are_inert_in_a_summary(tmp_path: Path) -> None:
    evil = "<script>|](x)\x1b[2J"
    rows = [(f"{evil}{n}", 1) for n in range(60)]
    before = table(tmp_path, "a", rows)
    after = table(tmp_path, "b", [(item, 0) for item, _ in rows])
    found = checks(after, tmp_path, GateOptions(against=before), _TODAY)
    assert exit_of_checks(found).code == 10
    result = markdown(after, found)
    assert "<script>" not in result
    assert "\x1b" not in result


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


WRONG = [
    ("fail_onn='BS'", 'trustgauge gate: no argument "fail_onn". Must be one of: *Did you mean "fail_on"?'),
    ("'other'", "trustgauge gate: more than one target. Must be one. Got *, 'other'. *against=*"),
    ("need_certainty='high'", "need_certainty: wrong value. Must be a valid number. Got 'high'."),
    ("fail_on='BS', margin=2", "margin: wrong value. Must be less than or equal to 1. Got 2."),
    ("fail_on='X'", '*no level "X". Must be one of: UCS (compensates), *'),
]


@pytest.mark.parametrize("shape", ["marker", "fixture"])
def test_a_test_that_asks_wrongly_fails_in_one_paragraph(
    shape: str, pytester: pytest.Pytester, tmp_path: Path
) -> None:
    run, lines = rated(tmp_path, 0.1), ["import pytest"]
    for number, (arguments, _) in enumerate(WRONG):
        asked = f"{run!r}, {arguments}, ratings={str(tmp_path)!r}"
        lines += (
            [f"@pytest.mark.rated({asked})", f"def test_{number}(): ..."]
            if shape == "marker"
            else [f"def test_{number}(trustgauge_gate):", f"    trustgauge_gate({asked})"]
        )
    pytester.makepyfile("\n".join(lines))
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    done.assert_outcomes(failed=len(WRONG))
    told = done.stdout.str().partition(" FAILURES ")[2].partition("\n=")[0].splitlines()[1:]
    assert len(told) == 2 * len(WRONG), "of each a line with its name, and the message"
    for number, (_, said) in enumerate(WRONG):
        assert f" test_{number} " in told[2 * number]
        assert fnmatchcase(told[2 * number + 1], f"exit 2: {said}")


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
