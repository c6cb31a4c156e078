"""One and the same answer to different questions: a fault of the set-up until shown otherwise.

A wrong address, a field of the response that never changes, a page that asks to log in: each looks like
a service with an opinion, so its part is not rated. It is rated where the method reads that answer as
behaviour (`Method.one_answer_is_behaviour`), or where the plan confirms it (`constant_services`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from trustgauge.methods.method import Method
from trustgauge.records import Reason

LEAST = 10
"""Different questions from which one answer to all of them is taken for a fault."""

SHOWN = 80  # characters of the answer that the reason holds
_READ = 1_000  # marks by which the method is asked whether the answer is behaviour

Faults = Mapping[str, Mapping[str, Reason]]
"""Service -> part -> why it is not rated."""


@dataclass(slots=True)
class _Part:
    """What one part answered so far; `marks` are empty once it gave two answers."""

    answer: str
    questions: set[str]
    marks: pl.DataFrame


class ConstantAnswers:
    """Takes marks in any number of frames and finds the parts that answered everything alike.

    Args:
        method: the experiment.
        controls: services that are not looked at.
    """

    def __init__(self, method: Method, controls: Sequence[str]) -> None:
        self._method = method
        self._left_out = {*controls, *method.constant_services}
        self._parts: dict[tuple[str, str], _Part | None] = {}  # None: two answers

    def take(self, marks: pl.DataFrame) -> None:
        """Take answers that were checked. What is empty or failed says nothing."""
        said = marks.filter(pl.col("output").str.strip_chars().str.len_bytes() > 0)
        for (service, part), rows in said.group_by("service", "part", maintain_order=True):
            key = str(service), str(part)
            if key[0] in self._left_out or (key in self._parts and self._parts[key] is None):
                continue
            before = self._parts.get(key)
            answer = str(rows["output"][0])
            if rows["output"].n_unique() > 1 or (before is not None and before.answer != answer):
                self._parts[key] = None
            elif before is None:
                self._parts[key] = _Part(answer, set(rows["message"]), rows.head(_READ))
            else:
                before.questions.update(rows["message"])

    def faults(self) -> dict[str, dict[str, Reason]]:
        """The parts that are not rated for it."""
        found: dict[str, dict[str, Reason]] = {}
        for (service, key), part in self._parts.items():
            if part is None or len(part.questions) < LEAST:
                continue
            if not self._method.one_answer_is_behaviour(part.marks):
                shown = part.answer if len(part.answer) <= SHOWN else part.answer[: SHOWN - 1] + "…"
                facts = {"service": service, "answer": shown, "questions": len(part.questions)}
                found.setdefault(service, {})[key] = Reason("same-answer", facts)
        return found
