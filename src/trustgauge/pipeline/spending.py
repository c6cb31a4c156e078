"""What a run has spent over all its sittings: the caps of its plan hold for all of them together.

Answers tell what they cost. A unit that was broken off in the middle, by a limit or by Ctrl-C, leaves no
answer, though calls were made for it; the manifest counts those (`unkept`), as it counts the seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trustgauge.execution.engine import Outcome
from trustgauge.pipeline.sitting import Prepared
from trustgauge.records import Cost
from trustgauge.store.folder import RunFolder
from trustgauge.store.store import Store

_DUST = 1e-9  # rounding of sums of dollars


def spent_before(prepared: Prepared, store: Store, manifest: Mapping[str, Any]) -> Cost:
    """What all sittings so far spent; controls cost nothing."""
    kept, unkept = _kept(prepared, store), manifest.get("unkept", {})
    return replace(
        kept,
        calls=kept.calls + int(unkept.get("calls", 0)),
        usd=kept.usd + float(unkept.get("usd", 0.0)),
        tokens=kept.tokens + int(unkept.get("tokens", 0)),
        seconds=float(manifest.get("seconds", 0.0)),
    )


class Spending:
    """The account of one sitting."""

    def __init__(self, prepared: Prepared, folder: RunFolder) -> None:
        self.before = spent_before(prepared, folder.store, folder.manifest())
        self._prepared, self._folder = prepared, folder
        self._kept = _kept(prepared, folder.store)

    def note(self, outcomes: Sequence[Outcome], seconds: float) -> None:
        """Add what this sitting spent to the manifest; its answers are committed.

        Args:
            outcomes: of its runs, also of one that was interrupted.
            seconds: how long it took.
        """
        now, then = _kept(self._prepared, self._folder.store), self._kept
        unkept = dict(self._folder.manifest().get("unkept", {}))
        for name in ("calls", "usd", "tokens"):
            made = sum(getattr(one, name) for one in outcomes)
            kept = getattr(now, name) - getattr(then, name)
            if made - kept > _DUST:
                unkept[name] = unkept.get(name, 0) + made - kept
        facts = {"unkept": unkept} if unkept else {}
        self._folder.note(seconds=self.before.seconds + seconds, **facts)


def _kept(prepared: Prepared, store: Store) -> Cost:
    """What the kept answers cost."""
    rated = (one for one in prepared.subjects if one.anchor is None)
    return store.cost([one.fingerprint for one in (*rated, *prepared.judges)])
