"""Marks as they come in, slice by slice: summed up, hashed and counted, and then let go.

One and the same answer to different questions: a fault of the set-up until shown otherwise.

A wrong address, a field of the response that never changes, a page that asks to log in: each looks like
a service with an opinion, so its part is not rated. It is rated where the method reads that answer as
behaviour (`Method.one_answer_is_behaviour`), or where the plan confirms it (`constant_services`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import NamedTuple

import polars as pl

from trustgauge.errors import RejectedError
from trustgauge.methods import Method, SecondJudgeUser
from trustgauge.records import CUT, TOO_LONG, Json, Reason, digest
from trustgauge.run.targets import Target

LEAF, NODE = b"\x00", b"\x01"
_IN_MEMORY = 1 << 25  # bytes of row hashes; a million rows
_HASH, _NONCE = 32, 16  # bytes
_TOGETHER = 1024  # nonces that are derived at once


class RowProof(NamedTuple):
    """What proves that a row stands in a tree: its place, nonce and text, and the hashes beside its path."""

    place: int
    nonce: bytes
    row: bytes
    path: Sequence[bytes]


class AnswerTree:
    """Takes rows in any number of pieces; what is in memory does not grow with their number.

    Args:
        wanted: places of the rows that will be proven.
    """

    def __init__(self, wanted: Collection[int] = ()) -> None:
        self.rows = 0
        self._wanted: dict[int, bytes] = dict.fromkeys(wanted, b"")
        self._all = hashlib.blake2b(digest_size=32, person=b"trustgauge nonce")
        self._hashes = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (closed in __del__)

    def __del__(self) -> None:
        self._hashes.close()

    def add(self, lines: bytes) -> None:
        """Take rows, each ended by a newline."""
        self._all.update(lines)
        rows = lines.split(b"\n")[:-1]
        for place, row in enumerate(rows, start=self.rows):
            self._hashes.write(hashlib.sha256(row).digest())
            if place in self._wanted:
                self._wanted[place] = row
        self.rows += len(rows)

    def root(self) -> bytes:
        """The hash of all rows."""
        return merkle_tree(self._leaves())[0]

    def proofs(self) -> list[RowProof]:
        """The proofs of the rows that are wanted, by their places. Raises IndexError for one there is not."""
        if missing := [place for place in self._wanted if not 0 <= place < self.rows]:
            raise IndexError(min(missing))
        paths = merkle_tree(self._leaves(), sorted(self._wanted))[1]
        secret = self._all.digest()
        return [
            RowProof(place, nonces(secret, place // _TOGETHER)[place % _TOGETHER], self._wanted[place], path)
            for place, path in paths.items()
        ]

    def _leaves(self) -> Iterator[bytes]:
        secret = self._all.digest()
        self._hashes.seek(0)
        for first in range(0, self.rows, _TOGETHER):
            hashes = self._hashes.read(_TOGETHER * _HASH)
            ours = nonces(secret, first // _TOGETHER)
            for place in range(len(hashes) // _HASH):
                yield leaf(ours[place], hashes[place * _HASH : (place + 1) * _HASH])


def nonces(secret: bytes, batch: int) -> list[bytes]:
    """What hides the rows of a batch, 16 bytes each."""
    stream = hashlib.shake_256(secret + batch.to_bytes(8, "big")).digest(_NONCE * _TOGETHER)
    return [stream[place : place + _NONCE] for place in range(0, len(stream), _NONCE)]


def leaf(nonce: bytes, row_hash: bytes) -> bytes:
    """The leaf of a row."""
    return hashlib.sha256(LEAF + nonce + row_hash).digest()


def merkle_tree(
    leaves: Iterable[bytes], wanted: Collection[int] = ()
) -> tuple[bytes, Mapping[int, Sequence[bytes]]]:
    """The root over leaves, and the audit path of each wanted one, from the leaf upwards (RFC 6962, 2.1)."""
    stack: list[tuple[int, int, bytes]] = []  # whole subtrees: first leaf, number of leaves, hash
    paths: dict[int, list[bytes]] = {place: [] for place in wanted}

    def join() -> None:
        middle, right_size, right = stack.pop()
        first, left_size, left = stack.pop()
        for place, path in paths.items():
            if first <= place < middle:
                path.append(right)
            elif middle <= place < middle + right_size:
                path.append(left)
        stack.append((first, left_size + right_size, hashlib.sha256(NODE + left + right).digest()))

    for place, one in enumerate(leaves):
        stack.append((place, 1, one))
        while len(stack) > 1 and stack[-1][1] == stack[-2][1]:
            join()
    while len(stack) > 1:
        join()
    return (stack[0][2] if stack else hashlib.sha256().digest()), paths


def root_from(proof: RowProof, rows: int) -> bytes | None:
    """The root that a proof leads to in a tree of so many rows (RFC 9162, 2.1.3.2); None if it fits none."""
    place, last = proof.place, rows - 1
    if not 0 <= place <= last:
        return None
    found = leaf(proof.nonce, hashlib.sha256(proof.row).digest())
    for other in proof.path:
        if last == 0:
            return None
        if place & 1 or place == last:
            found = hashlib.sha256(NODE + other + found).digest()
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = hashlib.sha256(NODE + found + other).digest()
        place, last = place >> 1, last >> 1
    return found if last == 0 else None


LEAST = 10
"""Different questions from which one answer to all of them is taken for a fault."""

SHOWN = 80  # characters of the answer that the reason holds
_READ = 1_000  # marks by which the method is asked whether the answer is behaviour

Faults = Mapping[str, Mapping[str, Reason]]
"""Service -> part -> why it is not rated."""


@dataclass(slots=True)
class _Part:
    """What one part answered so far: "" while it gave empty answers only."""

    answer: str
    questions: set[str]
    marks: pl.DataFrame


_NEW = _Part("", set(), pl.DataFrame())


def _extended(before: _Part | None, rows: pl.DataFrame) -> _Part | None:
    """A part with further answers, all of them empty or none; None once it gave two answers."""
    answer = str(rows["output"][0])
    if rows["output"].n_unique() > 1:
        return None
    if before is None or (answer and not before.answer):
        return _Part(answer, set(rows["message"]), rows.head(_READ))
    if not answer and before.answer:
        return before
    before.questions.update(rows["message"])
    return before if before.answer == answer else None


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
        """Take answers that were checked. What failed says nothing, nor what is empty beside an answer."""
        blank = pl.col("output").fill_null("").str.strip_chars() == ""
        silent = marks.filter(blank, pl.col("status") == "empty").with_columns(output=pl.lit(""))
        for rows in (marks.filter(~blank), silent):
            for (service, part), mine in rows.group_by("service", "part", maintain_order=True):
                key = str(service), str(part)
                if key[0] not in self._left_out and self._parts.get(key, _NEW) is not None:
                    self._parts[key] = _extended(self._parts.get(key), mine)

    def faults(self) -> dict[str, dict[str, Reason]]:
        """The parts that are not rated for it."""
        found: dict[str, dict[str, Reason]] = {}
        for (service, key), part in self._parts.items():
            if part is None or len(part.questions) < LEAST:
                continue
            if not part.answer or not self._method.one_answer_is_behaviour(part.marks):
                shown = part.answer if len(part.answer) <= SHOWN else part.answer[: SHOWN - 1] + "…"
                facts: dict[str, Json] = {"service": service, "questions": len(part.questions)}
                facts |= {"answer": shown} if shown else {}
                found.setdefault(service, {})[key] = Reason("same-answer", facts)
        return found


NEARLY = 0.95
"""Share of the texts from which a translator that left them as they were is taken for none."""


class UntranslatedTexts:
    """Takes marks in any number of frames and finds the parts that translated nothing.

    A translator that gives back its input, there and back, changes nobody's gender; with no way back its
    answers cannot be read. One that keeps some texts as they are, such as names, translates.

    Args:
        targets: what is rated; only translators are looked at, and chains with one on the way.
    """

    def __init__(self, targets: Sequence[Target]) -> None:
        self._parts = {(one.service, one.part): [0, 0] for one in targets if one.translated or one.one_way}
        self._one_way = [one.service for one in targets if one.one_way]

    def take(self, marks: pl.DataFrame) -> None:
        """Take answers that were checked."""
        if not self._parts:
            return
        own = pl.col("message").str.strip_chars()
        steps = pl.col("trail").str.json_decode(pl.List(pl.String))
        last = pl.when(pl.col("service").is_in(self._one_way)).then(pl.concat_list("output"))
        rows = marks.filter(pl.col("status").is_in(["answered", "unreadable"])).select(
            "service", "part", own, trail=pl.coalesce(last, steps)
        )
        rows = rows.filter(pl.col("trail").list.len() > 0).select(
            "service",
            "part",
            same=pl.col("trail").list.eval(pl.element().str.strip_chars()).list.unique()
            == pl.concat_list("message"),
        )
        counts = rows.group_by("service", "part").agg(pl.col("same").sum(), n=pl.len())
        for service, part, same, n in counts.iter_rows():
            if (known := self._parts.get((service, part))) is not None:
                known[0] += same
                known[1] += n

    def faults(self) -> dict[str, dict[str, Reason]]:
        """The parts that are not rated for it."""
        found: dict[str, dict[str, Reason]] = {}
        for (service, part), (same, n) in self._parts.items():
            if n >= LEAST and same >= NEARLY * n:
                found.setdefault(service, {})[part] = Reason("not-translated", {"texts": same, "of": n})
        return found


REFERRAL = "referral"
"""Column of marks with a second judge: what became of an answer; "pending" if it is still to be asked."""

MAX_SUMMARIES = 16
"""Summaries that wait to be added up."""

_ASKED = ["part", "block", "session", "turn", "message"]  # what a probe of a service that is shared is asked


@dataclass(frozen=True, slots=True)
class TaskScores:
    """What stays of the marks of one experiment and task.

    Attributes:
        marks: all rows, or a sample of those of rated services.
        summary: of all rows.
        rated_rows, rows: of rated services, and with the controls.
        unasked: rows without any answer.
        waiting: prompts that a second judge was never asked.
        missing: service -> part -> probes that were never answered, or not judged.
        planned: service -> part -> probes, of a shared service each text once.
        faults: parts that gave one and the same answer to different questions, or translated nothing.
        too_long: service -> answers of too many characters to be judged.
        cut: service -> answers that ended at the most tokens.
        rejected: service -> part -> texts that it rejected, of parts of which it failed to answer no other:
            they are not sent again.
    """

    marks: pl.DataFrame
    summary: pl.DataFrame
    rated_rows: int
    rows: int
    unasked: int
    waiting: int
    missing: Mapping[str, Mapping[str, int]]
    planned: Mapping[str, Mapping[str, int]]
    faults: Faults
    too_long: Mapping[str, int]
    cut: Mapping[str, int]
    rejected: Mapping[str, Mapping[str, int]]


class RunHasher:
    """The hashes of a run, from its rows as JSON lines; in how many pieces they come changes nothing.

    Args:
        judged: columns of what a second judge said.
        tree: takes the answers, one row a line.
    """

    def __init__(self, judged: Sequence[str], tree: AnswerTree) -> None:
        self._judged_columns, self._tree = judged, tree
        self._inputs, self._answers, self._judged = (hashlib.blake2b(digest_size=16) for _ in range(3))
        self._has_judge = False

    def inputs(self, frame: pl.DataFrame | None) -> None:
        """Take probes; None ends those of an experiment and task."""
        self._inputs.update(b"\0" if frame is None else frame.write_ndjson().encode())

    def marks(self, marks: pl.DataFrame) -> None:
        """Take the part of the answers that a rating depends on: no times, no costs."""
        evidence = marks.select("service", "part", "id", "message", "draw", "status", "output", "trail")
        lines = evidence.write_ndjson().encode()
        self._answers.update(lines)
        self._tree.add(lines)
        if REFERRAL in marks.columns:
            self._has_judge = True
            self._judged.update(marks.select(self._judged_columns).write_ndjson().encode())

    def end(self, marks: pl.DataFrame) -> None:
        """The marks of an experiment and task, of which these are some, are all there."""
        self._answers.update(b"\0")
        if REFERRAL in marks.columns:
            self._judged.update(b"\0")

    def hashes(self, summaries: Sequence[pl.DataFrame]) -> dict[str, str]:
        """All hashes, with that of the summaries, sorted by their keys."""
        sums = hashlib.blake2b(digest_size=16)
        for frame in summaries:
            frame = frame.select(pl.exclude("^_.*$"))  # only reasons rest on these, and older runs have none
            sums.update(frame.sort(_keys(frame)).write_ndjson().encode())
            sums.update(b"\0")
        facts = {
            "inputs": digest("inputs", self._inputs.hexdigest()),
            "answers": digest("answers", self._answers.hexdigest()),
            "summaries": digest("summaries", sums.hexdigest()),
        }
        return facts | ({"judged": digest("judged", self._judged.hexdigest())} if self._has_judge else {})


def _keys(summary: pl.DataFrame) -> list[str]:
    return [name for name, kind in summary.schema.items() if not (kind == pl.Int64 or kind.is_float())]


class Accumulator:
    """Takes the answers of one experiment and task and keeps what is needed of their marks."""

    def __init__(
        self, method: Method, targets: Sequence[Target], hashing: RunHasher, sample: int | None
    ) -> None:
        self.targets = targets
        self._method, self._hashing, self._sample = method, hashing, sample
        self._controls = [one.service for one in targets if one.control]
        self._summaries: list[pl.DataFrame] = []
        self._marks: list[pl.DataFrame] = []
        self._missing: list[pl.DataFrame] = []
        self._same = ConstantAnswers(method, self._controls)
        self._untranslated = UntranslatedTexts(targets)
        self._rows = self._rated = self._unasked = self._waiting = 0
        self._too_long: Counter[str] = Counter()
        self._cut: Counter[str] = Counter()
        self._planned: Counter[tuple[str, str]] = Counter()
        self._failed: Counter[tuple[str, str]] = Counter()
        self._rejected: Counter[tuple[str, str]] = Counter()
        self._every = 1  # keep every nth row of rated services

    def take_all(self, answers: pl.DataFrame) -> None:
        """Check and sum up the answers of all subjects; all marks are kept."""
        self._marks.append(self._taken(answers))

    def take(self, answers: pl.DataFrame) -> None:
        """Check and sum up some answers; a sample of the marks is kept."""
        first = self._rated
        marks = self._taken(answers)
        if self._sample is None:
            self._marks.append(marks)
            return
        rated = marks.filter(~pl.col("service").is_in(self._controls))
        place = pl.int_range(first, first + pl.len())
        self._marks.append(rated.with_columns(_place=place).filter(pl.col("_place") % self._every == 0))
        while sum(one.height for one in self._marks) > 2 * self._sample:
            self._every *= 2
            self._marks = [one.filter(pl.col("_place") % self._every == 0) for one in self._marks]

    def _taken(self, answers: pl.DataFrame) -> pl.DataFrame:
        method = self._method
        marks = method.score(answers)
        self._hashing.marks(marks)
        self._same.take(marks)
        self._untranslated.take(marks)
        self._summaries.append(method.summarise(marks))
        if len(self._summaries) > MAX_SUMMARIES:
            self._summaries = [method.merge(self._summaries)]
        if isinstance(method, SecondJudgeUser) and method.second_judge:
            self._waiting += method.pending_prompts(marks)
        once = marks.filter(~(pl.col("shared") & (pl.col("draw") > 0)))
        for service, part, n in once.group_by("service", "part").len().iter_rows():
            self._planned[service, part] += n
        failed = once.filter(pl.col("status") == "failed")
        # A conversation that broke off is asked again as a whole.
        final = ((pl.col("error") == RejectedError.code) & (pl.col("session").fill_null("") == "")).sum()
        for service, part, n, rejected in failed.group_by("service", "part").agg(pl.len(), final).iter_rows():
            self._failed[service, part] += n
            self._rejected[service, part] += rejected
        not_asked = pl.col("error") == "not-asked"
        controls = int(marks["service"].is_in(self._controls).sum())
        self._rows += marks.height
        self._rated += marks.height - controls
        self._unasked += int(marks.select(not_asked.sum()).item())
        self._too_long.update(marks.filter(pl.col("error") == TOO_LONG)["service"].to_list())
        self._cut.update(once.filter(pl.col("error") == CUT)["service"].to_list())
        open_ = not_asked | (pl.col(REFERRAL) == "pending") if REFERRAL in marks.columns else not_asked
        missing = marks.filter(open_)
        if missing.height:
            # Hashes in the place of texts: a run that was stopped early misses millions.
            asked, single = pl.struct(_ASKED).hash(), pl.struct("part", "id").hash()
            self._missing.append(missing.select("service", "part", "shared", asked=asked, single=single))
        return marks

    def end(self) -> TaskScores:
        """All answers were taken."""
        marks = pl.concat(self._marks).drop("_place", strict=False)
        self._hashing.end(marks)
        return TaskScores(
            marks,
            self._method.merge(self._summaries) if len(self._summaries) > 1 else self._summaries[0],
            self._rated,
            self._rows,
            self._unasked,
            self._waiting,
            self._not_asked(),
            {
                service: {part: n for (one, part), n in self._planned.items() if one == service}
                for service in dict.fromkeys(one for one, _ in self._planned)
            },
            self._faults(),
            dict(self._too_long),
            dict(self._cut),
            self._not_sent_again(),
        )

    def _not_sent_again(self) -> dict[str, dict[str, int]]:
        """Service -> part -> rejected texts, of parts of which no other answer is missing."""
        found: dict[str, dict[str, int]] = {}
        for (service, part), n in self._failed.items():
            if n == self._rejected[service, part]:
                found.setdefault(service, {})[part] = n
        return found

    def _faults(self) -> Faults:
        """Service -> part -> why it is not rated; one answer to everything first."""
        found = self._untranslated.faults()
        for service, parts in self._same.faults().items():
            found[service] = found.get(service, {}) | parts
        return found

    def _not_asked(self) -> dict[str, dict[str, int]]:
        """Service -> part -> what was never answered, or not judged; of a shared service each text once."""
        found: dict[str, dict[str, int]] = {}
        if not self._missing:
            return found
        whole = pl.concat(self._missing)
        for (service,), mine in whole.group_by("service", maintain_order=True):
            different = mine.unique("asked" if mine["shared"].any() else "single")
            found[str(service)] = dict(different.group_by("part").len().iter_rows())
        return found
