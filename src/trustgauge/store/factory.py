"""Which store a run folder holds, and opening it: one of the plug-ins `trustgauge.stores`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, Self

from trustgauge import plugins
from trustgauge.store.store import Key, Store

USUAL = "sqlite"
"""The store of a run unless its plan or an option names another."""

_COPIED = 50_000  # keys that are copied at a time


class OpenStore(Store, Protocol):
    """A store that closes itself at the end of a `with` block."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> Any: ...


def store_path(folder: Path, kind: str) -> Path:
    """Where a store of this kind lies in a run folder: "store.sqlite"."""
    return folder / f"store.{kind}"


def kind_of(folder: Path) -> str | None:
    """The kind of store that a run folder holds, None if there is none."""
    return next((kind for kind in plugins.names("stores") if store_path(folder, kind).exists()), None)


def open_store(folder: Path, kind: str | None = None, *, read_only: bool = True) -> OpenStore:
    """Open the store of a run folder.

    Args:
        folder: of the run.
        kind: of a store that is to be made; one that is there already is of the kind it is.
        read_only: nothing is made or changed.

    Raises StoreError if there is none to read, or it cannot be opened; PlanError for an unknown kind.
    """
    found = kind_of(folder) or kind or USUAL
    opened: OpenStore = plugins.load("stores", found, "run.store")(
        store_path(folder, found), read_only=read_only
    )
    return opened


def copy_stored_answers(folder: Path, store: Store, fingerprint: str, wanted: Iterable[Key]) -> int:
    """Copy usable answers from the store of another run folder. Returns how many.

    Raises StoreError if that store cannot be read.
    """
    path = store_path(folder, kind_of(folder) or USUAL)
    if path.is_file():
        return store.borrow(path, fingerprint, wanted, folder.name)
    copied, keys = 0, iter(wanted)
    with open_store(folder) as other:
        while some := list(islice(keys, _COPIED)):
            copied += store.take(other.usable(fingerprint, _lacking(store, fingerprint, some)), folder.name)
    return copied


def _lacking(store: Store, fingerprint: str, keys: Sequence[Key]) -> list[Key]:
    return [key for key, known in zip(keys, store.holds(fingerprint, keys), strict=True) if not known]
