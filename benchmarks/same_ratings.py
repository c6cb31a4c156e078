"""Compares the ratings that two revisions give: only times, versions and documented changes may differ.

    python -m benchmarks.same_ratings OLD [NEW] [--only NAME ...] [--seeds 20] [--jobs 1] [--small]

OLD and NEW are revisions of this repository ("HEAD~60", a tag, a commit; NEW is HEAD by default). Both are
unpacked into the work folder, each with its own entry points, and run in the environment of this Python.
Rated are

- every plan in `plans/` of NEW. OLD asks; NEW rates the answers that OLD stored, so a service that answers
  differently each time makes no difference. Services that this machine lacks are left out, with the reason; a
  plan of which none is left is named and not compared. `models/` and data beside the plans are those of this
  checkout. `--small` lowers texts to 40, questions to 2,000 and resamples to 1,000, in both.
- the cases of `same_ratings_cases.py`, with every seed: all control services of all methods, services whose
  answers are wrong, missing or unreadable at known rates, and the three rules. Both revisions ask.

Each rating runs the command line in its own process, so what is compared is what a user gets. Ratings stay in
the work folder by commit and plan: the same command goes on where it was stopped.

Prints each rating as it comes, with the time left, and in the end a table of plans: same, or the keys of
`rating.json` that differ. The documented changes are those of `same_ratings.toml`; they are counted apart.
Exits with 1 if anything else differs.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from benchmarks.same_ratings_cases import NOISY, as_toml, cases
from benchmarks.same_ratings_differences import Change, Difference, differences, documented

ROOT = Path(__file__).parent.parent
SMALL = {"texts": 40, "questions": 2000, "resamples": 1000}
"""The largest sizes of experiments with `--small`, and what is written where a plan leaves the default."""
SIZED = {"two-step": ("texts",), "social-bias": ("questions", "resamples")}
"""Sizes that `--small` writes into experiments of a method that do not state them."""
MOST_KEYS = 12
"""Keys named in a row of the table."""
LONGEST = 3600.0
"""Seconds after which a rating is given up."""


@dataclass(frozen=True)
class Revision:
    """A revision of the repository, unpacked.

    Attributes:
        commit: its hash, shortened.
        date: when its author made it.
        folder: where it was unpacked.
    """

    commit: str
    date: datetime
    folder: Path


def unpack(revision: str, work: Path, repository: Path = ROOT) -> Revision:
    """Unpack a revision into the work folder, with entry points that Python finds; at once if it is there.

    Raises:
        SystemExit: if git knows no such revision.
    """
    git = ["git", "-C", str(repository)]
    shown = subprocess.run(
        [*git, "log", "-1", "--format=%H %aI", revision, "--"], text=True, capture_output=True, check=False
    )
    if shown.returncode:
        raise SystemExit(f"no revision {revision}: {shown.stderr.strip()}")
    commit, date = shown.stdout.split()
    folder = work / "revisions" / commit[:10]
    if not (folder / "complete").exists():
        packing = [*git, "archive", "--format=zip", commit]
        packed = subprocess.run(packing, capture_output=True, check=True).stdout
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(folder)
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        _write_entry_points(folder / "src", project)
        (folder / "complete").touch()
    return Revision(commit[:10], datetime.fromisoformat(date), folder)


def _write_entry_points(source: Path, project: Mapping[str, Any]) -> None:
    """What an installation would write: the entry points of this revision, and not of the one installed."""
    version = project.get("version", "0")
    about = source / f"{project['name']}-{version}.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n", "utf-8"
    )
    groups = project.get("entry-points", {})
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in entries.items()))
    ]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")


class Rated(NamedTuple):
    """A rating document, or why there is none."""

    document: dict[str, Any] | None
    failed: str = ""


@dataclass(frozen=True)
class Task:
    """One plan to be rated by both revisions.

    Attributes:
        name: "causal-sound #3", or "plans/demo".
        plan: what is rated.
        reuse: whether the new revision rates the answers that the old one stored.
        left_out: services that cannot be asked here, with the reason; the plan is without them.
    """

    name: str
    plan: Mapping[str, Any]
    reuse: bool
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The name without the seed."""
        return self.name.partition(" #")[0]

    @property
    def slug(self) -> str:
        """Name and plan as the name of a file."""
        content = hashlib.blake2b(as_toml(self.plan).encode(), digest_size=4).hexdigest()
        return f"{self.name.replace(' #', '-').replace('/', '-')}-{content}"


def rate(task: Task, by: Revision, work: Path, reusing: Revision | None = None) -> Rated:
    """The rating of a plan by a revision, kept in the work folder; of the answers of `reusing`, if any."""
    folder = work / (f"{by.commit}-of-{reusing.commit}" if reusing else by.commit)
    kept, runs = folder / f"{task.slug}.json", folder / f"{task.slug}.runs"
    if kept.exists():
        return Rated(json.loads(kept.read_text("utf-8")))
    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(runs, ignore_errors=True)
    if reusing:
        shutil.copytree(work / reusing.commit / runs.name, runs)
    rated = _run(task, by, runs, work)
    if rated.document is not None:
        kept.write_text(json.dumps(rated.document), "utf-8")
    if not task.reuse or reusing:
        shutil.rmtree(runs, ignore_errors=True)
    return rated


def with_what_is_here(task: Task, by: Revision, work: Path) -> Task:
    """A task without the services that an error of the program says cannot be asked on this machine.

    One call at most is sent. The newer of two revisions should look, since it says best what is missing.
    """
    kept = work / by.commit / f"{task.slug}.left-out.json"
    left_out = dict(json.loads(kept.read_text("utf-8"))) if kept.exists() else {}
    plan = without(task.plan, set(left_out))
    while plan["experiments"] and not kept.exists():
        with tempfile.TemporaryDirectory() as runs:
            rated = _run(replace(task, plan=plan), by, Path(runs), work, "--limit-calls", "1")
        named = re.findall(r"services\.\"?([\w-]+)\"?[.:]\S* ?(.*)", rated.failed)
        lacking = {name: why for name, why in named if name in plan["services"]}
        if not lacking:
            break
        left_out |= lacking
        plan = without(plan, set(lacking))
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(left_out), "utf-8")
    return replace(task, plan=plan, left_out=left_out)


def _run(task: Task, by: Revision, runs: Path, work: Path, *options: str) -> Rated:
    """Run the command once: the document it wrote, or what it said."""
    plan = work / "plans" / f"{by.commit}-{task.slug}.toml"
    plan.write_text(as_toml(task.plan), "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(by.folder / "src"), "NO_COLOR": "1"}
    before = {one: one.stat().st_mtime_ns for one in runs.glob("*/rating.json")}
    command = [sys.executable, "-m", "trustgauge", "rate", str(plan), "--yes", "--trust", "--quiet", *options]
    try:
        run = subprocess.run(
            [*command, "--ratings", str(runs)], env=environment, cwd=plan.parent, text=True,
            capture_output=True, timeout=LONGEST, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Rated(None, f"not done after {LONGEST:.0f} s")
    written = [one for one in runs.glob("*/rating.json") if one.stat().st_mtime_ns != before.get(one)]
    if not written:
        return Rated(None, run.stderr.strip() or f"exit {run.returncode}")
    newest = max(written, key=lambda one: one.stat().st_mtime_ns)
    return Rated(dict(json.loads(newest.read_text("utf-8"))))


def without(plan: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """A plan without some of its services, and without experiments that have none left."""
    experiments = []
    for experiment in plan["experiments"]:
        left = [name for name in experiment["services"] if name not in names]
        if left:
            experiments.append({**experiment, "services": left})
        if "before" in experiment and left:
            pairs = experiment["before"].items()
            experiments[-1]["before"] = {one: of for one, of in pairs if not {one, of} & names}
    services = {name: service for name, service in plan["services"].items() if name not in names}
    return {**plan, "services": services, "experiments": experiments}


def small(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan with experiments of at most the sizes of `SMALL`."""
    experiments = []
    for experiment in plan["experiments"]:
        usual = {name: SMALL[name] for name in SIZED.get(experiment["method"], ())}
        stated = {
            name: min(value, SMALL[name]) if name in SMALL else value for name, value in experiment.items()
        }
        experiments.append({**usual, **stated})
    return {**plan, "experiments": experiments}


@dataclass
class Comparison:
    """What is known so far, by kind of plan.

    Attributes:
        changes: the documented changes between the two revisions.
        compared: kind -> how many ratings were compared.
        other: kind -> key -> in how many ratings it differs and no change explains it.
        explained: kind -> change -> in how many ratings it differs.
        skipped: kind -> why it was not compared.
        left_out: kind -> the services it was rated without, and why.
    """

    changes: Sequence[Change]
    compared: Counter[str] = field(default_factory=Counter)
    other: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    explained: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    skipped: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def skip(self, task: Task, why: str) -> str:
        """Note that a task was not compared; the words for its line."""
        self.skipped[task.kind] = why
        return f"not compared: {why[:150]}"

    def add(self, task: Task, old: Mapping[str, Any], new: Rated) -> tuple[str, list[Difference]]:
        """Count a rating; the words for its line, and the differences that no change explains."""
        self.left_out[task.kind] = task.left_out
        self.compared[task.kind] += 1
        if new.document is None:
            self.other[task.kind]["not rated by NEW"] += 1
            return f"not rated by NEW: {new.failed[:150]}", []
        unexplained, explained = [], set()
        for one in differences(old, new.document, reuse=task.reuse):
            change = next((change for change in self.changes if change.explains(one)), None)
            if change is None:
                unexplained.append(one)
            else:
                explained.add(change.changelog)
        self.other[task.kind].update({one.key for one in unexplained})
        self.explained[task.kind].update(explained)
        if unexplained:
            return f"{len(unexplained)} undocumented differences", unexplained
        return "documented differences" if explained else "same", []

    def table(self) -> Iterator[str]:
        """The table of plans, and the list of plans and services that were not compared."""
        yield "| plan | ratings | result |"
        yield "|---|---|---|"
        for kind, number in self.compared.items():
            keys, changes = self.other[kind], self.explained[kind]
            results = [f"**{key}** ({times})" for key, times in keys.most_common(MOST_KEYS)]
            if len(keys) > MOST_KEYS:
                results.append(f"and {len(keys) - MOST_KEYS} more keys")
            results += [f"documented: {words} ({times})" for words, times in changes.most_common()]
            yield f"| {kind} | {number} | {'; '.join(results) or 'same'} |"
        yield ""
        for kind, why in self.skipped.items():
            if not self.compared[kind]:
                yield f"not compared: {kind}: {why[:300]}"
        for kind, left_out in self.left_out.items():
            for name, why in left_out.items():
                yield f"compared without a service: {kind}: {name}: {why[:150]}"


def _answered(document: Mapping[str, Any]) -> bool:
    """Whether any service of a run gave any answer; a void run has no ratings, and was answered."""
    ratings = document["ratings"]
    return not ratings or any(one["coverage"]["planned"] != one["coverage"]["failed"] for one in ratings)


def tasks(plans: Path, seeds: int, only: Sequence[str], smaller: bool) -> list[Task]:
    """What is rated: the cases with their first seed, the plans, then the cases with further seeds."""
    simulated = [Task(name, plan, False) for name, plan in cases(seeds)]
    first = [one for one in simulated if one.name.endswith(" #1")]
    real = []
    for file in sorted(plans.glob("*.toml")):
        plan = tomllib.loads(file.read_text("utf-8"))
        real.append(Task(f"plans/{file.stem}", small(plan) if smaller else plan, True))
    every = first + real + [one for one in simulated if one not in first]
    return [one for one in every if one.name.startswith(tuple(only) or ("",))]


class Progress:
    """Says what is done, and how long the rest will take.

    Args:
        of: all tasks.
        jobs: how many are done at a time.
    """

    def __init__(self, of: Sequence[Task], jobs: int) -> None:
        self.left = Counter(task.kind for task in of)
        self.total, self.jobs = len(of), jobs
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.lock = Lock()

    def done(self, task: Task, seconds: float, said: str, found: Sequence[Difference]) -> None:
        """Print a line for a task, and what differs."""
        with self.lock:
            self.left[task.kind] -= 1
            if seconds > 0.1:  # not one of an earlier command
                self.seconds[task.kind].append(seconds)
            number = self.total - self.left.total()
            print(
                f"[{number}/{self.total}] {task.name}: {said}, {seconds:.0f} s{self.estimate()}", flush=True
            )
            for one in found[:5]:
                print(f"    {one}", flush=True)

    def estimate(self) -> str:
        """Time left by the mean seconds of each kind, or of all for kinds not yet seen."""
        every = [one for of_kind in self.seconds.values() for one in of_kind]
        if not every or not self.left.total():
            return ""
        mean = sum(every) / len(every)
        means = {kind: sum(some) / len(some) for kind, some in self.seconds.items()}
        left = sum(number * means.get(kind, mean) for kind, number in self.left.items())
        return f"; about {left / self.jobs / 60:.0f} min left"


def link_data(work: Path, checkout: Path = ROOT) -> None:
    """Link what plans name beside themselves, which git does not keep: models, data, packages of Node."""
    (work / "plans").mkdir(parents=True, exist_ok=True)
    beside = [one for one in (checkout / "plans").iterdir() if one.suffix != ".toml"]
    there = {work / one: checkout / one for one in ("models", "node_modules")}
    for link, target in {**there, **{work / "plans" / one.name: one for one in beside}}.items():
        if target.exists() and not link.exists():
            link.symlink_to(target)
    (work / "plans" / "noisy.py").write_text(NOISY, "utf-8")


def compare(asked: argparse.Namespace) -> Comparison:
    """Rate everything by both revisions, and count what differs."""
    work = asked.work.absolute()
    link_data(work)
    old, new = unpack(asked.old, work), unpack(asked.new, work)
    comparison = Comparison(documented(old.date, new.date))
    chosen = tasks(new.folder / "plans", asked.seeds, asked.only, asked.small)
    progress = Progress(chosen, asked.jobs)

    def one(task: Task) -> None:
        began = time.monotonic()
        if task.reuse:
            task = with_what_is_here(task, new, work)
        found: list[Difference] = []
        before = rate(task, old, work) if task.plan["experiments"] else Rated(None)
        if before.document is None:
            lacking = "; ".join(f"{name}: {why}" for name, why in task.left_out.items())
            why = f"not rated by OLD: {before.failed}" if before.failed else lacking
            said = comparison.skip(task, why)
        elif not _answered(before.document):
            said = comparison.skip(task, "no service gave an answer here")
        else:
            after = rate(task, new, work, old if task.reuse else None)
            with progress.lock:
                said, found = comparison.add(task, before.document, after)
        progress.done(task, time.monotonic() - began, said, found)

    with ThreadPoolExecutor(asked.jobs) as pool:
        list(pool.map(one, chosen))
    return comparison


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two revisions; 1 if any rating differs in what is not documented."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", help="revision to compare with")
    parser.add_argument("new", nargs="?", default="HEAD", help="revision to check; HEAD by default")
    parser.add_argument("--only", nargs="*", default=[], help="only plans and cases whose names begin so")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of every case")
    parser.add_argument("--jobs", type=int, default=1, help="ratings at a time")
    parser.add_argument("--small", action="store_true", help="plans with fewer texts and questions")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "same-ratings")
    comparison = compare(parser.parse_args(arguments))
    print(*comparison.table(), sep="\n")
    differing = sum(bool(keys) for keys in comparison.other.values())
    print(f"\n{comparison.compared.total()} ratings compared, {differing} plans differ undocumented")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
