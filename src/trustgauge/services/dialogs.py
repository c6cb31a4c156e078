"""Recorded dialogs as a service: a corpus is rated like a bot that answered (docs/methods/trust.md).

    [services.helpdesk]
    use = "dialogs"
    dialogs = { layout = "csv", file = "helpdesk.csv" }

Each dialog is a session; what its users said is asked again, and the bot's answers come from the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Any, ClassVar

import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from trustgauge.data.dialogs import DialogSource
from trustgauge.data.tables import content_hash, fault, read_text
from trustgauge.errors import RejectedError
from trustgauge.plan import PlanPath
from trustgauge.records import Message, Reply, Task, canonical
from trustgauge.services import InProcessService, ServiceSpec, storable

TRIAL = "leakage-trial"
"""Session of the one probe whose answer is the outcome of a leakage trial."""
USER = "user"
PURPOSE = "talk"
COLLECTIONS = ("schema-guided", "qa")
"""Layouts of collections: they are sorted by topic, not by time, so no part of them is early or late."""


class Speaker(BaseModel):
    """The bot whose answers were recorded in live chat. It is the same bot, whatever was said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fingerprint: str = Field(min_length=1, description="Of the service that was talked to")
    version: str = Field("", description="Its version")
    place: str = Field("", description="Digest of where it is asked, whatever its version")


class Dialogs(ServiceSpec):
    """A corpus of recorded dialogs.

    Several utterances of one side in a turn are joined by line breaks, those inside an utterance
    becoming spaces; a turn in which the bot said nothing is empty, and one whose answer the log lacks
    (column `status`) is a call that failed. `trial` is the `trial.json` that
    `trustgauge train leakage-trial` wrote for this corpus (trust 4.1).
    """

    use: str = "dialogs"
    task: ClassVar[Task] = "chat"
    kind: ClassVar[str] = "recorded dialogs"
    collected: ClassVar[str] = "from a log"
    batch: ClassVar[int] = 500
    recorded_turns: ClassVar[bool] = True
    # Users may say the same in two dialogs, and get two answers: draws of one session.
    deterministic: ClassVar[bool] = False

    dialogs: DialogSource = Field(description="Where the dialogs are, and how they are read")
    trial: PlanPath | None = Field(None, description="Outcome of a leakage trial: its `trial.json`")
    speaker: Speaker | None = Field(None, description="Of a live chat: who answered; written by the chat")

    def identity(self) -> Mapping[str, Any]:
        """What the files hold, not where they lie."""
        known: dict[str, Any] = {"use": self.use, "dialogs": self.dialogs.identity()}
        known |= {"trial": content_hash(self.trial)} if self.trial else {}
        return known | ({"speaker": self.speaker.model_dump(exclude={"place"})} if self.speaker else {})

    def place_digest(self) -> str:
        """That of the bot that was talked to; talks of before, which do not tell, have none."""
        return self.speaker.place if self.speaker else super().place_digest()

    def version(self) -> str:
        return self.speaker.version if self.speaker else self.fingerprint[:8]

    def talked_with(self) -> str:
        """Fingerprint of the service that gave the answers in live chat; "" if they are no such talk."""
        return self.speaker.fingerprint if self.speaker else ""

    def uses_history(self) -> bool:
        return False

    def check_requirements(self) -> None:
        """Raise PlanError if a file cannot be read."""
        self.dialogs.read()
        self.outcome()

    def outcome(self) -> str:
        """What the leakage trial found, as canonical JSON on one line; "" without one.

        Raises:
            PlanError: the file cannot be read, or is not a JSON object.
        """
        if self.trial is None:
            return ""
        text, _ = read_text(self.trial, "trial")
        try:
            found = json.loads(text)
            written = canonical(found)
        except (ValueError, RecursionError):
            found, written = None, ""
        if not isinstance(found, dict):
            must = "the JSON that `trustgauge train leakage-trial` writes"
            raise fault(self.trial, "trial", "not an outcome of a leakage trial", must=must)
        return written

    def script(self) -> pl.DataFrame:
        """The turns of all dialogs as probes, in order, and one for the outcome of the trial."""
        said = self.dialogs.read().with_columns(message=_joined("user"))
        scripts = said.group_by("dialog", maintain_order=True).agg("message")
        draws = scripts.select("dialog", draw=pl.int_range(pl.len(), dtype=pl.Int64).over("message"))
        probes = said.join(draws, on="dialog", how="left", maintain_order="left").select(
            id=pl.col("dialog") + "-" + pl.col("turn").cast(pl.String),
            message="message",
            session=pl.col("dialog"),
            turn=pl.col("turn").cast(pl.Int64),
            draw="draw",
            block=pl.lit(PURPOSE),
            user=pl.lit(USER),
            talk=pl.lit(""),
            purpose=pl.lit(PURPOSE),
            step=pl.lit(""),
            facts=pl.lit(""),
        )
        if self.dialogs.layout in COLLECTIONS:
            probes = probes.with_columns(segment=pl.lit(0, pl.Int64))
        if self.trial is None:
            return probes
        asked = {"id": TRIAL, "message": "leakage trial", "session": TRIAL, "turn": 0, "draw": 0}
        asked |= {"block": "leakage", "purpose": "leakage", "step": "trial"}
        asked |= {"user": USER, "talk": "", "facts": ""}
        asked |= {"segment": 0} if "segment" in probes.columns else {}
        return pl.concat([probes, pl.DataFrame([asked], schema=probes.schema)])

    def open(self) -> LiveDialogs:
        """The corpus, ready to answer.

        Raises:
            PlanError: a file cannot be read.
        """
        return LiveDialogs(_answers(self.dialogs), self.outcome(), self.dialogs.missing())


class LiveDialogs(InProcessService):
    """Looks up what the bot said."""

    def __init__(
        self,
        answers: Mapping[tuple[str, int], str],
        outcome: str,
        missing: Set[tuple[str, int]] = frozenset(),
    ) -> None:
        self._answers, self._outcome, self._missing = answers, outcome, missing

    def reply(self, message: Message) -> Reply:
        return Reply(self._answer(message))

    def _answer(self, message: Message) -> str:
        if message.session == TRIAL and self._outcome:
            return self._outcome
        if (message.session, message.turn) in self._missing:
            raise RejectedError("the log has no answer to this message")
        found = self._answers.get((message.session, message.turn))
        if found is None:
            raise RejectedError(
                "the dialogs have no such turn", must="a recorded turn", got=message.session[:60]
            )
        return storable(found)


@lru_cache(maxsize=4)
def _answers(source: DialogSource) -> dict[tuple[str, int], str]:
    """What the bot said, by dialog and turn."""
    rows = source.read().select("dialog", "turn", _joined("bot").alias("said"))
    return {(dialog, turn): said for dialog, turn, said in rows.iter_rows()}


def _joined(side: str) -> pl.Expr:
    """The utterances of a side as one text, a line each."""
    return pl.col(side).list.eval(pl.element().str.replace_all(r"\s*[\r\n]+\s*", " ")).list.join("\n")
