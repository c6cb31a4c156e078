"""From which runs beside it a run may copy answers (methods 0.3 (5)).

A new seed of a service that varies asks anew: its answers are another sample. So answers are copied from
runs of the same plan seed, and beyond that only those of a service that was verified deterministic there.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from trustgauge.errors import StoreError
from trustgauge.run.options import AskPlan
from trustgauge.run.rate import is_deterministic
from trustgauge.store.folder import find_run, other_runs, read_manifest
from trustgauge.store.store import open_store


class ReusableRuns:
    """The run folders that hold answers which a run may use, its own included, newest first.

    Args:
        ask_plan: the plan of the run, and whom it asks.
        ratings: folder of all runs.
        fresh: whether the run is to begin anew, without any answer.
    """

    def __init__(self, ask_plan: AskPlan, ratings: Path, *, fresh: bool = False) -> None:
        own = None if fresh else find_run(ratings, ask_plan.plan.hash)
        alone = own is not None and bool(read_manifest(own).get("fresh"))
        self.folders = [] if fresh else [own] if own and alone else other_runs(ratings)
        self._own, self._seed = own, ask_plan.plan.seed
        asked = (*ask_plan.targets, *ask_plan.judges)
        self._shared = {one.fingerprint for one in asked if one.deterministic}
        self._verified: dict[tuple[Path, str], bool] = {}

    def lends(self, folder: Path, fingerprint: str) -> bool:
        """Whether the answers of a service may be taken from a run."""
        if folder == self._own or read_manifest(folder).get("seed") == self._seed:
            return True
        if fingerprint not in self._shared:
            return False
        key = (folder, fingerprint)
        if key not in self._verified:
            self._verified[key] = _is_verified(folder, fingerprint)
        return self._verified[key]


def _is_verified(folder: Path, fingerprint: str) -> bool:
    """Whether a run asked some messages of a service twice and always got the same answer."""
    with contextlib.suppress(StoreError), open_store(folder) as store:
        repeats = list(store.repeats(fingerprint))
        return bool(repeats) and all(map(is_deterministic, repeats))
    return False
