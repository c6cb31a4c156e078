"""The attack table: runs killed by signal 9 at moments of the clock, and what they promised, kept or not.

    python -m benchmarks.kills                    # 20 kills a scene, docs/figures/kills.md
    python -m benchmarks.kills --kills 2 -o build # a quick look

Every scene is one plan against a real server that keeps its own log. It runs once undisturbed, then again
with kills while it starts, asks, rates and writes, and then to its end. Counted are calls beyond the cap;
calls for answers that were acknowledged (committed, as another reader of the store sees them) at the moment
of a kill; and documents that differ from the undisturbed one in anything but times. Ends with 1 if a count
is not 0.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.running import LIMIT, environment, rating, write_plan
from tests.run.plans import but_for_times, faithful, translator_plan
from tests.servers import LocalServer, Request, Response

from trustgauge.store import open_store

ROOT = Path(__file__).parent.parent
FIGURES = ROOT / "docs" / "figures"
RATE = ("rate", "plan.toml", "--progress", "none", "--yes", "--ratings")


HEAD = """\
# What kill -9 does to a run

`python -m benchmarks.kills` kills every scene {kills} times while it starts, asks, rates and writes, and
counts on the side of the server. A cap is exceeded by no call; what was acknowledged is asked no second time;
the same command ends with the `rating.json` of an undisturbed run, but for times and costs.

| scene | kills | calls | answers kept | beyond the cap | acknowledged, asked again | same document |
|---|---|---|---|---|---|---|"""
FOOT = """
Under a cap the documents are not compared answer by answer: which questions are left depends on the kills.
"""


@dataclass
class Log:
    """Answers requests and counts them by what is asked; None counts as no question of its own.

    Attributes:
        answer: the service.
        asked: the question in a request, as its answer is kept under.
        calls: by question.
        total: all requests.
    """

    answer: Callable[[Request], Response]
    asked: Callable[[Request], str | None]
    calls: Counter[str] = field(default_factory=Counter)
    total: int = 0

    def __call__(self, request: Request) -> Response:
        self.total += 1
        question = self.asked(request)
        if question is not None:
            self.calls[question] += 1
        return self.answer(request)


@dataclass(frozen=True)
class Scene:
    """A plan to be killed.

    Attributes:
        name: in the table.
        plan: from the address of the server.
        answer, asked: as in `Log`.
        latency: of the server, in seconds.
        options: of the command.
        cap: most calls; 0: none.
    """

    name: str
    plan: Callable[[str], dict[str, Any]]
    answer: Callable[[Request], Response]
    asked: Callable[[Request], str | None]
    latency: float = 0.01
    options: tuple[str, ...] = ()
    cap: int = 0


@dataclass
class Found:
    """What came of a scene, all kills together."""

    name: str
    kills: int = 0
    calls: int = 0
    beyond_cap: int = 0
    asked_again: int = 0
    acknowledged: int = 0
    same: bool = False

    @property
    def kept(self) -> bool:
        """Whether all that was promised was kept."""
        return self.same and not self.beyond_cap and not self.asked_again


def first_way(request: Request) -> str | None:
    """The text of a round trip on its way out."""
    asked = request.json()
    return str(asked["q"]) if asked["target"] != "en" else None


def last_message(request: Request) -> str:
    """What the user said last."""
    return str(request.json()["messages"][-1]["content"])


def answers_at_length(request: Request) -> Response:
    """A chatbot that says something else to every question."""
    text = f"It depends on the person. You asked: {last_message(request)}"
    return Response.json({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


def translator(**more: Any) -> Callable[[str], dict[str, Any]]:
    """Round trips of a translator."""
    return lambda url: translator_plan(url, texts=200, service={"concurrency": 8}, **more)


def chatting(experiment: Mapping[str, Any]) -> Callable[[str], dict[str, Any]]:
    """One experiment on a chatbot behind an API."""

    def plan(url: str) -> dict[str, Any]:
        bot = {"use": "openai", "model": "m", "url": f"{url}/v1", "key": "", "concurrency": 8}
        return {"retest": 0, "services": {"bot": bot}, "experiments": [{"services": ["bot"], **experiment}]}

    return plan


QUESTIONS = {"method": "social-bias", "attributes": ["gender"], "groups": 2, "properties": 10}
QUESTIONS |= {"questions": 1200, "resamples": 1000, "permutations": 199}
TALKS = {"method": "trust", "issues": ["abuse", "complexity"], "talks": 100}
CAP = 700
SOONEST, LATEST = 0.5, 2.0  # seconds after the start at which a run is killed
SCENES = (
    Scene("two-step, SQLite", translator(), faithful, first_way),
    Scene("two-step, Parquet", translator(run={"store": "parquet"}), faithful, first_way),
    Scene("two-step, Dask", translator(run={"engine": "dask"}), faithful, first_way),
    Scene("chat", chatting(QUESTIONS), answers_at_length, last_message),
    Scene("sessions", chatting(TALKS), answers_at_length, last_message),
    Scene(
        f"chat, at most {CAP} calls",
        chatting(QUESTIONS),
        answers_at_length,
        last_message,
        options=("--limit-calls", str(CAP)),
        cap=CAP,
    ),
)


def attacked(scene: Scene, kills: int, chance: random.Random) -> Found:
    """Run a scene undisturbed, then with kills, and count."""
    found = Found(scene.name)
    log = Log(scene.answer, scene.asked)
    with tempfile.TemporaryDirectory() as name, LocalServer(log, scene.latency) as server:
        folder = Path(name)
        write_plan(folder, scene.plan(server.url))
        _run(folder, "calm", scene).wait(LIMIT)
        planned = Counter(log.calls)
        log.calls.clear()
        log.total = 0
        for turn in range(3 * kills):  # a run that ends before it is killed does not count
            before, kept = Counter(log.calls), _acknowledged(folder / "killed")
            process = _run(folder, "killed", scene)
            if turn % 2:  # in the middle of asking, or while it starts, rates and writes
                _until(process, log, log.total + chance.randint(1, sum(planned.values()) // kills))
            else:
                _until(process, log, None, chance.uniform(SOONEST, LATEST))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                found.kills += 1
            process.wait(LIMIT)
            time.sleep(0.2)  # calls that were under way arrive
            found.asked_again += _again(log.calls - before, planned - kept)
            if found.kills == kills:
                break
        kept, before = _acknowledged(folder / "killed"), Counter(log.calls)
        _run(folder, "killed", scene).wait(LIMIT)
        found.asked_again += _again(log.calls - before, planned - kept)
        found.acknowledged = sum(_acknowledged(folder / "killed").values())
        found.calls = log.total
        found.beyond_cap = max(0, log.total - scene.cap) if scene.cap else 0
        found.same = _same(folder, scene)
    return found


def _until(process: subprocess.Popen[bytes], log: Log, total: int | None, seconds: float = LIMIT) -> None:
    """Wait for so many calls, or so long, or for the end of the process."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end and (total is None or log.total < total):
        time.sleep(0.002)


def _same(folder: Path, scene: Scene) -> bool:
    calm, killed = (rating(folder / name) for name in ("calm", "killed"))
    if scene.cap:  # what the cap left unasked depends on the kills; that it stopped the run does not
        return bool(calm["run"]["stopped"]) and calm["run"]["stopped"] == killed["run"]["stopped"]
    return bool(_measured(calm) == _measured(killed))


def _measured(document: Any) -> Any:
    """A document without times and costs: what was asked of a broken conversation has cost something too."""
    kept = but_for_times(document)
    del kept["run"]["costs"]
    for one in kept["ratings"]:
        del one["cost"]
    return kept


def _again(calls: Counter[str], left: Counter[str]) -> int:
    """Calls beyond those that were still to be asked."""
    return sum((calls - left).values())


def _run(folder: Path, ratings: str, scene: Scene) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "trustgauge", *RATE, ratings, *scene.options],
        cwd=folder,
        env=environment({"TRUSTGAUGE_TRUST": "1"}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _acknowledged(ratings: Path) -> Counter[str]:
    """What is committed of the rated service, by question."""
    kept: Counter[str] = Counter()
    for manifest in ratings.glob("TG-*/manifest.json"):
        subjects = json.loads(manifest.read_bytes())["subjects"]
        prints = {one["fingerprint"] for one in subjects if one["anchor"] is None}
        with open_store(manifest.parent, read_only=True) as store:
            for one in prints:
                rows = store.answers(one)
                kept.update(rows.filter(rows["status"] != "failed")["text"].to_list())
    return kept


def page(found: list[Found], kills: int) -> str:
    """The table as Markdown."""
    lines = [HEAD.format(kills=kills)]
    for one in found:
        counts = f"{one.calls:,} | {one.acknowledged:,} | {one.beyond_cap} | {one.asked_again}"
        lines.append(f"| {one.name} | {one.kills} | {counts} | {'yes' if one.same else '**no**'} |")
    total = sum(one.kills for one in found)
    beyond, again = sum(one.beyond_cap for one in found), sum(one.asked_again for one in found)
    same = "yes" if all(one.same for one in found) else "**no**"
    return "\n".join([*lines, f"| all | {total} | | | {beyond} | {again} | {same} |", FOOT])


def main() -> None:
    """Attack every scene and write the table."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--kills", type=int, default=20, help="of each scene")
    parser.add_argument("--only", nargs="+", default=[], help="parts of the names of scenes")
    parser.add_argument("-o", "--output", type=Path, default=FIGURES)
    given = parser.parse_args()
    chance, found = random.Random(20261122), []
    for scene in SCENES:
        if not given.only or any(part in scene.name for part in given.only):
            found.append(attacked(scene, given.kills, chance))
            print(found[-1], flush=True)
    given.output.mkdir(parents=True, exist_ok=True)
    (given.output / "kills.md").write_text(page(found, given.kills), "utf-8")
    sys.exit(not all(one.kept for one in found))


if __name__ == "__main__":
    main()
