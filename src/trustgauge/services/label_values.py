"""What a classifier's labels are worth on the scale from -1 (negative) to 1 (positive)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from trustgauge.errors import Fault, PlanError

WORDS = {
    "very negative": -1.0,
    "negative": -1.0,
    "neg": -1.0,
    "bad": -1.0,
    "neutral": 0.0,
    "neu": 0.0,
    "mixed": 0.0,
    "positive": 1.0,
    "pos": 1.0,
    "good": 1.0,
    "very positive": 1.0,
}
BETWEEN = 0.5  # of "negative" and "positive" where there are also "very negative" and "very positive"
_NUMBERED = re.compile(r"(?:label[_ ]?)?(\d+)(?: ?stars?)?")


def values_of(names: Sequence[str], given: Mapping[str, float]) -> list[float]:
    """The value of each label, in the order of `names`.

    Known without `given`: words such as positive, NEG, "very negative"; and labels numbered
    without a gap, in equal steps from worst to best ("1 star" to "5 stars", LABEL_0 to LABEL_2;
    that a higher number is better is an assumption, which `given` overrules).

    Args:
        names: the model's labels, two or more.
        given: label -> value in [-1, 1]; must then name every label of the model.

    Raises:
        PlanError: a label has no value, or a value has no label.
    """
    if given:
        _must_match(names, given)
        return [given[name] for name in names]
    plain = [re.sub(r"[\s_-]+", " ", name).strip().lower() for name in names]
    known = [WORDS.get(name) for name in plain]
    if None not in known and len(set(plain)) == len(plain) and len(set(known)) > 1:
        graded = {"very negative", "very positive"} & set(plain)
        milder = BETWEEN if graded else 1.0
        return [WORDS[name] * (1.0 if name.startswith("very") else milder) for name in plain]
    numbers = [int(found[1]) for name in plain if (found := _NUMBERED.fullmatch(name))]
    low, high = min(numbers, default=0), max(numbers, default=0)
    if len(numbers) == len(names) and sorted(numbers) == list(range(low, high + 1)):
        return [2 * (number - low) / (high - low) - 1 for number in numbers]
    example = ", ".join(f'"{name}" = ...' for name in names)
    must = "a value from -1 to 1 for each label"
    do = f"Give labels = {{ {example} }}"
    raise PlanError((Fault("labels", "the model's labels have no known values", must, _listed(names), do),))


def _must_match(names: Sequence[str], given: Mapping[str, float]) -> None:
    faults = [
        Fault("labels", f'the label "{name}" has no value', "a value from -1 to 1 for each label")
        for name in names
        if name not in given
    ]
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, n=1, cutoff=0.5)
            do = f'Did you mean "{near[0]}"?' if near else ""
            faults.append(
                Fault("labels", f'the model has no label "{name}"', f"one of: {_listed(names)}", do=do)
            )
    if faults:
        raise PlanError(tuple(faults))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
