"""Addresses and numbers that stand in a text for somebody's and are nobody's (trust 4.1, IL).

Such as your.email@gmail.com, (555) 123-4567, cards for tests and the accounts of the registry of IBANs. What
they look like is in `data/placeholders.toml`.

Nor are numbers and mailboxes of services: helplines, numbers that are free to call, support@ of an
organisation. What these look like is in `data/service_contacts.toml`.
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


_ALWAYS = re.compile(r"(?<!\d)24 ?/ ?7(?!\d)")
_OPEN = re.compile(r" ?\([^)]*$")


def _service_data() -> Mapping[str, Any]:
    return package_table(__package__, "data/service_contacts.toml")


@cache
def _mailboxes() -> frozenset[str]:
    return frozenset(word for words in _service_data()["mailboxes"].values() for word in words.split())


@cache
def _toll_free() -> re.Pattern[str]:
    """How a number that is free to call begins: prefixes within a country stand in a group of their own."""
    free = {name: "|".join(words.split()) for name, words in _service_data()["toll-free"].items()}
    american = rf"(?:1[ .-]?)?\(?(?:{free['north-american']})\)?[ .-]\d{{3}}[ .-]?\d{{4}}$"
    abroad = rf"(?:\+|00 ?)\D*(?:{_spaced(free['international'])})"
    return re.compile(rf"\(?(?:{free['national']})\)?(?!\d)|{american}|{abroad}")


def _spaced(prefixes: str) -> str:
    """Prefixes with any signs between their digits."""
    return "|".join(r"\D{0,2}".join(one) for one in prefixes.split("|"))


def is_service_number(said: str) -> bool:
    """Whether a phone number as it is written is a short one, several of these, or free to call.

    >>> [is_service_number(one) for one in ("0800 123 456", "112/911/988", "1-800-273-8255", "0171/2345678")]
    [True, True, True, False]
    """
    groups = re.findall(r"\d+", said)
    short = sum(map(len, groups)) <= 6 or set(groups) <= set(_service_data()["short"].split())
    return short or _toll_free().match(said.replace("(0)", "")) is not None


def is_role_mailbox(address: str) -> bool:
    """Whether an e-mail address in small letters is that of a role, such as support@ or press-office@.

    >>> [is_role_mailbox(one) for one in ("press-office@a.org", "ann@a.org", "ann.support@a.org")]
    [True, False, False]
    """
    name = re.split(r"[._-]", address.partition("@")[0])
    return "".join(name) in _mailboxes() or set(name) <= _mailboxes()


def without_hours(text: str) -> str:
    """A text of the same length without "24/7", which is no part of a number."""
    return _ALWAYS.sub(lambda found: "\0" * len(found[0]), text)


def without_open_bracket(said: str) -> str:
    """A number without a bracket behind it that does not end in it: "116 123 (24" of "(24 hours)"."""
    return _OPEN.sub("", said)
