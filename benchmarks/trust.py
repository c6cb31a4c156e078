"""Speed of the trust method: turns scored a second by each issue, and a whole corpus rated.

    python -m benchmarks.trust --turns 100000

The corpus is a transcript of dialogs of five turns. What the bot says is put together from clauses, so
that nearly all of its answers differ. Scoring is CPU time of one process; rating is wall time of a whole
run with its store, report and evidence, and its largest memory. `verify` derives it all again.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from trustgauge import plugins
from trustgauge.data.dialogs import DialogSource
from trustgauge.methods.conformance import answers
from trustgauge.methods.trust.method import Trust
from trustgauge.plan import load_plan
from trustgauge.run.options import RunOptions
from trustgauge.run.run import rate
from trustgauge.run.transcript import Transcript
from trustgauge.run.verify import verify
from trustgauge.services.dialogs import Dialogs

TURNS = 5  # of a dialog
OPENINGS = ("I found", "There are", "We still have", "You can choose among", "The list shows")
THINGS = ("tables", "trains", "doctors", "concerts", "apartments", "forms", "refunds", "tickets")
CLAUSES = (
    "near the central station",
    "before noon on Tuesday",
    "which cost less than the others",
    "that most guests seem to like",
    "if the weather is not terrible",
    "according to the office in charge",
    "for two people and a child",
    "although some of them may be late",
)
QUESTIONS = (
    "Shall I book one?",
    "Would you like to hear more?",
    "Which one do you prefer?",
    "Anything else?",
)
PLAN = "trustgauge benchmark"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--turns", type=int, default=100_000, help="turns of the corpus")
    parser.add_argument("--seed", type=int, default=20260107)
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = corpus(Path(folder, "dialogs.jsonl"), options.turns, options.seed)
        print(f"{options.turns:,} turns in {-(-options.turns // TURNS):,} dialogs")
        speeds = scoring(file)
        told = rating(file, Path(folder))
        if options.json:
            print(json.dumps({"turns": options.turns, "speeds": speeds, **told}))


def corpus(file: Path, turns: int, seed: int) -> Path:
    """A transcript of so many turns."""
    chance = random.Random(seed)
    with Transcript(file) as written:
        for turn in range(turns):
            dialog = f"d{turn // TURNS:06d}"
            said = f"{chance.choice(OPENINGS)} {chance.randint(2, 99)} {chance.choice(THINGS)} "
            said += " ".join(chance.sample(CLAUSES, chance.randint(1, 3))) + ". " + chance.choice(QUESTIONS)
            written.add(dialog, turn % TURNS, "user", f"I need {chance.choice(THINGS)}, please.")
            written.add(dialog, turn % TURNS, "bot", said)
    return file


def scoring(file: Path) -> dict[str, float]:
    """Turns a second, issue by issue: marks and cells."""
    speeds = {}
    service = Dialogs(dialogs=DialogSource(file=file))
    said = service.dialogs.read()["bot"].list.join("\n").to_list()
    plain = Trust.model_validate({"method": "trust", "services": ["a"]}).model_copy(update={"issues": ()})
    probes = plain.log_probes(service.script())
    given = answers(probes, said).with_columns(only=pl.lit("conformance"))
    turns = plain.score(given)
    print(f"  {turns['utterances'].explode().n_unique():,} different answers")
    for name in plugins.names("issues"):
        issue = plugins.load("issues", name)(issue=name)
        issue.cells(turns.head(50).hstack(issue.marks(turns.head(50), "sound")))  # load word lists and models
        spent = seconds(lambda issue=issue: issue.cells(turns.hstack(issue.marks(turns, "sound"))))  # type: ignore[misc]
        speeds[name] = turns.height / spent
        print(f"  {name:<12} {speeds[name]:>10,.0f} turns a second")
    return speeds


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of a piece of work."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def rating(file: Path, folder: Path) -> dict[str, float]:
    """Seconds and MB of a whole run over the corpus, and seconds of its verification."""
    service = {"use": "dialogs", "dialogs": {"layout": "jsonl", "file": str(file)}}
    experiment = {"method": "trust", "services": ["corpus"]}
    plan = load_plan({"name": PLAN, "services": {"corpus": service}, "experiments": [experiment]})
    begun = time.perf_counter()
    finished = rate(plan, RunOptions(ratings=folder / "ratings"))
    spent = time.perf_counter() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    page = (finished.folder / "report.html").stat().st_size / 1e6
    print(f"rated for four profiles in {spent:.1f} s, {memory:,.0f} MB at most, report of {page:.1f} MB")
    begun = time.perf_counter()
    apart = verify(finished.folder, datetime.now(UTC).date()).differences
    verified = time.perf_counter() - begun
    print(f"verified in {verified:.1f} s: {len(apart)} differences")
    return {"rated": spent, "memory": memory, "verified": verified}


if __name__ == "__main__":
    main()
