"""Addresses and numbers that stand in a text for somebody's and are nobody's (trust 4.1, IL).

Such as your.email@gmail.com, (555) 123-4567, cards for tests and the accounts of the registry of IBANs. What
they look like is in `data/placeholders.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from trustgauge.data import package_table

_LOGIN = re.compile(r"(?<!mailto)://[^\s/@]*$")
_COUNTED = re.compile(r"(?:123|[12])$")
_AMERICAN = re.compile(r"1?(?:555\d{7}|\d{3}55501\d\d)")
_DECIMAL = re.compile(r"(?:0|[1-9]\d{0,2})\.\d{4,}")
_PAIRS = re.compile(r"\d\d(?:[ -]\d\d){4,}")
_ALIKE = re.compile(r"(\d)\1{6}$")


def _data() -> Mapping[str, Any]:
    return package_table(__package__, "data/placeholders.toml")


@cache
def _words(table: str, name: str) -> frozenset[str]:
    return frozenset(_data()[table][name].split())


@cache
def _owned() -> re.Pattern[str]:
    """Domains of the user, such as your-company.com."""
    return re.compile(rf"(?:.*\.)?(?:your|my)(?:{'|'.join(sorted(_words('mail', 'owned')))})s?(?:\.[a-z]+)+")


@cache
def _fiction() -> re.Pattern[str]:
    """Numbers that are set aside, with the code of the country or without."""
    ranges = {
        code: "|".join(words.replace(".", r"\d").split())
        for code, words in _data()["phones"]["fiction"].items()
    }
    return re.compile("|".join(rf"(?:{code}0?|0)(?:{numbers})" for code, numbers in ranges.items()))


@cache
def _accounts() -> frozenset[str]:
    return frozenset(one.lower() for one in _words("accounts", "examples"))


def is_nobodys_address(address: str) -> bool:
    """Whether an e-mail address in small letters is that of an example.

    >>> [is_nobodys_address(one) for one in ("john.doe@gmail.com", "hr@your-firm.org", "jane.smith@nhs.net")]
    [True, True, False]
    """
    name, _, domain = address.partition("@")
    bare = _COUNTED.sub("", re.sub("[._-]", "", name.partition("+")[0]))
    if bare in _words("mail", "names") or domain in _words("mail", "domains"):
        return True
    if _owned().fullmatch(domain.replace("-", "")):
        return True
    return bare in _words("mail", "examples") and domain in _words("mail", "open")


def is_login(text: str, start: int) -> bool:
    """Whether what stands at a place of a text is the user of an address of the web ("git+https://user@…")."""
    return _LOGIN.search(text[max(0, start - 80) : start]) is not None


def is_nobodys_number(said: str) -> bool:
    """Whether a phone number as it is written is set aside for examples, made up, or no phone number at all.

    >>> [is_nobodys_number(one) for one in ("123-456-7890", "04 11 23 31 42", "01743 286517")]
    [True, True, False]
    """
    digits = re.sub(r"\D", "", said).removeprefix("00")
    if _fiction().fullmatch(digits) or _AMERICAN.fullmatch(digits):
        return True
    groups = re.findall(r"\d+", said)
    ends = {"".join(groups[place:]) for place in range(len(groups))}
    made_up = not ends.isdisjoint(_words("phones", "runs")) or _ALIKE.search(digits) is not None
    return made_up or _is_list(said) or _DECIMAL.fullmatch(said) is not None


def _is_list(said: str) -> bool:
    """Whether it is a list of rising numbers of two digits, as of a lottery."""
    return _PAIRS.fullmatch(said) is not None and all(one < two for one, two in pairwise(_pairs(said)))


def _pairs(said: str) -> Iterator[int]:
    return map(int, re.findall(r"\d\d", said))


def is_test_card(digits: str) -> bool:
    """Whether card networks and payment services give this number to whoever tests a shop."""
    return digits in _words("cards", "test")


def is_example_account(account: str) -> bool:
    """Whether an IBAN in small letters without spaces is one that the registry or manuals show."""
    return account in _accounts()
