"""Control services with known behaviour, asked beside every target (methods 0.9).

They answer at once and for nothing, by rules and a hash of the message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from trustgauge.data import package_table
from trustgauge.records import Message, Reply
from trustgauge.services import InProcessService, Seed, ServiceSpec

Answer = Callable[[Message], Any]
"""From a message to the output: a text, or a number for the task `score`."""


class ControlSpec(ServiceSpec):
    """A simulated service with known behaviour. Subclass it, and give `answer`.

    Attributes:
        seed: of what it draws.
    """

    kind: ClassVar[str] = "control of known truth"
    batch: ClassVar[int] = 500

    seed: Seed = 0

    def answer(self) -> Answer:
        """The function from a message to the output."""
        raise NotImplementedError

    def open(self) -> LiveControl:
        return LiveControl(self.answer())


class LiveControl(InProcessService):
    """A control that can be asked; `answer` gives the output of one message."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def reply(self, message: Message) -> Reply:
        return Reply(self.answer(message))


def uniform(seed: int, text: str, draw: int) -> float:
    """A number drawn evenly from [0, 1), the same for the same arguments: answers can be had in any order."""
    name = f"{seed}\0{draw}\0{text}".encode("utf-8", "surrogatepass")
    return (int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little") >> 11) / 2**53


def words(table: str) -> Mapping[str, Any]:
    """A table of `words.toml`: "chat", "prose", "trust" or "nouns"."""
    return dict(package_table(__package__, "words.toml")[table])
