"""Recorded round trips as a service: each language is a part, and answers as it was recorded (two-step 1.3).

    [services.theirs]
    use = "recorded-round-trips"
    trips = { file = "records.csv" }

What was sent is sent again, and what came back comes from the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import Field

from trustgauge.errors import RejectedError
from trustgauge.records import Message, Reply, Task
from trustgauge.services.normalise_output import storable
from trustgauge.services.round_trips import RoundTripSource
from trustgauge.services.service import ServiceSpec

if TYPE_CHECKING:
    import polars as pl


class RoundTripReplay(ServiceSpec):
    """Texts that others sent through a translator and back, with what came back.

    A text that was sent and did not come back is missing; a text that was sent several times has as many
    draws.
    """

    use: str = "recorded-round-trips"
    task: ClassVar[Task] = "translate"
    kind: ClassVar[str] = "recorded round trips"
    collected: ClassVar[str] = "from a log"
    batch: ClassVar[int] = 500
    deterministic: ClassVar[bool] = False

    trips: RoundTripSource = Field(description="Where the round trips are, and how they are read")
    language: str = Field("", description="Only this middle language; by default all of the files")

    def identity(self) -> Mapping[str, Any]:
        """What the files hold, not where they lie."""
        return {"use": self.use, "trips": self.trips.identity(), "language": self.language}

    def version(self) -> str:
        return self.fingerprint[:8]

    def uses_history(self) -> bool:
        return False

    def check_requirements(self) -> None:
        """Raise PlanError if a file cannot be read."""
        self.trips.read()

    def parts(self) -> Mapping[str, Self]:
        """A part for each middle language, in the order of the files."""
        if self.language:
            return {self.language: self}
        languages = self.trips.read()["language"].unique(maintain_order=True)
        return {language: self.model_copy(update={"language": language}) for language in languages}

    def script(self) -> pl.DataFrame:
        """The texts that were sent as probes, with the language of each as `of_part`.

        All are of segment 0: the order of a file is not the order in which its texts were sent.
        """
        import polars as pl

        trips = self._numbered()
        return trips.select(
            id=pl.concat_str(pl.lit("trip-"), pl.int_range(1, pl.len() + 1).cast(pl.String)),
            message="sent",
            session=pl.lit(""),
            turn=pl.lit(0, pl.Int64),
            draw="draw",
            block="block",
            of_part="language",
            segment=pl.lit(0, pl.Int64),
        )

    def open(self) -> LiveRoundTripReplay:
        """The records, ready to answer.

        Raises:
            PlanError: a file cannot be read.
        """
        return LiveRoundTripReplay(_answers(self))

    def _numbered(self) -> pl.DataFrame:
        """The round trips of the language with `draw`: how often the same text came before."""
        import polars as pl

        trips = self.trips.read()
        if self.language:
            trips = trips.filter(pl.col("language") == self.language)
        return trips.with_columns(draw=pl.int_range(pl.len(), dtype=pl.Int64).over("language", "sent"))


class LiveRoundTripReplay:
    """Looks up what came back."""

    def __init__(self, answers: Mapping[tuple[str, int], tuple[str | None, str | None]]) -> None:
        self._answers = answers

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        return [self._reply(message) for message in messages]

    async def close(self) -> None:
        """Nothing is held."""

    def _reply(self, message: Message) -> Reply:
        received, middle = self._answers.get((message.text, message.draw), (None, None))
        if received is None:
            raise RejectedError("nothing came back for this text in the records", got=message.text[:60])
        return Reply(storable(received), trail=() if middle is None else (storable(middle),))


@lru_cache(maxsize=16)
def _answers(about: RoundTripReplay) -> dict[tuple[str, int], tuple[str | None, str | None]]:
    """What came back, and the text on the way, by what was sent and its draw."""
    rows = about._numbered().select("sent", "draw", "received", "middle")
    return {(sent, draw): (received, middle) for sent, draw, received, middle in rows.iter_rows()}
