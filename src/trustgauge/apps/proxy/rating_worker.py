r"""Rating what passed: so far, in a process of its own, and at the end, into the folder of a run.

    python -m trustgauge.apps.proxy.rating_worker \
        < {"transcript": ..., "place": ..., "name": ..., "settings": {...}}

A process of its own because rating takes seconds of computing, and what passes must not wait for it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trustgauge.errors import TrustgaugeError
from trustgauge.reports import terminal
from trustgauge.reports.html import report
from trustgauge.run import rate_transcript, render, run
from trustgauge.run.options import RunOptions
from trustgauge.store.folder import private_folder, write_file

if TYPE_CHECKING:
    from trustgauge.reports.document_model import RunDocument

_NICE = 10  # how far a rating on the way steps back behind what passes


@dataclass(frozen=True, slots=True)
class RatingTarget:
    """What is rated: its name in the rating, and the settings of the trust experiment."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Raise PlanError for settings that are wrong, before anything has passed."""
        said = {"use": "chat-anchor", "behaviour": "refuser"}  # any service will do: none is asked
        rate_transcript.plan_with(said, self.name, self.settings)


def check_transcript(transcript: Path, subject: RatingTarget) -> None:
    """Raise PlanError, before anything has passed, for a file that could not be rated at the end."""
    data = transcript.read_bytes() if transcript.is_file() else b""
    said = b'{"dialog": "next", "speaker": "bot", "text": "what will be said"}\n'
    with tempfile.TemporaryDirectory(prefix="trustgauge-") as place:
        copy = Path(place) / transcript.name
        copy.write_bytes(data[: data.rfind(b"\n") + 1] + said)
        rate_transcript.plan_of(copy, subject.name, subject.settings)


def rate_so_far(transcript: Path, subject: RatingTarget, place: Path) -> dict[str, Any]:
    """The ratings of what a transcript holds now, as `rating.json` holds them, and a line on each.

    Args:
        transcript: to which lines may be added meanwhile.
        subject: what is rated.
        place: an empty folder; whoever asks removes it afterwards.

    Raises:
        TrustgaugeError: it cannot be rated, as when the bot has not said anything yet.
    """
    copy = place / transcript.name
    data = transcript.read_bytes()
    copy.write_bytes(data[: data.rfind(b"\n") + 1])
    plan = rate_transcript.plan_of(copy, subject.name, subject.settings)
    document = run.rate(plan, RunOptions(ratings=place)).document
    said = [terminal.plain([terminal.headline(one)]) for one in document["ratings"]]
    return {"said": said, "ratings": document["ratings"]}


def rate_at_end(
    transcript: Path, subject: RatingTarget, ratings: Path, *, redact: bool
) -> tuple[RunDocument, Path]:
    """Rate a whole transcript into a run's folder under `ratings`. Returns `rating.json` and the folder.

    With `redact` the folder holds the scores only: `rating.json`, and the report without its texts.

    Raises:
        TrustgaugeError: it cannot be rated, or the folder cannot be written.
    """
    plan = rate_transcript.plan_of(transcript, subject.name, subject.settings)
    if not redact:
        finished = rate_transcript.rate(plan, RunOptions(ratings=ratings))
        return finished.document, finished.folder
    with tempfile.TemporaryDirectory(prefix="trustgauge-") as place:
        for taken in ratings.glob("TG-*"):  # so that the run gets a name that is free
            (Path(place) / taken.name / "taken").mkdir(parents=True)
        document = run.rate(plan, RunOptions(ratings=Path(place))).document
    folder = ratings / str(document["run"]["id"])
    private_folder(folder, exist_ok=True)
    write_file(folder / "rating.json", render.text(document))
    write_file(folder / "report.html", report(document))
    return document, folder


def main() -> None:
    """Rate as stdin says; the result, or why there is none, is one JSON document on stdout."""
    with suppress(OSError, AttributeError):
        os.nice(_NICE)
    asked = json.load(sys.stdin)
    try:
        subject = RatingTarget(asked["name"], asked["settings"])
        found = rate_so_far(Path(asked["transcript"]), subject, Path(asked["place"]))
    except TrustgaugeError as error:
        found = {"error": {"code": error.code, "message": str(error)}}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
