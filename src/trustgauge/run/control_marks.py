"""What controls said, scored once for all runs of a process that ask them the same.

Eleven controls of a bias rating answer eleven times what a service does, and nothing of it depends on the
service: who rates one plan again and again, as a watch, a catalogue or an audit do, scores them once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from hashlib import blake2b

import polars as pl

from trustgauge.methods import LabelUser, Method, MethodSettings, SecondJudgeUser
from trustgauge.rating.audit import AuditLabels
from trustgauge.records import digest

_ASKING = ("millis", "attempts", "tokens", "usd", "at")
"""What an answer took, which no score depends on."""
_REMEMBERED = 4  # experiments and tasks
_MOST_ROWS = 100_000

_MARKS: OrderedDict[bytes, tuple[Method, pl.DataFrame]] = OrderedDict()


def score(method: Method, answers: pl.DataFrame, controls: Collection[str]) -> pl.DataFrame:
    """All answers of an experiment and task scored, as `Method.score` does.

    Args:
        method: of the experiment.
        answers: of all subjects; how those of one are scored does not depend on the others.
        controls: the services that are controls. Their answers are remembered where they stand last.
    """
    is_control = answers["service"].is_in(list(controls))
    if isinstance(method, SecondJudgeUser) and method.second_judge:  # what it replied is not remembered
        return method.score(answers)
    if not 0 < is_control.sum() <= _MOST_ROWS or not is_control.is_sorted():
        return method.score(answers)
    theirs = _marks(_without_labels(method), answers.filter(is_control))
    if is_control.all():
        return theirs
    return pl.concat([method.score(answers.filter(~is_control)), theirs])


def _without_labels(method: Method) -> Method:
    """The same without what people read: nobody labels controls. Its scores keep the columns of labels."""
    if isinstance(method, LabelUser) and method.labels:
        return method.with_labels(dict.fromkeys(method.labels, AuditLabels({}, 0)))
    return method


def _marks(method: Method, answers: pl.DataFrame) -> pl.DataFrame:
    """The scores of controls' answers."""
    assert isinstance(method, MethodSettings)
    said = answers.drop(_ASKING)
    hashing = blake2b(said.hash_rows().to_numpy().tobytes(), digest_size=16)
    hashing.update(repr(said.schema).encode())
    hashing.update(digest("method", method.identity()).encode())  # what its files hold, too
    key = hashing.digest()
    other, marks = _MARKS.get(key, (None, None))
    if marks is not None and other == method:
        _MARKS.move_to_end(key)
        return marks.with_columns(answers.select(_ASKING))
    marks = method.score(answers)
    _MARKS[key] = method, marks
    while len(_MARKS) > _REMEMBERED:
        _MARKS.popitem(last=False)
    return marks
