"""Numbers and mailboxes of services: helplines, numbers that are free to call, support@ of an organisation.

They are nobody's personal data (trust 4.1, IL). What they look like is in `data/service_contacts.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from trustgauge.data import package_table

_ALWAYS = re.compile(r"(?<!\d)24 ?/ ?7(?!\d)")
_OPEN = re.compile(r" ?\([^)]*$")


def _data() -> Mapping[str, Any]:
    return package_table(__package__, "data/service_contacts.toml")


@cache
def _mailboxes() -> frozenset[str]:
    return frozenset(word for words in _data()["mailboxes"].values() for word in words.split())


@cache
def _toll_free() -> re.Pattern[str]:
    """How a number that is free to call begins: prefixes within a country stand in a group of their own."""
    free = {name: "|".join(words.split()) for name, words in _data()["toll-free"].items()}
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
    short = sum(map(len, groups)) <= 6 or set(groups) <= set(_data()["short"].split())
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
