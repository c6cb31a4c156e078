"""Locking a plan: its hash is written down before the run, and a run of another plan is refused."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from trustgauge.errors import StoreError
from trustgauge.plan import Plan
from trustgauge.records import canonical
from trustgauge.store.folder import write_file

SCHEMA = "trustgauge.lock/1"


def lock_path(plan: Path) -> Path:
    """Where the lock of a plan lies: beside it."""
    return plan.with_name(f"{plan.name}.lock")


def write_lock(path: Path, plan: Plan, now: datetime) -> Path:
    """Write down what a plan is now. Returns the file. Raises StoreError if the plan is locked already."""
    target = lock_path(path)
    if target.exists():
        do = "Delete it to lock the plan again; holders of the old file will see the difference in time"
        raise StoreError(f"{path} is locked already", must="a plan without a lock", got=str(target), do=do)
    content = {"schema": SCHEMA, "plan": plan.hash, "at": now.isoformat(timespec="seconds")}
    write_file(target, canonical(content) + "\n", private=False)
    return target


def checked_lock(path: Path, plan: Plan) -> dict[str, str] | None:
    """Hash and time of the lock of a plan; None if it is not locked.

    Raises StoreError if the plan is not the one that was locked, or the lock cannot be read.
    """
    target = lock_path(path)
    try:
        if not target.exists():
            return None
        found: Any = json.loads(target.read_text("utf-8"))
    except OSError as error:
        raise StoreError(f"{target} cannot be read", got=error.strerror or str(error)) from None
    except (ValueError, RecursionError):
        found = None
    fits = isinstance(found, dict) and found.get("schema") == SCHEMA
    if not fits or not all(isinstance(found.get(key), str) for key in ("plan", "at")):
        raise StoreError(f"{target} is no lock", must=f"what `trustgauge lock {path}` writes")
    if found["plan"] != plan.hash:
        raise StoreError(
            f"{path} is not the plan that was locked at {found['at']}",
            must=f"the plan hash {found['plan']}",
            got=plan.hash,
            do=f"Bring the plan and its options back as they were, or delete {target}",
        )
    return {"plan": found["plan"], "at": found["at"]}
