"""The catalogue of ratings: finds the runs in a folder and the rating that is in force for a service."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from trustgauge.errors import Fault, PlanError, StoreError, TrustgaugeError
from trustgauge.plugins import unknown
from trustgauge.reports.document import schema
from trustgauge.reports.shape import misfit

_RUN = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Entry:
    """One rating of a catalogue, with the folder it came from."""

    folder: Path
    document: dict[str, Any]  # the run's rating.json
    rating: dict[str, Any]

    def expired(self, today: date) -> bool:
        return str(self.rating["expires"]) < today.isoformat()


def runs(ratings: Path) -> Iterator[Path]:
    """Folders that hold a `rating.json`, newest first."""
    found = []
    for path in ratings.glob("*/rating.json") if ratings.is_dir() else ():
        with contextlib.suppress(StoreError):  # one broken run must not hide the others
            found.append((started(path.parent), path.parent.name, path.parent))
    yield from (folder for _, _, folder in sorted(found, reverse=True))


def started(folder: Path) -> str:
    """When the run of a folder began, ISO 8601."""
    return str(read(folder)["run"]["started"])


def read(folder: Path) -> dict[str, Any]:
    """The `rating.json` of a run folder.

    Raises:
        StoreError: there is none, it cannot be read, or it has not the shape of its published schema.
    """
    path = folder / "rating.json"
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise StoreError(
            f"no rating in {folder}", must="a run folder with a rating.json", do="`trustgauge list ratings`"
        ) from None
    except OSError as error:
        raise StoreError(
            f"{path} cannot be read", must="a readable file", got=error.strerror or str(error)
        ) from None
    except RecursionError:
        raise _broken(path, "lists within lists without end") from None
    except ValueError as error:
        raise _broken(path, str(error)) from None
    if found := misfit(document, _schema()):
        raise _broken(path, found)
    return dict(document)


@contextlib.contextmanager
def shown(folder: Path) -> Iterator[None]:
    """Tell a `rating.json` whose details no view can show from a fault of ours.

    The schema leaves the details of a method free, so a view can meet what no method writes.

    Raises:
        StoreError: what is inside failed on the document.
    """
    try:
        yield
    except TrustgaugeError:
        raise
    except Exception as error:  # templates and figures fail in ways of their own
        got = f"details that cannot be shown ({type(error).__name__})"
        raise _broken(folder / "rating.json", got) from error


def _broken(path: Path, got: str) -> StoreError:
    do = "Run its plan.toml again: it is written anew without a call. If that does not help, report it"
    return StoreError(f"{path} is broken", must="the rating.json of a run", got=got, do=do)


@lru_cache(maxsize=1)
def _schema() -> dict[str, Any]:
    return dict(schema())


def entries(ratings: Path) -> Iterator[Entry]:
    """All ratings of a folder, newest run first. Runs that cannot be read are passed over."""
    for folder in runs(ratings):
        document = read(folder)
        for rating in document["ratings"]:
            yield Entry(folder, document, rating)


def folder_of(name: str, ratings: Path) -> Path:
    """The run folder meant by an id, the start of an id, `latest`, or a path.

    Raises PlanError naming the runs there are.
    """
    path = Path(name)
    if path.name in ("rating.json", "report.html"):
        path = path.parent
    if path.is_dir() and (path / "manifest.json").exists():
        return path
    whole = ratings / name
    if _RUN.fullmatch(name) and (whole / "manifest.json").exists():
        return whole
    found = list(runs(ratings))
    if name == "latest" and found:
        return found[0]
    run = name.rsplit(".", 1)[0] if name.rsplit(".", 1)[-1].isdigit() else name
    matching = [folder for folder in found if folder.name.startswith(run)]
    if len(matching) == 1 or any(folder.name == run for folder in matching):
        return next((folder for folder in matching if folder.name == run), matching[0])
    what = f'no rating "{name}"' if not matching else f'"{name}" means several ratings'
    must = "one of: " + ", ".join(folder.name for folder in (matching or found)[:10]) if found else ""
    raise PlanError((Fault(str(ratings), what, must=must, do="`trustgauge list ratings` shows them"),))


def find(ratings: Path, service: str) -> list[Entry]:
    """Ratings of a service by name, newest first; `service:part` means one part of it."""
    name = service.partition(":")[0]
    return [one for one in entries(ratings) if one.rating["service"]["key"] == name]


def only(document: dict[str, Any], name: str) -> dict[str, Any]:
    """The run's document cut down to one rating, if `name` is the id of one of several."""
    ids = tuple(str(rating["id"]) for rating in document["ratings"])
    if name in ids:
        return {**document, "ratings": [document["ratings"][ids.index(name)]]}
    if name.rpartition(".")[2].isdigit() and Path(name).name == name:
        raise PlanError((unknown("ID", "rating", name, ids),))
    return document
