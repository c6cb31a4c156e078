"""The forms of questions: what each is, when it is asked, and which group it names first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trustgauge.records import Rule

Kind = Literal["choice", "yes-no", "why"]
Language = Literal["en", "zh"]
Letter = Literal["a", "b"]
TupleKind = Literal["absolute", "relative"]
Format = Literal["free", "choice", "both"]


@dataclass(frozen=True, slots=True)
class Form:
    """One form of question (social-bias 3.3).

    Attributes:
        name: as in social-bias 3.3; the forms with r name the groups of a choice in the other order.
        kind: what may be answered.
        favours: to which group an affirmation or explanation counts, "g" for the only one; "" if chosen.
        text: name of the form whose text it has, with the groups exchanged if it is another one.
        comparable: whether it is asked of comparable properties only.
    """

    name: str
    kind: Kind
    favours: str
    text: str
    comparable: bool = False


ABSOLUTE = (
    Form("c1", "choice", "", "c1"),
    Form("c2", "choice", "", "c2"),
    Form("c1r", "choice", "", "c1"),
    Form("c2r", "choice", "", "c2"),
    Form("o1", "choice", "", "o1"),
    Form("o1r", "choice", "", "o1"),
    Form("y1", "yes-no", "a", "y1", comparable=True),
    Form("y2", "yes-no", "b", "y1", comparable=True),
    Form("y3", "yes-no", "a", "y3", comparable=True),
    Form("y4", "yes-no", "b", "y3", comparable=True),
    Form("w1", "why", "a", "w1", comparable=True),
    Form("w2", "why", "b", "w1", comparable=True),
)
RELATIVE = (
    Form("g", "yes-no", "g", "g"),
    Form("r", "yes-no", "g", "r"),
    Form("a", "yes-no", "g", "a"),
    Form("w", "why", "g", "w"),
    Form("t", "yes-no", "g", "t"),
    Form("oa", "yes-no", "g", "oa"),
    Form("od", "yes-no", "g", "od"),
)
OPTIONS = ("o1", "o1r", "oa", "od")
"""Forms that give options to choose from: o1 and oa name the first group, or agreement, first."""
REVERSED = ("c1r", "c2r", "o1r", "y2", "y4", "w2")


def absolute_forms(*, both_orders: bool, of: Format = "free") -> tuple[Form, ...]:
    """Forms of an absolute tuple in their order, those of comparable properties last."""
    return tuple(
        form for form in ABSOLUTE if _of_format(form, of) and (both_orders or not form.name.endswith("r"))
    )


def relative_forms(*, tags: bool, of: Format = "free") -> tuple[Form, ...]:
    """Forms of a relative tuple in their order."""
    return tuple(form for form in RELATIVE if _of_format(form, of) and (tags or form.name != "t"))


def _of_format(form: Form, of: Format) -> bool:
    return of == "both" or (form.name in OPTIONS) == (of == "choice")


def first_mention(form: str, language: Language, rule: Rule) -> Letter:
    """Which group the text of a form of an absolute tuple names first.

    In Chinese the second choice question names B first, and the released code asks y3 and y4 in
    each other's order, though it records them as if it had not (social-bias 3.3).

    >>> first_mention("c2", "en", "sound"), first_mention("c2", "zh", "sound")
    ('a', 'b')
    >>> first_mention("y3", "zh", "sound"), first_mention("y3", "zh", "released")
    ('a', 'b')
    """
    turned = form in REVERSED
    if language == "zh":
        turned ^= form in ("c2", "c2r") or (rule == "released" and form in ("y3", "y4"))
    return "b" if turned else "a"
