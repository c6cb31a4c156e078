"""The catalogue of ratings: finds the runs in a folder and the rating that is in force for a service."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trustgauge.errors import IntegrityError, PlanError, StoreError, TrustgaugeError, UnfinishedError
from trustgauge.plugins import unknown
from trustgauge.store import open_store
from trustgauge.store.folder import MANIFEST, check_ordinary, read_manifest

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RatingEntry, RunDocument

_INDEX = ".index.json"
_VERSION = 4
_RUN = re.compile(r"[A-Za-z0-9-]+")
_PLAN = "trustgauge.toml"


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """One rating of a catalogue, with the folder it came from."""

    folder: Path
    document: RunDocument  # the run's rating.json
    rating: RatingEntry

    def is_expired(self, today: date) -> bool:
        return str(self.rating["expires"]) < today.isoformat()


@dataclass(frozen=True, slots=True)
class RatingSummary:
    """What a list needs of one rating."""

    id: str
    tested: str
    expires: str
    method: str
    attribute: str
    rule: str
    level: str | None
    state: str
    service: str
    key: str  # of the service
    cause: str = ""  # why not everything was asked: "limit", or "error" of the service


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """What the index holds of one `rating.json`.

    Attributes:
        mtime, size: of the file (nanoseconds, bytes) when it was read; if they differ it is read again.
        started: when the run began, ISO 8601; "" if the file is broken.
        plan: hash of the plan.
        state: of the run.
        lines: its ratings.
        ended: when it was last rated with new answers, ISO 8601.
        contradicts: whether it contradicts itself, so that it is verified and not believed.
    """

    mtime: int
    size: int
    started: str = ""
    plan: str = ""
    state: str = ""
    lines: tuple[RatingSummary, ...] = ()
    ended: str = ""
    contradicts: bool = False


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """A run with answers and no rating: it was killed, or is still under way.

    Attributes:
        folder: of the run.
        began: when, ISO 8601.
        plan: hash of the plan.
        services: names of those it asks.
        answers: how many it holds of them that need not be asked again; those of the controls do not count.
    """

    folder: Path
    began: str
    plan: str
    services: tuple[str, ...]
    answers: int

    @property
    def resume(self) -> str:
        """The command that goes on with it."""
        place = self.folder.parent
        kept = "" if place == Path("ratings") else f" --ratings {shlex.quote(str(place))}"
        return f"trustgauge rate {shlex.quote(str(self.folder / 'plan.toml'))}{kept}"

    def facts(self) -> dict[str, Any]:
        """The run as plain data, for a list and for --json."""
        return {
            "id": self.folder.name,
            "tested": self.began[:10],
            "state": "unfinished",
            "service": ", ".join(self.services),
            "answers": self.answers,
            "resume": self.resume,
        }


def index(ratings: Path) -> Mapping[str, IndexedRun]:
    """What is in every run folder that holds a `rating.json`, by the folder's name.

    It is kept in `ratings/.index.json`; only what has changed since is read. A folder that cannot be
    written to is read again each time, and a broken index is made again.
    """
    before, found = _kept_index(ratings), dict[str, IndexedRun]()
    for name, mtime, size in rating_files(ratings):
        known = before.get(name)
        fresh = known is not None and (known.mtime, known.size) == (mtime, size)
        found[name] = known if known is not None and fresh else _indexed(ratings / name, mtime, size)
    if found != before:
        _keep_index(ratings, found)
    return found


def rating_files(ratings: Path) -> Iterator[tuple[str, int, int]]:
    """Run folders with a `rating.json`, and its time and size, which tell what changed."""
    with contextlib.suppress(OSError), os.scandir(ratings) as folders:
        for folder in folders:
            with contextlib.suppress(OSError):
                facts = os.stat(os.path.join(folder.path, "rating.json"))  # noqa: PTH116, PTH118  of thousands
                if stat.S_ISREG(facts.st_mode):
                    yield folder.name, facts.st_mtime_ns, facts.st_size


def _indexed(folder: Path, mtime: int, size: int) -> IndexedRun:
    from trustgauge.reports import document_model

    try:
        document = read_claims(folder)
    except StoreError:  # one broken run must not hide the others
        return IndexedRun(mtime, size)
    run, contradicts = document["run"], bool(document_model.contradiction(document))
    lines = tuple(
        RatingSummary(
            id=one["id"],
            tested=one["tested"],
            expires=one["expires"],
            method=one["method"]["name"],
            attribute=one["issue"]["attribute"],
            rule=one["method"]["rule"],
            level=one["overall"]["level"],
            state=one["state"],
            service=one["service"]["name"],
            key=one["service"]["key"],
            cause=_cause(one),
        )
        for one in document["ratings"]
    )
    plan = str(run["hashes"].get("plan", ""))
    return IndexedRun(mtime, size, run["started"], plan, run["state"], lines, run["ended"], contradicts)


def _cause(rating: RatingEntry) -> str:
    """The fact of a rating's reasons that says why not everything was asked; "" if none does."""
    ended = (one["facts"] for one in rating["reasons"] if one["code"] == "not-finished")
    return next((cause for facts in ended for cause in ("error", "limit") if cause in facts), "")


def _kept_index(ratings: Path) -> dict[str, IndexedRun]:
    path = ratings / _INDEX
    try:
        if not path.is_file():
            return {}
        kept = json.loads(path.read_text("utf-8"))
        if kept["version"] != _VERSION:
            return {}
        return {
            name: IndexedRun(**{**one, "lines": tuple(RatingSummary(**line) for line in one["lines"])})
            for name, one in kept["runs"].items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _keep_index(ratings: Path, found: Mapping[str, IndexedRun]) -> None:
    text = json.dumps({"version": _VERSION, "runs": {name: asdict(one) for name, one in found.items()}})
    draft = ratings / f"{_INDEX}.{os.getpid()}"
    with contextlib.suppress(OSError):
        try:
            with draft.open("x", encoding="utf-8") as file:
                file.write(text)
            draft.replace(ratings / _INDEX)
        finally:
            draft.unlink(missing_ok=True)


def run_folders(ratings: Path, *, all_claims: bool = False) -> Iterator[Path]:
    """Folders that hold a `rating.json`, newest first; no copy of a run beside the folder of its name.

    Those that contradict themselves only with `all_claims`: they can be verified, and nothing else.
    """
    every = {name: run for name, run in index(ratings).items() if all_claims or not run.contradicts}
    found = [(one.started, name) for name, one in every.items() if one.started]
    yield from (ratings / name for _, name in sorted(found, reverse=True) if not _is_copy(name, every))


def _is_copy(name: str, every: Mapping[str, IndexedRun]) -> bool:
    run = every[name]
    own = run.lines[0].id.partition(".")[0] if run.lines else name
    return own != name and own in every and every[own].started == run.started


def unfinished_runs(ratings: Path) -> list[UnfinishedRun]:
    """The runs of a folder that have answers and no rating yet, newest first."""
    found = [one for folder in _unrated_folders(ratings) if (one := unfinished_run(folder)) is not None]
    return sorted(found, key=lambda one: (one.began, one.folder.name), reverse=True)


def _unrated_folders(ratings: Path) -> Iterator[Path]:
    """Folders with a manifest and no rating.json; a folder that is still being made is none."""
    with contextlib.suppress(OSError), os.scandir(ratings) as folders:
        for name in sorted(folder.name for folder in folders if not folder.name.startswith(".")):
            if (ratings / name / MANIFEST).is_file() and not (ratings / name / "rating.json").exists():
                yield ratings / name


def unfinished_run(folder: Path) -> UnfinishedRun | None:
    """What a run folder without a rating holds; None if it has a rating, or was never run."""
    if (folder / "rating.json").exists():
        return None
    try:
        manifest = read_manifest(folder)
    except StoreError:
        return None
    asked = [one for one in manifest.get("subjects", ()) if isinstance(one, dict) and not one.get("anchor")]
    if not asked:
        return None
    services = tuple(dict.fromkeys(str(one.get("service")) for one in asked))
    answers = 0
    with contextlib.suppress(TrustgaugeError, OSError), open_store(folder) as store:
        answers = sum(len(store.present(mark)) for mark in {str(one.get("fingerprint")) for one in asked})
    return UnfinishedRun(folder, str(manifest.get("began", "")), manifest["plan"], services, answers)


def read(folder: Path) -> RunDocument:
    """The `rating.json` of a run folder, whose levels fit their certainty.

    Raises:
        StoreError: see `read_claims`, or it contradicts itself.
    """
    from trustgauge.reports import document_model

    document = read_claims(folder)
    if found := document_model.contradiction(document):
        raise _broken(folder / "rating.json", found)
    return document


def read_claims(folder: Path) -> RunDocument:
    """The `rating.json` of a run folder as it stands, for `verify` to compare with its answers.

    Raises:
        UnfinishedError: the run was not rated yet.
        StoreError: there is none, it cannot be read, or it has not the shape of its published schema.
    """
    path = folder / "rating.json"
    check_ordinary(folder)
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if (run := unfinished_run(folder)) is not None:
            got = f"{run.answers:,} answer{'s' * (run.answers != 1)} and no rating yet"
            do = f"`{run.resume}` goes on with it"
            raise UnfinishedError(f"{folder} is unfinished", got=got, do=do) from None
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
    from trustgauge.reports import document_model  # pydantic: a list from the index does without

    if found := document_model.misfit(document):
        raise _broken(path, found)
    checked: RunDocument = document
    return checked


@contextlib.contextmanager
def explaining_errors(folder: Path) -> Iterator[None]:
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


def _broken(path: Path, got: str) -> IntegrityError:
    do = "Run its plan.toml again: it is written again without a call. If that does not help, report it"
    return IntegrityError(f"{path} is broken", must="the rating.json of a run", got=got, do=do)


def entries(ratings: Path) -> Iterator[CatalogueEntry]:
    """All ratings of a folder, newest run first. Runs that cannot be read are passed over."""
    for folder in run_folders(ratings):
        document = read(folder)
        for rating in document["ratings"]:
            yield CatalogueEntry(folder, document, rating)


def find_folder(name: str, ratings: Path) -> Path:
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
    found = list(run_folders(ratings, all_claims=True))
    if name == "latest" and found:
        # A run that began earlier may have been continued since.
        known = index(ratings)
        return max(found, key=lambda folder: (known[folder.name].ended, known[folder.name].started))
    run = name.rsplit(".", 1)[0] if name.rsplit(".", 1)[-1].isdigit() else name
    found += _unrated_folders(ratings)
    matching = [folder for folder in found if folder.name.startswith(run)]
    if len(matching) == 1 or any(folder.name == run for folder in matching):
        return next((folder for folder in matching if folder.name == run), matching[0])
    if not matching and (path / _PLAN).is_file():  # as `trustgauge import` writes it
        do = f"`trustgauge rate {path / _PLAN}` rates it; then name the run, or this plan"
        raise PlanError.of(name, "a folder with a plan, and no rating", must="a run", do=do)
    what = f'no rating "{name}"' if not matching else f'"{name}" means several ratings'
    if not found:
        what = f"{what}: no run lies in {ratings.absolute()}"
        do = "`trustgauge rate` makes one; --ratings names another folder (here or in TRUSTGAUGE_RATINGS)"
        raise PlanError.of(str(ratings), what, do=do)
    if name == "latest":
        do = f"Finish {found[-1].name} first, by the command that began it"
        raise PlanError.of(str(ratings), "no run is rated yet", do=do)
    must = "one of: " + ", ".join(folder.name for folder in (matching or found)[:10])
    raise PlanError.of(str(ratings), what, must=must, do="`trustgauge list ratings` shows them")


def named_entries(known: Iterable[CatalogueEntry], service: str) -> list[CatalogueEntry]:
    """Those of some ratings that a service's name means, in their order; `service:part` means one part of it.

    A service's name may hold ":" itself: of the rated names that `service` begins with the longest counts.
    """
    named = [one for one in known if f"{service}:".startswith(f"{one.rating['service']['key']}:")]
    longest = max((len(one.rating["service"]["key"]) for one in named), default=0)
    return [one for one in named if len(one.rating["service"]["key"]) == longest]


def select_rating(document: RunDocument, name: str) -> RunDocument:
    """The run's document cut down to one rating, if `name` is the id of one of several."""
    ids = tuple(str(rating["id"]) for rating in document["ratings"])
    if name in ids:
        return {**document, "ratings": [document["ratings"][ids.index(name)]]}
    if name.rpartition(".")[2].isdigit() and Path(name).name == name:
        raise PlanError((unknown("ID", "rating", name, ids),))
    return document
