"""Settings rated and counted, in several processes: the work of the command."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from benchmarks.calibration.counting import as_json, counted

MODULES = {
    "two-step": "benchmarks.calibration.two_step",
    "causal": "benchmarks.calibration.causal",
    "social-bias": "benchmarks.calibration.social_bias",
    "trust": "benchmarks.calibration.trust",
}
"""The module that builds the services of each method; each has `settings(runs, seed)`, or with `SHARDS`
`settings(runs, seed, shard)`, shares of about the same length, and may say in
`NOTES` why a target is missed, by what it is about ("wrong", "coverage", "power", "certainty"), and under
"known" what no target shows."""


def measured(methods: Sequence[str], runs: int, seed: int, jobs: int) -> dict[str, Any]:
    """What each method came to, as JSON; `jobs` processes, each with a share of one method at a time."""
    shares = [(name, shard) for name in methods for shard in _shards(name)]
    if jobs < 2 or len(shares) < 2:
        found = [measure(name, runs, seed, shard) for name, shard in shares]
    else:
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            started = [pool.submit(measure, name, runs, seed, shard) for name, shard in shares]
            found = [one.result() for one in started]
    told: dict[str, Any] = {}
    for (name, _), (seconds, settings) in zip(shares, found, strict=True):
        one = told.setdefault(name, {"runs": runs, "seed": seed, "cpu_seconds": 0, "settings": []})
        one["cpu_seconds"] += seconds
        one["settings"] += settings
    return told


def _shards(method: str) -> Sequence[int | None]:
    """The shares that the settings of a method come in; None: all in one."""
    shards = getattr(importlib.import_module(MODULES[method]), "SHARDS", 0)
    return range(shards) if shards else (None,)


def measure(method: str, runs: int, seed: int, shard: int | None) -> tuple[int, list[dict[str, Any]]]:
    """Processor seconds, and the settings of one share of a method, rated and counted."""
    start = time.process_time()
    settings = importlib.import_module(MODULES[method]).settings
    rows = [counted(one) for one in (settings(runs, seed) if shard is None else settings(runs, seed, shard))]
    return round(time.process_time() - start), as_json(rows)


def notes(method: str) -> dict[str, str]:
    """What the module of a method says of its targets."""
    return dict(getattr(importlib.import_module(MODULES[method]), "NOTES", {}))
