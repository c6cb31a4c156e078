"""Operating characteristics of the two-step rules on simulated translators of known truth.

    python benchmarks/two_step_operating.py --runs 1000 --texts 20 50 100 --large-runs 200 --large-texts 500

Prints the tables of two-step 1.7 and writes them as Markdown and JSON. With --reference, the file
`two_step_simulation.json`, every cell is compared with the reference within binomial error; for that the
sound rule is simulated a second time, without time and without doubting that blocks may be pooled.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from trustgauge.methods.two_step.operating_characteristics import (
    SimulatedTranslator,
    Trial,
    by_occupation,
    by_rest_of_text,
    catalogue,
    sound_row,
    tree_row,
    wrong,
)
from trustgauge.methods.two_step.transition_model import MIX_LEVEL

MEAN_WRONG = 1.0
NOT_SETTLED = {20: 35.0, 50: 24.0, 100: 17.0, 500: 16.0}
SINGLE_WRONG = {"flip p=0.40": 6.0, "She->He q=0.20": 7.0, "lost to Other r=0.10": 7.0}
OCCUPATION = ("occupation She->He 0.20", 50, 8.0)

Table = dict[str, dict[str, Any]]


def main() -> None:
    """Run, print, write."""
    options = _parser().parse_args()
    trials = [Trial(n, options.runs, options.seed) for n in options.texts]
    trials += [Trial(n, options.large_runs, options.seed) for n in options.large_texts]
    result = measure(trials)
    differences = None
    if options.reference:
        differences = compare(
            as_the_reference_pools(result, trials), json.loads(options.reference.read_text())
        )
    text = document(result, differences)
    print(text)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.with_suffix(".md").write_text(text + "\n", encoding="utf-8")
        options.output.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="simulated runs of each cell")
    parser.add_argument("--texts", type=int, nargs="*", default=[20, 50, 100], help="texts of a block")
    parser.add_argument("--large-runs", type=int, default=200, help="runs for --large-texts")
    parser.add_argument("--large-texts", type=int, nargs="*", default=[500])
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--reference", type=Path, help="path of two_step_simulation.json")
    parser.add_argument("--output", type=Path, help="where to write, without suffix")
    return parser


def measure(trials: list[Trial]) -> dict[str, Any]:
    """All tables, in the form of the reference file."""
    twenty = catalogue()
    result: dict[str, Any] = {
        "units": "per cent of runs; published: [BS, DSBS, UCS]; sound: [BS, DSBS, UCS, not settled]",
        "runs": {f"n_{trial.texts}": trial.runs for trial in trials},
        "seed": trials[0].seed,
        "sound": {},
        "published": {"exact": {}, "sampled": {}},
    }
    for translator in (*twenty, *by_occupation(), *by_rest_of_text()):
        result["sound"][translator.name] = _row(translator, trials, sound_row)
    undoubted = [replace(trial, doubtful=MIX_LEVEL) for trial in trials]
    result["undoubted"] = {one.name: _row(one, undoubted, sound_row) for one in by_rest_of_text()}
    for translator in twenty:
        for inputs in ("exact", "sampled"):
            table = [Trial(one.texts, one.runs, one.seed, exact=inputs == "exact") for one in trials]
            result["published"][inputs][translator.name] = _row(translator, table, tree_row)
    names = [translator.name for translator in twenty]
    result["sound_mean_over_20"] = {key: _means(result["sound"], names, key) for key in result["runs"]}
    result["published_mean_wrong"] = {
        inputs: {key: _means(table, names, key)["wrong"] for key in result["runs"]}
        for inputs, table in result["published"].items()
    }
    result["requirements"] = requirements(result, names)
    return result


def as_the_reference_pools(result: dict[str, Any], trials: list[Trial]) -> dict[str, Any]:
    """The tables with the sound rule as the reference simulation has it: no time, and no doubt of pooling."""
    pooling = [replace(trial, segments=1, doubtful=MIX_LEVEL) for trial in trials]
    services = (*catalogue(), *by_occupation())
    return {**result, "sound": {one.name: _row(one, pooling, sound_row) for one in services}}


def _row(translator: SimulatedTranslator, trials: list[Trial], how: Any) -> dict[str, Any]:
    return {"truth": translator.truth, **{f"n_{one.texts}": how(translator, one) for one in trials}}


def _means(table: Table, names: list[str], key: str) -> dict[str, float]:
    rows = [table[name] for name in names]
    means = {"wrong": sum(wrong(row["truth"], row[key]) for row in rows) / len(rows)}
    if len(rows[0][key]) > 3:
        means["not_settled"] = sum(row[key][3] for row in rows) / len(rows)
    return {name: round(value, 2) for name, value in means.items()}


def requirements(result: dict[str, Any], names: list[str]) -> list[dict[str, Any]]:
    """The required characteristics of two-step 1.7, each with what was measured.

    A single translator fails only if it lies above its limit by more than chance (3 standard errors).
    """
    told = []
    for key, runs in result["runs"].items():
        n = int(key.removeprefix("n_"))
        means = result["sound_mean_over_20"][key]
        told.append(_requirement(f"mean wrong, {key}", means["wrong"], MEAN_WRONG, runs * len(names)))
        if n in NOT_SETTLED:
            told.append(
                _requirement(
                    f"mean not settled, {key}", means["not_settled"], NOT_SETTLED[n], runs * len(names)
                )
            )
        for name in names:
            row = result["sound"][name]
            limit = SINGLE_WRONG.get(name, 1.0)
            told.append(_requirement(f"{name}, {key}", wrong(row["truth"], row[key]), limit, runs))
    name, n, limit = OCCUPATION
    row, key = result["sound"][name], f"n_{n}"
    if key in row:
        told.append(_requirement(f"{name}, {key}", wrong(row["truth"], row[key]), limit, result["runs"][key]))
    return told


def _requirement(what: str, measured: float, limit: float, runs: int) -> dict[str, Any]:
    slack = 300 * math.sqrt(limit / 100 * (1 - limit / 100) / runs)
    return {
        "what": what,
        "measured": measured,
        "limit": limit,
        "met": measured <= limit,
        "within_error": measured <= limit + slack,
    }


def compare(result: dict[str, Any], reference: dict[str, Any]) -> list[dict[str, Any]]:
    """Cells that differ from the reference by more than 4 standard errors of both, and by 1.5 points."""
    pairs = [("sound", result["sound"], reference["sound"])]
    pairs += [
        (f"published, {inputs}", result["published"][inputs], reference["published"][inputs])
        for inputs in ("exact", "sampled")
    ]
    found = []
    for rule, ours, theirs in pairs:
        for name, row in ours.items():
            for key, runs in result["runs"].items():
                if key not in theirs.get(name, {}):
                    continue
                size = 10_000 if rule != "sound" else (500 if key == "n_500" else 2_000)
                for place, (here, there) in enumerate(zip(row[key], theirs[name][key], strict=True)):
                    p = (here * runs + there * size) / (runs + size) / 100
                    error = 100 * math.sqrt(p * (1 - p) * (1 / runs + 1 / size))
                    if abs(here - there) > max(1.5, 4 * error):
                        found.append({"rule": rule, "translator": name, "n": key, "place": place,
                                      "here": here, "reference": there})  # fmt: skip
    return found


def document(result: dict[str, Any], differences: list[dict[str, Any]] | None) -> str:
    """The result as Markdown."""
    keys = list(result["runs"])
    lines = ["# Two-step: operating characteristics", ""]
    runs = ", ".join(f"{count:,} at n = {key.removeprefix('n_')}" for key, count in result["runs"].items())
    lines += [
        "Simulated translators of known truth, two mentions a text, 60 occupations; n texts a block.",
        "Services by occupation turn She into He in whole occupations; the texts go through the "
        "occupations in",
        "turn, two a text, which the reference simulation does not specify, so these rows may "
        "differ from it.",
        "The last services change She in texts about women alone, or in mixed ones, and lie near the margin.",
        f"Runs of each cell: {runs}. Seed {result['seed']}. Made by `benchmarks/two_step_operating.py`.",
        "",
        "## Rule `sound` (exact counts): % settled as BS / DSBS / UCS / not settled",
        "",
        *_markdown(result["sound"], keys),
        "",
        *_mean_lines(result, keys),
        "",
        "The last services where pooling is never doubted, as in the reference simulation:",
        "",
        *_markdown(result["undoubted"], keys),
        "",
    ]
    for inputs, table in result["published"].items():
        title = f"## Rule `published` ({inputs} inputs): % BS / DSBS / UCS"
        lines += [title, "", *_markdown(table, keys), ""]
    broken = [one for one in result["requirements"] if not one["met"]]
    lines += ["## Required characteristics", ""]
    lines.append(f"{len(result['requirements']) - len(broken)} of {len(result['requirements'])} met.")
    for one in broken:
        chance = "within three standard errors" if one["within_error"] else "**beyond chance**"
        lines.append(f"- {one['what']}: {one['measured']:g} % against {one['limit']:g} %, {chance}.")
    if differences is not None:
        lines += [
            "",
            "The reference simulation knows no segments of time and never doubts pooling. Cells that differ",
        ]
        lines += [f"from it beyond chance, with both as it has them: {len(differences)}."]
        lines += [
            f"- {one['rule']}, {one['translator']}, {one['n']}: {one['here']:g} against {one['reference']:g}"
            for one in differences
        ]
    return "\n".join(lines)


def _markdown(table: Table, keys: list[str]) -> list[str]:
    head = "| translator | truth | " + " | ".join(key.replace("n_", "n = ") for key in keys) + " |"
    rows = [
        f"| {name} | {row['truth']} | "
        + " | ".join(" / ".join(f"{value:.1f}" for value in row[key]) for key in keys)
        + " |"
        for name, row in table.items()
    ]
    return [head, "|" + "---|" * (2 + len(keys)), *rows]


def _mean_lines(result: dict[str, Any], keys: list[str]) -> list[str]:
    lines = ["| mean over the 20 | " + " | ".join(key.replace("n_", "n = ") for key in keys) + " |"]
    lines.append("|" + "---|" * (1 + len(keys)))
    means = result["sound_mean_over_20"]
    lines.append("| sound: wrong | " + " | ".join(f"{means[key]['wrong']:.2f}" for key in keys) + " |")
    settled = " | ".join(f"{means[key]['not_settled']:.1f}" for key in keys)
    lines.append(f"| sound: not settled | {settled} |")
    for inputs, table in result["published_mean_wrong"].items():
        values = " | ".join(f"{table[key]:.1f}" for key in keys)
        lines.append(f"| published, {inputs}: wrong | {values} |")
    return lines


if __name__ == "__main__":
    main()
