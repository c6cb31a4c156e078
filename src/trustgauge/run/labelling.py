"""Labels of a blind sample: out as sheets, in from sheets, and one after the other (methods 0.10 (4))."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trustgauge.data.tables import encodings_of, fault, short
from trustgauge.errors import Fault
from trustgauge.reports.sanitize import visible
from trustgauge.run.audit import Audit
from trustgauge.run.audit_log import LabelRecord, disagreements, read_log, resolve, with_gaps
from trustgauge.run.audit_sample import AuditItem, AuditSample
from trustgauge.run.sheets import at_row, check_name, plain, raise_faults, read_sheet, sheet_bytes
from trustgauge.store.folder import write_file

COLUMNS = ("id", "question", "answer", "labels", "label", "by")
"""Of an exported sheet."""
KNOWN = ("id", "question", "answer", "label", "by")
LONGEST_CELL = 32_000  # characters of which every spreadsheet keeps all
EXPORT, IMPORT, JUDGE_OPTION = "--export", "--import", "--judge"
UNKNOWN = "unknown id"


@dataclass(frozen=True, slots=True)
class AuditStatus:
    """How far an audit is: answers drawn, with a label, with one of mine, and read by two; disagreements.

    `passed_over` are answers without a label before one that has one: they may keep the level open.
    """

    service: str
    drawn: int
    labelled: int
    mine: int
    twice: int
    disagreements: int
    passed_over: int
    population: int


class Labelling:
    """One labeller at work on the sample of a service.

    Args:
        audit: of the service.
        sample: what was drawn.
        by: who labels.
        disputed: only answers that others read differently.
        blanks: only answers that nobody has labelled.
    """

    def __init__(
        self, audit: Audit, sample: AuditSample, by: str, *, disputed: bool = False, blanks: bool = False
    ) -> None:
        self.audit, self.sample, self.by = audit, sample, by
        given = self.audit.labels
        wanted = set(disagreements(given)) if disputed else None
        self.items = {
            one.key: one
            for one in sample.items
            if (wanted is None or one.key in wanted) and not (blanks and one.key in given)
        }
        self._order = [key for key, every in given.items() if by in every and key in self.items]
        self._labelled = {key: given[key][by].label for key in self._order}

    @property
    def done(self) -> int:
        """Answers that this labeller has labelled."""
        return len(self._labelled)

    @property
    def next(self) -> AuditItem | None:
        """The next answer without a label of this labeller; None at the end."""
        return next((one for key, one in self.items.items() if key not in self._labelled), None)

    def choices(self, item: AuditItem) -> list[tuple[str, str]]:
        """Labels that an answer can have, and what each says of it."""
        return [
            (one.label, one.words.replace("{a}", item.a).replace("{b}", item.b))
            for one in self.sample.choices[item.kind]
        ]

    def label(self, key: str, label: str) -> bool:
        """Keep a label; it is on disk when this returns. False if there is no such answer or label."""
        item = self.items.get(key)
        if item is None or label not in {one for one, _ in self.choices(item)}:
            return False
        self.audit.add([(item, label)], self.by)
        self._order = [one for one in self._order if one != key] + [key]
        self._labelled[key] = label
        return True

    def undo(self) -> AuditItem | None:
        """Take the last label back; the answer that has none again, None if there was no label."""
        if not self._order:
            return None
        item = self.items[self._order.pop()]
        self.audit.add([(item, "")], self.by)
        del self._labelled[item.key]
        # it comes next
        self.items = {item.key: item, **self.items}
        return item

    def status(self) -> AuditStatus:
        """How far the audit is."""
        given = self.audit.labels
        drawn = {one.key for one in self.sample.items}
        of_unread = read_log(self.audit.folder).of_unread.get(self.audit.place, frozenset())
        labels = with_gaps(resolve(given, None, 0), self.sample.items, given, of_unread)
        return AuditStatus(
            self.sample.service,
            len(drawn),
            sum(key in drawn for key in given),
            self.done,
            sum(len(every) > 1 for every in given.values()),
            len(disagreements(given)),
            sum(len(one.places) for one in labels.gaps.values()),
            self.sample.population,
        )

    # -- sheets

    def export(self, file: Path, *, overwrite: bool = False) -> int:
        """Write a sheet of all answers, with the labels of this labeller. Returns its rows.

        Raises:
            PlanError: unknown kind of file, or a file of this name is there already.
        """
        check_name(file, EXPORT)
        if file.exists() and not overwrite:
            do = "Choose another name; --force writes over it, with all labels in it"
            raise fault(file, EXPORT, "the file already exists", must="a new file", do=do)
        rows = [
            {
                "id": one.key,
                "question": _shown(one.question),
                "answer": _shown(one.answer),
                "labels": _shown("; ".join(f"{label}: {words}" for label, words in self.choices(one))),
                "label": self._labelled.get(one.key, ""),
                "by": "",
            }
            for one in self.items.values()
        ]
        write_file(file, sheet_bytes(file, EXPORT, COLUMNS, rows), private=False)
        return len(rows)

    def import_labels(self, file: Path) -> int:
        """Take the labels of a sheet in: all of it, or nothing. Returns how many are new or changed.

        Rows without a label give none; a column `by` names who labelled a row.

        Raises:
            PlanError: with a fault for each row with an unknown id, a changed text or an unknown label, or
                because no row has a label.
        """
        texts = (text for one in self.items.values() for text in (one.question, one.answer))
        sheet = read_sheet(file, IMPORT, KNOWN, encodings_of(texts))
        if not {"id", "label"} <= set(sheet.columns):
            raise fault(file, IMPORT, "no column id or label", must="the columns that `--export` wrote")
        given, faults = self.audit.labels, list[Fault]()
        read: dict[tuple[str, str], tuple[str, int]] = {}
        new: dict[str, list[tuple[AuditItem, str]]] = {}
        for line in sheet.lines:
            label = line.cells.get("label", "").strip().lower()
            if not label:
                continue
            item = self._labelled_item(line.cells, label)
            if not isinstance(item, AuditItem):
                faults.append(Fault(at_row(file, line.row), *item))
                continue
            by = line.cells.get("by", "").strip() or self.by
            first, row = read.setdefault((item.key, by), (label, line.row))
            if first != label:
                must = f"{first}, as in row {row}"
                faults.append(Fault(at_row(file, line.row), "another label for this id", must, label))
                continue
            before = given.get(item.key, {}).get(by)
            if before is None or before.label != label:
                new.setdefault(by, []).append((item, label))
        if not read and {one.what for one in faults} == {UNKNOWN}:
            must = f"a sheet of {self.audit.service} in {self.audit.folder.name}, as `--export` writes it"
            raise fault(file, IMPORT, "the sheet is of another sample", must=must, got="none of its ids")
        raise_faults(faults)
        if not read:
            do = "Fill in the column label, from the first row on, with one of the labels of each row"
            raise fault(file, IMPORT, "no row has a label", must="labels in the column label", do=do)
        for by, labels in new.items():
            self.audit.add(labels, by)
        return sum(map(len, new.values()))

    def _labelled_item(self, cells: Mapping[str, str], label: str) -> AuditItem | tuple[str, str, str]:
        """The answer of a row with a label; or what is wrong with the row, must be and is."""
        item = self.items.get(cells.get("id", "").strip())
        if item is None:
            return UNKNOWN, "an id of this sample", short(cells.get("id", ""))
        if changed := _changed(cells, item):
            return changed
        known = [one for one, _ in self.choices(item)]
        if label not in known:
            what = f"unknown label of an answer of the kind {item.kind}"
            return what, ", ".join(known), short(label)
        return item


def disputes(
    items: Sequence[AuditItem], given: Mapping[str, Mapping[str, LabelRecord]]
) -> list[tuple[str, str]]:
    """Answers that people read differently: the question, and who said what."""
    wanted = set(disagreements(given))
    return [
        (one.question, ", ".join(f"{by}: {record.label}" for by, record in sorted(given[one.key].items())))
        for one in items
        if one.key in wanted
    ]


def _changed(cells: Mapping[str, str], item: AuditItem) -> tuple[str, str, str] | None:
    """What is wrong, must be and is in a row whose texts are not those of its id; None if they are.

    A label of another answer would count for this one. Spaces may differ, as some programs change them.
    """
    for name, text in (("question", item.question), ("answer", item.answer)):
        found, must = (" ".join(_shown(one).split()) for one in (cells.get(name, ""), text))
        if found and found != must and len(must) <= LONGEST_CELL:
            return f"the {name} was changed", short(must), short(found)
    return None


def _shown(text: str) -> str:
    """The text as a sheet shows it: nothing in it turns the direction of writing."""
    return visible(plain(text), lines=True)
