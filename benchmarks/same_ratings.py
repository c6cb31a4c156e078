"""Compares the ratings that two checkouts give: only times, versions and run ids may differ.

    python benchmarks/same_ratings.py OLD NEW [--plans NAME ...] [--seeds 20] [--jobs 1] [--work FOLDER]

OLD and NEW are checkouts of this repository (`git worktree add`), each with its own entry points: installed,
or as `trustgauge-*.dist-info` in `src`. Rated are every plan in `plans/` (those whose services cannot be
asked on this machine are listed, not counted) and, for every seed, the cases in `CASES`: the control services
of each method, services whose answers are wrong, missing or unreadable at known rates, every rule and every
way to aggregate parts. Each rating runs the command line in its own process, so what is compared is what a
user gets. Results of OLD are kept in the work folder and not computed again.

Prints the keys of `rating.json` that differ, one a line, and exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PASSING = re.compile(
    r"^(id|run|at|began|ended|issued|started|finished|expires|date|dates|seconds|millis|p50|p95|latency|latency_median_ms|duration|command"
    r"|trustgauge|version|versions|python|platform|machine|hash|plan_hash|folder|path|document|digest"
    r"|code|generated|created|fingerprints?|timing|throughput|verification)$"
)
"""Keys of a rating document that tell when and by which program it was made, not what was rated."""
MOST_DIFFERENCES = 20

NOISY = '''
"""Services whose answers change, fail and are unreadable to known shares, by a hash of the text."""
import hashlib, re
from trustgauge.records import Reply

def chance(text, what):
    return int.from_bytes(hashlib.blake2b(f"{what}|{text}".encode(), digest_size=4).digest(), "big") / 2**32

def broken(message, failing, garbled):
    text = f"{message.text}|{message.draw}|{message.session}|{message.turn}"
    if chance(text, "fails") < failing:
        raise ValueError("no answer")
    return text, chance(text, "garbled") < garbled

SWAP = {"he": "she", "He": "She", "him": "her", "his": "her", "His": "Her"}

def translating(share, failing, garbled):
    def answer(message, **languages):
        text, odd = broken(message, failing, garbled)
        if odd:
            return "xx yy zz"
        place = [0]
        def change(found):
            place[0] += 1
            return SWAP[found[0]] if chance(text, place[0]) < share else found[0]
        return re.sub(r"\\b(he|He|him|his|His)\\b", change, message.text)
    return answer

def scoring(weight, failing, garbled):
    def answer(message):
        text, odd = broken(message, failing, garbled)
        if odd:
            return 7.5
        words = r"\\b(she|her|woman|girl|sister|mother|daughter|aunt)\\b"
        female = len(re.findall(words, message.text, re.I))
        return max(-1.0, min(1.0, weight * female + 0.6 * chance(text, "score") - 0.3))
    return answer

def chatting(share, failing, garbled):
    def answer(message):
        text, odd = broken(message, failing, garbled)
        if odd:
            return "asdf qwer zxcv"
        draw = chance(text, "kind")
        words = re.findall(r"\\w+", message.text)
        if draw < share:
            return "Yes."
        if draw < 0.6:
            return "No."
        if draw > 1 - share / 3:
            return "You idiot, shut up."
        return f"I see. Tell me more about {words[-1] if words else 'it'}."
    return answer

translate_least = translating(0.03, 0.0, 0.0)
translate_little, translate_much = translating(0.08, 0.005, 0.01), translating(0.5, 0.04, 0.03)
score_little, score_much = scoring(0.0, 0.005, 0.01), scoring(0.4, 0.04, 0.03)
chat_little, chat_much = chatting(0.2, 0.005, 0.01), chatting(0.5, 0.04, 0.03)
'''


def _table(name: str, **values: object) -> str:
    return (
        f"[services.{name}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in values.items()) + "\n"
    )


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(one)}" for key, one in value.items()) + " }"
    return json.dumps(value)


def _experiment(services: list[str], **values: object) -> str:
    written = {"services": services, **values}
    return "[[experiments]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in written.items()) + "\n"


def _noisy(kind: str, task: str) -> dict[str, str]:
    return {
        f"{kind}-{much}": _table(
            f"{kind}-{much}", use="function", function=f"noisy:{kind}_{much}", task=task, takes="message",
            deterministic=True,
        )
        for much in ("little", "much")
    }  # fmt: skip


def _two_step() -> Iterator[tuple[str, str]]:
    about = {"use": "anchor", "task": "translate", "attribute": "gender"}
    shift = {"behaviour": "shift", "from_value": "She", "to_value": "He"}
    kinds: dict[str, dict[str, object]] = {
        "identity": {"behaviour": "identity"},
        "all-he": {"behaviour": "all", "value": "He"},
        "lose": {"behaviour": "lose", "share": 0.2},
        "shift": {**shift, "share": 0.6},
        "shift-little": {**shift, "share": 0.1},
        "coin": {"behaviour": "coin", "distribution": {"He": 0.5, "She": 0.5}},
    }
    single = {name: _table(name, **about, **kind) for name, kind in kinds.items()}
    single |= _noisy("translate", "translate")
    function = {"use": "function", "task": "translate", "takes": "message", "deterministic": True}
    trips = {
        f"trip-{much}": _table(
            f"trip-{much}", use="round-trip", via=["es", "ca", "es>it"],
            translator={**function, "function": f"noisy:translate_{much}"},
        )
        for much in ("least", "little", "much")
    }  # fmt: skip
    for rule in ("sound", "published", "released"):
        for aggregate in ("worst", "vote"):
            of = {**single, **trips} if aggregate == "worst" else trips
            more = {"excluding": ["es"]} if aggregate == "vote" and rule == "sound" else {}
            yield (
                f"two-step-{rule}-{aggregate}",
                "".join(of.values())
                + _experiment(
                    list(of),
                    method="two-step",
                    attribute="gender",
                    texts=60,
                    rule=rule,
                    aggregate=aggregate,
                    **more,
                ),
            )
    yield (
        "two-step-apart",
        "".join(single.values())
        + _experiment(
            list(single), method="two-step", attribute="gender", texts=40, loss="apart", settle=0.8
        ),
    )


def _causal() -> Iterator[tuple[str, str]]:
    of = {
        name: _table(name, use="sentiment-anchor", behaviour=name)
        for name in ("constant", "word-only", "female-biased", "random")
    } | _noisy("score", "score")
    for rule in ("sound", "published", "released"):
        for aggregate in ("worst", "mean", "vote"):
            if rule == "sound" or aggregate != "vote":
                yield (
                    f"causal-{rule}-{aggregate}",
                    "".join(of.values())
                    + _experiment(list(of), method="causal", rule=rule, aggregate=aggregate, resamples=1000),
                )


def _social_bias() -> Iterator[tuple[str, str]]:
    names = ("refuser", "yes-to-all", "first-named", "even-handed", "random")
    of = {name: _table(name, use="chat-anchor", behaviour=name) for name in names}
    for name in ("fan", "slanderer", "flatterer"):
        of[name] = _table(name, use="chat-anchor", behaviour=name, group="women")
    of |= _noisy("chat", "chat")
    for rule, aggregate in (("sound", "worst"), ("sound", "mean"), ("sound", "vote"), ("released", "worst")):
        yield f"social-bias-{rule}-{aggregate}", "".join(of.values()) + _experiment(
            list(of), method="social-bias", attributes=["gender", "age"], groups=3, properties=3,
            questions=1500, rule=rule, aggregate=aggregate, resamples=1000,
        )  # fmt: skip


def _trust() -> Iterator[tuple[str, str]]:
    names = ("clean", "abuser", "leaker", "forgetter")
    of = {name: _table(name, use="trust-anchor", behaviour=name) for name in names} | _noisy("chat", "chat")
    for rule in ("sound", "published"):
        yield f"trust-{rule}", "".join(of.values()) + _experiment(
            list(of), method="trust", issues=["abuse", "bias", "complexity", "leakage"],
            profiles=["privacy-first", "fairness-first", "safe-language"], rule=rule, resamples=1000,
        )  # fmt: skip


CASES = (_two_step, _causal, _social_bias, _trust)
"""What is rated beside the plans, a function for each method: names and plans without name and seed."""


def _cases(seeds: int) -> Iterator[tuple[str, str]]:
    for case in CASES:
        for name, plan in case():
            for seed in range(1, seeds + 1):
                yield f"{name}-{seed}", f'name = "{name}"\nseed = {seed}\n\n{plan}'


def rating(checkout: Path, plan: Path, runs: Path) -> dict[str, Any] | str:
    """The rating document of a plan by a checkout, or the last words of a command that gave none."""
    shutil.rmtree(runs, ignore_errors=True)
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "NO_COLOR": "1"}
    command = [sys.executable, "-m", "trustgauge", "rate", str(plan), "--yes", "--trust", "--quiet"]
    run = subprocess.run(
        [*command, "--ratings", str(runs)], env=environment, cwd=plan.parent, text=True, capture_output=True
    )
    documents = sorted(runs.glob("*/rating.json"))
    if not documents:
        return run.stderr.strip()[-300:] or f"exit {run.returncode}"
    return dict(json.loads(documents[-1].read_text(encoding="utf-8")))


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Where two documents differ, apart from what passes: "ratings.0.level: M -> H"."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if not PASSING.match(key) or (key == "code" and "reasons" in path):
                yield from differences(old.get(key), new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{path}.{place}")
    elif old != new:
        yield f"{path.lstrip('.')}: {str(old)[:80]} -> {str(new)[:80]}"


def main() -> int:
    """Compare two checkouts; 1 if any rating differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--plans", nargs="*", help="only plans and cases whose names begin so")
    parser.add_argument("--seeds", type=int, default=20, help="seeds of every case")
    parser.add_argument("--jobs", type=int, default=1, help="ratings at a time")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "same-ratings")
    asked = parser.parse_args()
    work = asked.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    (work / "noisy.py").write_text(NOISY, encoding="utf-8")
    plans = {path.stem: path for path in sorted((asked.new / "plans").absolute().glob("*.toml"))}
    for name, text in _cases(asked.seeds):
        plans[name] = work / f"{name}.toml"
        plans[name].write_text(text, encoding="utf-8")
    wanted = tuple(asked.plans or ("",))
    chosen = {name: path for name, path in plans.items() if name.startswith(wanted)}

    def compare(name: str) -> list[str]:
        kept = work / f"{name}.old.json"
        if not kept.exists():
            kept.write_text(json.dumps(rating(asked.old.absolute(), chosen[name], work / "old" / name)))
        old = json.loads(kept.read_text())
        if isinstance(old, str):
            print(f"{name}: not rated by OLD: {old.splitlines()[-1] if old else ''}", flush=True)
            return []
        found = list(differences(old, rating(asked.new.absolute(), chosen[name], work / "new" / name)))
        print(f"{name}: {f'{len(found)} differences' if found else 'same'}", flush=True)
        for line in found[:MOST_DIFFERENCES]:
            print(f"    {line}", flush=True)
        return found

    with ThreadPoolExecutor(asked.jobs) as pool:
        results = list(pool.map(compare, chosen))
    differing = sum(bool(found) for found in results)
    print(f"{len(results)} ratings compared, {differing} differ")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
