"""What a run has spent over all its invocations: the caps of its plan hold for all of them together.

Answers tell what they cost. A unit that was broken off in the middle, by a limit or by Ctrl-C, leaves no
answer, though calls were made for it; the manifest counts those (`unkept`), as it counts the seconds. A
invocation that was killed could not count; what it had reserved in its ledger beyond its answers counts as
spent, and is shown apart (`uncertain`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trustgauge.engine.budget import NAME, ReservationLedger, unaccounted_cost
from trustgauge.engine.local import EngineOutcome
from trustgauge.records import Cost
from trustgauge.run.options import AskPlan
from trustgauge.store.folder import RunFolder
from trustgauge.store.store import Store

_DUST = 1e-9  # rounding of sums of dollars
_PARTS = ("calls", "usd", "tokens")


def earlier_cost(ask_plan: AskPlan, store: Store, manifest: Mapping[str, Any]) -> Cost:
    """What all invocations so far spent, at most; controls cost nothing."""
    kept = _kept(ask_plan, store)
    for name in ("unkept", "uncertain"):
        kept = _plus(kept, manifest.get(name, {}))
    return replace(kept, seconds=float(manifest.get("seconds", 0.0)))


class CostLedger:
    """The account of one invocation. Takes over what an earlier one that was killed left in its ledger."""

    def __init__(self, ask_plan: AskPlan, folder: RunFolder) -> None:
        self._prepared, self._folder = ask_plan, folder
        self._kept = _kept(ask_plan, folder.store)
        path = folder.path / NAME
        lost = unaccounted_cost(path, self._kept)
        if lost != Cost():
            known = _plus(lost, folder.manifest().get("uncertain", {}))
            folder.note(uncertain={name: getattr(known, name) for name in _PARTS})
        path.unlink(missing_ok=True)
        self.before = earlier_cost(ask_plan, folder.store, folder.manifest())
        caps = ask_plan.plan.budget
        left = tuple(
            None if cap is None else max(0, cap - getattr(self.before, name))
            for name, cap in zip(_PARTS, (caps.calls, caps.usd, caps.tokens), strict=True)
        )
        self.ledger = ReservationLedger(path, left, self._kept)  # type: ignore[arg-type]

    def note(self, outcomes: Sequence[EngineOutcome], seconds: float) -> None:
        """Add what this invocation spent to the manifest; its answers are committed.

        Args:
            outcomes: of its runs, also of one that was interrupted.
            seconds: how long it took.
        """
        now, then = _kept(self._prepared, self._folder.store), self._kept
        unkept = dict(self._folder.manifest().get("unkept", {}))
        for name in _PARTS:
            made = sum(getattr(one, name) for one in outcomes)
            kept = getattr(now, name) - getattr(then, name)
            if made - kept > _DUST:
                unkept[name] = unkept.get(name, 0) + made - kept
        facts = {"unkept": unkept} if unkept else {}
        self._folder.note(seconds=self.before.seconds + seconds, **facts)
        self.ledger.close()


def _plus(cost: Cost, more: Mapping[str, Any]) -> Cost:
    return replace(
        cost,
        calls=cost.calls + int(more.get("calls", 0)),
        usd=cost.usd + float(more.get("usd", 0.0)),
        tokens=cost.tokens + int(more.get("tokens", 0)),
    )


def _kept(ask_plan: AskPlan, store: Store) -> Cost:
    """What the kept answers cost."""
    rated = (one for one in ask_plan.targets if one.control is None)
    return store.cost([one.fingerprint for one in (*rated, *ask_plan.judges)])
