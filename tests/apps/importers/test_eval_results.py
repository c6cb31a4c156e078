"""Results of other tools: what failed is missing where it belongs; systems and directions are the file's."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.apps.importers.test_importers import imported, rows
from tests.cli.test_commands import trustgauge
from trustgauge.apps.importers.importer import ImportOptions
from trustgauge.errors import PlanError

Json = Mapping[str, Any]


def missing(folder: Path) -> dict[str, tuple[int, int]]:
    """Metric -> values and missing ones among them."""
    known = json.loads((folder / "import.json").read_text("utf-8"))["metrics"]
    return {name: (facts["values"], facts["missing"]) for name, facts in known.items()}


def inspect_log(samples: Sequence[Json | None], scorer: Json | None = None) -> dict[str, Any]:
    """A log of a scorer `multi` that gave these scores, None for a sample that failed."""
    listed = [
        {"id": number, "epoch": 1, "input": f"q{number}", "scores": scores}
        for number, scores in enumerate(samples)
    ]
    entry = {"task": "t", "model": "m", "scorers": [{"name": "multi", **(scorer or {})}]}
    return {"status": "success", "eval": entry, "samples": listed}


def of_inspect(log: Json, folder: Path) -> dict[str, tuple[int, int]]:
    (folder / "log.json").write_text(json.dumps(log), "utf-8")
    imported("inspect", folder / "log.json", folder / "out")
    return missing(folder / "out")


GOOD = {"multi": {"value": {"safe": 1, "polite": 1}}}


@pytest.mark.parametrize("broken", [{}, None, {"multi": {"value": None}}, {"multi": {"value": float("nan")}}])
def test_a_sample_that_failed_is_missing_from_each_key_of_its_scorer(
    broken: Json | None, tmp_path: Path
) -> None:
    # the first sample fails, so the keys are known only from later ones
    found = of_inspect(inspect_log([broken, *[GOOD] * 50, *[broken] * 49]), tmp_path)
    assert found == {"t/multi/safe": (100, 50), "t/multi/polite": (100, 50)}
    asked = trustgauge("gate", "out", "--at-least", "t/multi/safe=0.9", folder=tmp_path)
    assert asked.returncode == 4
    assert "50 of 100 values are missing" in asked.stdout


def test_a_zipped_log_has_the_same_missing_samples(tmp_path: Path) -> None:
    log = inspect_log([{}, GOOD])
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as packed:
        packed.writestr("header.json", json.dumps({"eval": log["eval"]}))
        for sample in log["samples"]:
            packed.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    imported("inspect", tmp_path / "log.eval", tmp_path / "out")
    assert missing(tmp_path / "out") == {"t/multi/safe": (2, 1), "t/multi/polite": (2, 1)}


def test_a_key_that_one_sample_lacks_is_missing_there(tmp_path: Path) -> None:
    found = of_inspect(inspect_log([GOOD, {"multi": {"value": {"safe": 0}}}]), tmp_path)
    assert found == {"t/multi/safe": (2, 0), "t/multi/polite": (2, 1)}


@pytest.mark.parametrize("listed", [False, True])
def test_keys_that_a_scorer_declares_are_known_without_any_score(listed: bool, tmp_path: Path) -> None:
    mean = [{"name": "inspect_ai/mean", "options": {}}]
    declared: Any = {"safe": mean, "kind": mean, "p*": mean}
    scorer = {"metrics": [*mean, declared] if listed else declared}
    found = of_inspect(inspect_log([{"other": {"value": 1}}, {}], scorer), tmp_path)
    assert found == {"t/multi/safe": (2, 2), "t/multi/kind": (2, 2), "t/other": (2, 1)}


def test_scorers_are_those_of_the_samples(tmp_path: Path) -> None:
    """Two scorers of one name are numbered in the samples, and a package is left out of a name."""
    scores = {"multi": {"value": 1}, "multi1": {"value": 0}}
    found = of_inspect(inspect_log([scores, {}], {"name": "package/multi"}), tmp_path)
    assert found == {"t/multi": (2, 1), "t/multi1": (2, 1)}


CODE = {"type": "python", "value": "file://grade.py"}


def promptfoo_row(
    number: int,
    named: Json | None,
    asserts: Sequence[Json],
    *,
    column: int = 0,
    components: Sequence[Any] = (),
) -> dict[str, Any]:
    """A test and the scores it has a name for; None if the provider failed."""
    failed = named is None
    variables = {"q": f"Hi {number}", "topic": "tone"}
    return {
        "provider": {"id": "openai:gpt", "label": ""},
        "prompt": {"raw": f"Hi {number}", "label": "{{q}}"},
        "promptIdx": column,
        "vars": variables,
        "testCase": {"vars": variables, "assert": list(asserts)},
        "success": not failed,
        "score": float(not failed),
        "namedScores": named or {},
        "gradingResult": None if failed else {"pass": True, "componentResults": list(components)},
        "error": "API error: 500" if failed else None,
        "failureReason": 2 if failed else 0,
    }


def of_promptfoo(tests: Sequence[Json], folder: Path) -> dict[str, tuple[int, int]]:
    (folder / "out.jsonl").write_text("\n".join(map(json.dumps, tests)), "utf-8")
    imported("promptfoo", folder / "out.jsonl", folder / "out")
    return missing(folder / "out")


def test_a_test_that_failed_is_missing_from_metrics_within_sets(tmp_path: Path) -> None:
    inner = {"type": "assert-set", "assert": [{"type": "contains", "value": "x", "metric": "kind"}]}
    outer = {"type": "assert-set", "metric": "all", "assert": [inner, {"type": "regex", "metric": "safe"}]}
    named = {"all": 1, "kind": 1, "safe": 1}
    tests = [promptfoo_row(number, None if number % 2 else named, [outer]) for number in range(4)]
    found = of_promptfoo(tests, tmp_path)
    assert found == dict.fromkeys(("pass", "score", "all", "kind", "safe"), (4, 2))


def test_a_metric_named_by_a_variable_is_missing_by_that_name(tmp_path: Path) -> None:
    asserts = [{"type": "contains", "value": "x", "metric": "{{ topic }} of {{unknown}}"}]
    tests = [
        promptfoo_row(number, None if number else {"tone of {{unknown}}": 1}, asserts) for number in (0, 1)
    ]
    assert of_promptfoo(tests, tmp_path) == dict.fromkeys(("pass", "score", "tone of {{unknown}}"), (2, 1))


def test_a_test_that_failed_is_missing_from_scores_that_code_named_elsewhere(tmp_path: Path) -> None:
    tests = [promptfoo_row(number, {"safe": 1} if number % 2 else None, [CODE]) for number in range(4)]
    tests.append(promptfoo_row(9, None, [{"type": "contains", "value": "x"}]))  # code of others
    found = of_promptfoo(tests, tmp_path)
    assert found == {"pass": (5, 3), "score": (5, 3), "safe": (4, 2)}


def test_code_is_known_by_itself_where_results_say_what_it_named(tmp_path: Path) -> None:
    """Tests with one grader for all and an assertion of their own have no list in common."""
    tests = []
    for number in range(4):
        asserts = [{"type": "contains", "value": str(number)}, CODE]
        shown = [None, {"assertion": CODE, "namedScores": {"safe": 1}}]
        named = None if number == 0 else {"safe": 1}
        tests.append(promptfoo_row(number, named, asserts, components=shown))
    tests[3] |= {"namedScores": {}, "success": False}  # the grader broke here
    tests[3]["gradingResult"] = {"pass": False, "componentResults": [{"assertion": CODE, "pass": False}]}
    assert of_promptfoo(tests, tmp_path) == {"pass": (4, 1), "score": (4, 1), "safe": (4, 2)}


def test_code_that_names_other_scores_has_left_one_out(tmp_path: Path) -> None:
    named = [{"safe": 1, "brief": 1}, {"safe": 1}]
    found = of_promptfoo([promptfoo_row(n, one, [CODE]) for n, one in enumerate(named)], tmp_path)
    assert found == {"pass": (2, 0), "score": (2, 0), "safe": (2, 0), "brief": (1, 0)}


def test_columns_of_one_name_are_systems_of_their_own(tmp_path: Path) -> None:
    asserts = [{"type": "contains", "value": "x"}]
    # tests end in any order, so the later column may come first
    tests = [promptfoo_row(n, {"a": column}, asserts, column=column) for n in range(3) for column in (2, 0)]
    assert of_promptfoo(tests, tmp_path)["a"] == (6, 0)
    results = rows(tmp_path / "out" / "results.jsonl")
    found = {(one["system"], one["run"], one["value"]) for one in results if one["metric"] == "a"}
    assert found == {("openai:gpt · {{q}}", "0", 0.0), ("openai:gpt · {{q}} · column 3", "0", 2.0)}
    out = trustgauge("import", "promptfoo", "out.jsonl", "-o", "again", folder=tmp_path).stdout
    assert 'note     2 columns are named "openai:gpt · {{q}}"' in out
    assert 'table is added: "· column 3"' in out


def deepeval_file(folder: Path, name: str | int, *results: tuple[float | None, float, bool]) -> Path:
    """A run with one metric, of which each test has a score, a threshold and a success."""
    cases = [
        {
            "input": f"q{number}",
            "metricsData": [{"name": name, "score": score, "threshold": threshold, "success": success}],
        }
        for number, (score, threshold, success) in enumerate(results)
    ]
    (folder / "run.json").write_text(json.dumps({"testCases": cases, "identifier": "bot"}), "utf-8")
    return folder / "run.json"


def test_a_metric_whose_name_is_a_number_is_named_by_it(tmp_path: Path) -> None:
    """It ended in an internal error."""
    file = deepeval_file(tmp_path, 2024, (0.0, 0.5, False), (0.9, 0.5, True))
    assert imported("deepeval", file, tmp_path / "out")["metrics"].keys() == {"2024", "2024/pass"}


@pytest.mark.parametrize(
    ("results", "better", "noted"),
    [
        ([(0.0, 0.5, True), (0.9, 0.5, False), (0.5, 0.5, True)], "lower", False),
        ([(0.0, 0.5, False), (0.9, 0.5, True), (0.5, 0.5, True)], "higher", False),
        ([(0.5, 0.5, True), (None, 0.5, False)], "higher", False),  # fits both
        ([(0.0, 0.5, True), (0.9, 0.5, True)], "higher", True),  # fits neither
    ],
)
def test_success_at_a_threshold_and_below_says_that_lower_is_better(
    results: list[tuple[float | None, float, bool]], better: str, noted: bool, tmp_path: Path
) -> None:
    file = deepeval_file(tmp_path, "Bias", *results)
    document = imported("deepeval", file, tmp_path / "out")
    assert {name: one["better"] for name, one in document["metrics"].items()} == {
        "Bias": better,
        "Bias/pass": "higher",
    }
    notes = document.get("notes", [])
    assert [("Bias" in note, "--lower" in note) for note in notes] == [(True, True)] * noted


def test_what_the_user_says_of_a_direction_counts(tmp_path: Path) -> None:
    file = deepeval_file(tmp_path, "Bias", (0.0, 0.5, False), (0.9, 0.5, True))
    document = imported("deepeval", file, tmp_path / "out", ImportOptions(lower=["Bias"]))
    assert document["metrics"]["Bias"]["better"] == "lower"


def samples_file(folder: Path, task: str, date: str, *values: Any, metric: str = "acc") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"samples_{task}_{date}.jsonl"
    lines = [
        {"doc_id": number, "metrics": [metric], metric: value, "filter": "none"}
        for number, value in enumerate(values)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


DATES = ("2026-01-02T03-04-05.678901", "2026-11-23T07-48-14.813414")


def test_the_newest_run_of_a_task_counts_and_older_ones_are_named(tmp_path: Path) -> None:
    model = tmp_path / "model"
    samples_file(model, "desk_long", DATES[1], 1, 1)
    samples_file(model, "desk_long", DATES[0], 0, 0)
    samples_file(model, "shop", DATES[0], 0.5)  # its only run
    document = imported("lm-eval", model, tmp_path / "out")
    found = [(one["metric"], one["run"], one["value"]) for one in rows(tmp_path / "out" / "results.jsonl")]
    assert sorted(found) == [("desk_long/acc", "0", 1.0), ("desk_long/acc", "0", 1.0), ("shop/acc", "0", 0.5)]
    (note,) = document["notes"]
    assert f"samples_desk_long_{DATES[0]}.jsonl" in note
    assert DATES[1] not in note


def test_runs_of_two_models_in_one_folder_both_count(tmp_path: Path) -> None:
    for date, model in zip(DATES, "ab", strict=True):
        samples_file(tmp_path / "both", "desk", date, 1)
        facts = {"model_name": model, "higher_is_better": {"desk": {"acc": True}}}
        (tmp_path / "both" / f"results_{date}.json").write_text(json.dumps(facts), "utf-8")
    document = imported("lm-eval", tmp_path / "both", tmp_path / "out")
    assert (document["systems"], "notes" in document) == (["a", "b"], False)


def test_files_without_a_date_are_all_read(tmp_path: Path) -> None:
    for task in ("desk", "shop"):
        (samples_file(tmp_path / "model", task, "x", 1)).rename(tmp_path / "model" / f"samples_{task}.jsonl")
    assert imported("lm-eval", tmp_path / "model", tmp_path / "out")["counts"]["values"] == 2


def test_metrics_of_lists_are_left_out_and_named(tmp_path: Path) -> None:
    pair = [-500.2, 100]
    lists = samples_file(tmp_path / "model", "wiki", DATES[0], pair, None, pair, metric="word_perplexity")
    samples_file(tmp_path / "model", "desk", DATES[0], 1, None)
    document = imported("lm-eval", tmp_path / "model", tmp_path / "out")
    assert missing(tmp_path / "out") == {"desk/acc": (2, 1)}
    assert ["wiki/word_perplexity" in note for note in document["notes"]] == [True]
    with pytest.raises(PlanError, match=r'no metric has a value a sample.*"wiki/word_perplexity"'):
        imported("lm-eval", lists, tmp_path / "alone")


@pytest.mark.parametrize("key", ["model", "target"])
def test_the_target_of_garak_is_found_by_its_old_name_too(key: str, tmp_path: Path) -> None:
    setup = {f"plugins.{key}_type": "openai", f"plugins.{key}_name": "gpt-4o"}
    attempt = {"status": 2, "probe_classname": "p", "prompt": "Hi", "detector_results": {"d": [1.0]}}
    lines = [{"entry_type": "start_run setup", **setup}, {"entry_type": "attempt", **attempt}]
    (tmp_path / "g.report.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    document = imported("garak", tmp_path / "g.report.jsonl", tmp_path / "out")
    assert document["systems"] == ["openai/gpt-4o"]


def test_notes_hold_no_keys(tmp_path: Path) -> None:
    secret = "sk-" + "a1B2c3D4" * 4
    file = deepeval_file(tmp_path, f"Bias {secret}", (0.0, 0.5, True), (0.9, 0.5, True))
    document = imported("deepeval", file, tmp_path / "out")
    assert len(document["notes"]) == 1
    assert secret not in json.dumps(document)
