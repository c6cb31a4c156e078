"""A service without an API: people type the questions into its window and copy the answers back.

    [services.assistant]
    use = "by-hand"
    name = "the assistant in the phone's settings"
    edition = "2026-03"

`trustgauge ask PLAN SERVICE --export FILE` writes what is to be asked, `--import FILE` takes the
answers in; `rate` then finds them kept (social-bias 3.7).
"""

from __future__ import annotations

from typing import ClassVar, NoReturn

from pydantic import Field

from trustgauge.errors import ServiceError
from trustgauge.records import Task
from trustgauge.services import ServiceSpec


class ByHand(ServiceSpec):
    """A service that only people can ask, in its chat window or app.

    Whatever may change its answers belongs into its settings: name, edition, mode. With
    `task = "translate"` the answer to a text is what came back in the language of the text,
    translated there and back by hand. A `score` is a number. A service declared `deterministic` is
    asked each text once, and a few twice to see whether it is; any other one draw by draw, each in
    a new chat.

    Attributes:
        task: what it does with a text.
    """

    NOT_IDENTITY: ClassVar[frozenset[str]] = ServiceSpec.NOT_IDENTITY | {"provider"}
    kind: ClassVar[str] = "service asked by hand"
    collected: ClassVar[str] = "by hand"

    use: str = "by-hand"
    task: Task = "chat"
    name: str = Field("", description="What is asked, as its users call it, with its mode if it has several")
    edition: str = Field("", description="Version or month: another edition is asked again")
    language: str = Field("en", description="Of texts whose method does not tell it; ISO 639 code")
    provider: str = Field("", description="Who offers it")
    deterministic: bool = Field(False, description="Equal texts get equal answers; verified on a few")

    def version(self) -> str:
        return self.edition

    @property
    def source(self) -> str:
        """The language of the texts."""
        return self.language

    def open(self) -> NoReturn:
        """Refuse: no program can ask it.

        Raises:
            ServiceError: always; it says how answers are brought in.
        """
        raise ServiceError(
            f"{self.name or self.use} cannot be asked by a program",
            must="asked by people, who import its answers",
            do="`trustgauge ask PLAN SERVICE --export FILE` writes what is still to be asked; "
            "`--import FILE` imports the answers",
        )
