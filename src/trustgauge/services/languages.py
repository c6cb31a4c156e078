"""Languages: names and codes, and what each translation service calls them.

A plan names languages by ISO 639-1 (two letters) or ISO 639-3 (three letters), where a service
tells variants apart with a region or script behind it (`pt-BR`, `zh-Hant`). `languages.csv` has those of ISO
639-1, further ones that translation services know, and single languages that services give under the code of
their group (their row has no name).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from trustgauge.data import package_text

_FORM = re.compile(r"([a-z]{2,3})(?:[-_]([A-Za-z]{4}))?(?:[-_]([A-Za-z]{2}|\d{3}))?")


@dataclass(frozen=True, slots=True)
class _Languages:
    """Code of two letters -> of three; of three -> of two; code, of two letters if any -> English name."""

    three: Mapping[str, str]
    two: Mapping[str, str]
    names: Mapping[str, str]


@cache
def _languages() -> _Languages:
    text = package_text(__package__, "languages.csv")
    rows = [line.split(",") for line in text.splitlines()[1:]]
    return _Languages(
        three={two: three for two, three, words in rows if two and words},
        two={three: two for two, three, _ in rows if two},
        names={two or three: words for two, three, words in rows if words},
    )


def name(code: str) -> str:
    """The English name of a language, with region or script if the code has one.

    A code that is not in our table is its own name.

    >>> name("tr"), name("epo"), name("pt-BR"), name("xyz")
    ('Turkish', 'Esperanto', 'Portuguese (BR)', 'xyz')
    """
    base, *rest = re.split("[-_]", code, maxsplit=1)
    found = _languages().names.get(short(base))
    if found is None:
        return code
    return f"{found} ({rest[0]})" if rest else found


def short(code: str) -> str:
    """The code of two letters if the language has one, else the code as it is. Regions stay.

    >>> short("spa"), short("cmn"), short("ast"), short("por-BR")
    ('es', 'zh', 'ast', 'pt-BR')
    """
    whole = len(code) == 3 or code[3:4] in {"-", "_"}
    return _languages().two.get(code[:3], code[:3]) + code[3:] if whole else code


def long(code: str) -> str:
    """The code of three letters (ISO 639-3). Regions stay.

    >>> long("es"), long("ast"), long("pt-BR")
    ('spa', 'ast', 'por-BR')
    """
    whole = len(code) == 2 or code[2:3] in {"-", "_"}
    return _languages().three.get(code[:2], code[:2]) + code[2:] if whole else code


def language_names() -> Mapping[str, str]:
    """English names of all languages of our table by code (two letters where there are)."""
    return dict(_languages().names)


def check(code: str) -> str:
    """The code itself if it can be that of a language.

    Three letters pass whether we know the language or not (ISO 639-3 has more than 7,000).

    Raises:
        ValueError: it has not the form of a code, or two letters that ISO 639-1 does not have;
            the message says what it must be and the nearest valid code.
    """
    found = _FORM.fullmatch(code)
    three, names = _languages().three, _languages().names
    if found is not None and (len(found[1]) == 3 or found[1] in three):
        return code
    by_name = {words.lower(): key for key, words in names.items()}
    near = [by_name[word] for word in get_close_matches(code.lower(), by_name, n=1, cutoff=0.8)]
    near += get_close_matches(code.lower(), three, n=1, cutoff=0.5) if len(code) < 4 else []
    hint = f'. Did you mean "{near[0]}" ({names[near[0]]})?' if near else ""
    raise ValueError(
        f'no language "{code}": must be a code of ISO 639-1 or 639-3, such as "tr" or "tur"{hint}'
    )


def native(code: str, own: Mapping[str, str], *, letters: int = 2) -> str:
    """What a service calls a language.

    Args:
        code: ISO 639-1 or 639-3, with or without region.
        own: the service's codes where they differ from ISO 639; by code of two letters where
            there is one. A code with a region is looked up whole first.
        letters: 2 if the service goes by ISO 639-1 where it can, 3 if by ISO 639-3.
    """
    plain = short(code)
    if plain in own:
        return own[plain]
    return long(plain) if letters == 3 else plain
