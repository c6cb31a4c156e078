"""Orders of issues as people write them: "leakage > abuse = bias", "abuse, bias" or a list of places."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

Places = tuple[tuple[str, ...], ...]
"""Names place by place, most important first; those of one place are tied, sorted by name."""

LETTERS: Mapping[str, str] = {"b": "bias", "al": "abuse", "cc": "complexity", "il": "leakage"}
"""The paper's letters, lower case, and the issues that they mean."""
BETWEEN = re.compile(r"[>,;›]|\n")
MOST = 64  # characters of a name


def spellings(known: Sequence[str]) -> dict[str, str]:
    """How known issues may be written, lower case, with what each means: names, and letters of the paper."""
    letters = {letter: name for letter, name in LETTERS.items() if name in known}
    return letters | {name.lower(): name for name in known}


def places(written: str | Sequence[str], known: Sequence[str] = ()) -> Places:
    """The places of an order.

    Args:
        written: names with ">" or "," between places and "=" within one; or a list of places, in each of
            which "=" may stand. Names may be the paper's letters, in any case.
        known: names of issues that may occur; none given: any name may.

    Raises:
        ValueError: with what is wrong in words: a place is empty, an issue is unknown or stands twice.

    >>> places("IL > AL = B > CC")
    (('leakage',), ('abuse', 'bias'), ('complexity',))
    """
    given = BETWEEN.split(written) if isinstance(written, str) else list(written)
    found: list[tuple[str, ...]] = []
    meant = spellings(known or tuple(LETTERS.values()))
    for place in given:
        names = [_issue(one, meant, strict=bool(known)) for one in place.split("=")]
        found.append(tuple(sorted(names)))
    every = [name for place in found for name in place]
    twice = sorted({name for name in every if every.count(name) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice)} stands in it more than once")
    return tuple(found)


def _issue(written: str, meant: Mapping[str, str], *, strict: bool) -> str:
    """The issue that a name means."""
    name = written.strip()
    if not name:
        raise ValueError("a place is empty")
    if len(name) > MOST:
        raise ValueError(f"a name has more than {MOST} characters")
    if name.lower() in meant:
        return meant[name.lower()]
    if strict:
        near = get_close_matches(name.lower(), meant, n=1, cutoff=0.6)
        hint = f'; did you mean "{meant[near[0]]}"?' if near else ""
        valid = ", ".join(dict.fromkeys(sorted(meant.values())))
        raise ValueError(f'no issue "{name}", must be one of: {valid}{hint}')
    return name
