"""Personal data in a text: e-mail addresses, phone numbers, card numbers and bank accounts, by their form.

Names, places and dates are not looked for: without a model they cannot be distinguished from other words.
Card numbers pass the Luhn check, bank accounts (IBAN) have the length of their country and the remainder 1 of
ISO 7064 mod 97. Addresses and numbers that are reserved for examples belong to nobody and do not count
(RFC 2606; `placeholders`), nor do numbers of services and mailboxes of roles (`service_contacts`).

The detector `privacy` asks libraries as well (`personal_numbers`): phone numbers are those of some country,
and numbers that states give to persons are found; what is called an order or a version counts as neither.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

import polars as pl

from trustgauge.data import package_text
from trustgauge.methods.trust import personal_numbers
from trustgauge.methods.trust.personal_numbers import (
    LETTERS,
    counts_or_numbers,
    is_other_number,
    says_to_call,
)
from trustgauge.methods.trust.placeholders import (
    is_example_account,
    is_login,
    is_nobodys_address,
    is_nobodys_number,
    is_role_mailbox,
    is_service_number,
    is_test_card,
    without_hours,
)

PersonalKind = Literal["email", "phone", "card", "iban"]
Detector = Literal["patterns", "privacy"]
PATTERNS, PRIVACY = get_args(Detector)

WORDS_BEFORE = 80
"""Signs before an address that is written out in which a word says that it is one."""
FEWEST_DIGITS = 6  # of an IBAN behind its check digits; fewer are words by chance

_HINT = r"(?i)@|[\[({]at[\])}]| at .{1,60} dot |\d(?:[^\p{L}\p{N}]{0,3}\d){6}|\p{L}\p{L}\d\d"
_HINT_OF_NUMBERS = _HINT + r"|\d\p{L}|\p{L}\d"
_EMAIL = re.compile(
    rf"(?<![{LETTERS}.+@-])[{LETTERS}.+-]{{1,64}}@(?:[a-z0-9-]{{1,63}}\.){{1,8}}[a-z]{{2,24}}"
    rf"(?![{LETTERS}-]|:[{LETTERS}~/])"
)
_AT = r" ?[\[({<] ?(?:at|@) ?[\])}>] ?"
_DOT = r" ?[\[({<] ?(?:dot|\.) ?[\])}>] ?"
_WRITTEN_OUT = re.compile(
    rf"(?<![\w.+@-])[\w.+-]{{1,64}}(?:(?:{_DOT}| dot )[\w+-]{{1,64}}){{0,4}}(?:{_AT}| at | @ )"
    rf"[a-z0-9-]{{1,63}}(?:(?:{_DOT}| dot |\.)[a-z0-9-]{{1,63}}){{0,6}}(?:{_DOT}| dot |\.)[a-z]{{2,24}}"
    r"(?![\w-])"
)
_MAIL = re.compile(r"\b(?:e-?mails?|mail|address|adresse|correo|reach|write|contact|inbox)\b")
_JOINED = re.compile(rf"{_AT}|{_DOT}| at | dot | @ ")
_NOBODY = re.compile(r"(?:^|[@.])(?:example\.(?:com|net|org)|example|test|invalid|localhost)$")
_IBAN = re.compile(r"(?<![a-z0-9])(?=([a-z]{2}\d{2}(?:[ -]?[a-z0-9]){11,30}))")
_CARD = re.compile(rf"(?<![{LETTERS}+.])[2-6]\d{{3}}(?:[ .-]?\d){{9,15}}(?![{LETTERS}])")
_ISSUERS = (
    (re.compile("4"), (13, 16, 19)),
    (re.compile(r"5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720"), (16,)),
    (re.compile("3[47]"), (15,)),
    (re.compile("3(?:0[0-5]|095|[689])"), (14, 16, 19)),
    (re.compile(r"352[89]|35[3-8]|6011|64[4-9]|65|62|220[0-4]"), (16, 17, 18, 19)),
    (re.compile("5018|50[234]|508|5[678]|6304|6390|67"), tuple(range(13, 20))),
)
"""How the numbers of card networks begin, and how long they are (ISO 7812); others are no cards."""
_PHONE = re.compile(
    rf"(?<![{LETTERS}+./-])(?:"
    r"(?:\+|00 ?)[1-9](?:[ ().\u2011/-]{0,2}\d){7,14}"  # with the code of a country
    r"|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}"  # North America
    r"|(?:0\d{1,5}|\(0\d{1,5}\))(?:[ /-]\d{2,8}){1,4}"  # within a country
    r"|\(\d\d\) ?9?\d{4}-\d{4}"  # Brazil
    r"|1[3-9]\d(?:[ -]?\d{4}){2}"  # mobile phones of China
    r"|8(?: \(?|-|\()9\d\d\)?[ -]?\d{3}[ -]?\d\d[ -]?\d\d"  # and of Russia
    rf")(?![{LETTERS}])"
)
_CALLED = re.compile(rf"(?<![{LETTERS}+./-])(?:0\d{{8,10}}|[6-9]\d{{9,10}})(?![{LETTERS}])")
"""Phone numbers without spaces, where a word says that they are to be called."""
_PATTERNS: Mapping[PersonalKind, re.Pattern[str]] = {
    "iban": _IBAN,
    "email": _EMAIL,
    "card": _CARD,
    "phone": _PHONE,
}


@cache
def iban_lengths() -> Mapping[str, int]:
    """Signs of an IBAN by country (the registry of ISO 13616); others are not known as IBANs."""
    text = package_text(__package__, "data/iban_lengths.csv")
    rows = (line.split(",") for line in text.splitlines()[1:])
    return {country: int(signs) for country, signs in rows}


@dataclass(frozen=True, slots=True)
class PersonalDatum:
    """Personal data found in a text: its kind, and its value without spaces and signs, in small letters.

    The kind is a `PersonalKind` or one of `personal_numbers.FORMS`.
    """

    kind: str
    value: str


def personal_data(
    text: str, detector: Detector = "patterns", *, services: bool = False
) -> tuple[PersonalDatum, ...]:
    """Everything in a text that has the form of personal data, each once, in order of kinds.

    Args:
        text: to be read.
        detector: "patterns", by form alone, or "privacy", with the libraries of the extra `privacy`.
        services: whether numbers of services, mailboxes of roles and placeholders are found as well.

    >>> [one.value for one in personal_data("Mail ann@mail.se or pay to GB73 LOYD 3093 2814 6075 51.")]
    ['gb73loyd30932814607551', 'ann@mail.se']
    """
    folded = without_hours(_with_addresses(_in_our_digits(unicodedata.normalize("NFKC", text).lower())))
    found: dict[PersonalDatum, None] = {}
    for kind, pattern in _PATTERNS.items():
        if detector == PRIVACY and kind == "phone":
            folded = _by_libraries(folded, found, services=services)
            break
        signs = list(folded)
        for match in _matches(kind, pattern, folded):
            said = _account(match.group(1)) if kind == "iban" else match.group()
            value = _valid(kind, said)
            if kind == "card" and detector == PRIVACY and is_other_number(folded, match.start()):
                value = ""
            if value:
                nobodys = _of_service(kind, said) or _placeholder(kind, said, value)
                if services or not (nobodys or (kind == "email" and is_login(folded, match.start()))):
                    found[PersonalDatum(kind, value)] = None
                signs[match.start() : match.start() + len(said)] = "\0" * len(said)
        folded = "".join(signs)  # what is a bank account is no phone number too
    return tuple(found)


def _matches(kind: PersonalKind, pattern: re.Pattern[str], folded: str) -> Iterator[re.Match[str]]:
    """What has the form of a kind, where no word beside it says otherwise."""
    if kind not in ("phone", "card"):
        yield from pattern.finditer(folded)
        return
    called = (one for one in _CALLED.finditer(folded) if says_to_call(folded, one.start()))
    for match in (*pattern.finditer(folded), *(called if kind == "phone" else ())):
        if not counts_or_numbers(folded, *match.span()):
            yield match


def _in_our_digits(text: str) -> str:
    """A text of the same length in which the digits of other scripts are ours."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(one)) if one > "\x7f" and one.isdecimal() else one for one in text)


def _with_addresses(folded: str) -> str:
    """The text with the e-mail addresses that are written out ("ann [at] mail [dot] se") as they are used.

    Without brackets a word on mail must stand before it: "look at mail dot se" is none.
    """

    def used(found: re.Match[str]) -> str:
        said = found.group()
        before = folded[max(0, found.start() - WORDS_BEFORE) : found.start()]
        no_word = re.match(r"\w*[._\d]\w*(?: @ |[^@]*[\[(])", said)
        sure = no_word or not re.search(" at | @ ", said) or _MAIL.search(before)
        return _JOINED.sub(_sign_of, said) if sure else said

    return _WRITTEN_OUT.sub(used, folded)


def _sign_of(joint: re.Match[str]) -> str:
    return "@" if "at" in joint.group() or "@" in joint.group() else "."


def _by_libraries(folded: str, found: dict[PersonalDatum, None], *, services: bool) -> str:
    """The text without the personal numbers and phones that libraries know, which are added."""
    signs = list(folded)
    for kind, start, end in personal_numbers.personal_numbers(folded):
        found[PersonalDatum(kind, re.sub(r"[^a-z0-9]", "", folded[start:end]))] = None
        signs[start:end] = "\0" * (end - start)
    folded = "".join(signs)
    for said, digits, free in personal_numbers.phone_numbers(folded, _PHONE):
        if services or not (free or is_service_number(said) or is_nobodys_number(said)):
            found[PersonalDatum("phone", digits)] = None
    return folded


def _of_service(kind: PersonalKind, said: str) -> bool:
    """Whether what has the form of personal data belongs to a service and not to a person."""
    return is_role_mailbox(said) if kind == "email" else kind == "phone" and is_service_number(said)


def _placeholder(kind: PersonalKind, said: str, value: str) -> bool:
    """Whether it stands for the datum of somebody and is nobody's."""
    match kind:
        case "email":
            return is_nobodys_address(value)
        case "phone":
            return is_nobodys_number(said)
        case "card":
            return is_test_card(value)
        case "iban":
            return is_example_account(value)


def personal_data_table(texts: pl.Series, detector: Detector = "patterns") -> pl.DataFrame:
    """Personal data of many texts: columns `row` (UInt32), `kind`, `value`; a row for each, sorted.

    Args:
        texts: of strings; null holds nothing.
        detector: as of `personal_data`.
    """
    rows = pl.DataFrame({"row": pl.arange(len(texts), dtype=pl.UInt32, eager=True), "text": texts})
    likely = rows.filter(pl.col("text").str.contains(_HINT if detector == PATTERNS else _HINT_OF_NUMBERS))
    found = [
        (row, one.kind, one.value)
        for row, text in likely.iter_rows()
        for one in personal_data(text, detector)
    ]
    return pl.DataFrame(
        found, schema={"row": pl.UInt32, "kind": pl.String, "value": pl.String}, orient="row"
    ).sort("row", "kind", "value")


def mask_personal_data(text: str) -> str:
    """A text with signs in place of the addresses and digits in it, whether they are somebody's or not.

    >>> mask_personal_data("Ask ann@mail.se, or call 0171/2345678.")
    'Ask a•••@•••, or call ••••/•••••••.'
    """
    written = _WRITTEN_OUT.sub(lambda found: found[0] if "@" in found[0] else f"{found[0][0]}•••", text)
    return re.sub(r"\d", "•", re.sub(r"([\w+])[\w.+-]*@[\w-]+(?:\.[\w-]+)*", r"\1•••@•••", written))


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (ISO 7812).

    >>> luhn("79927398713"), luhn("79927398710")
    (True, False)
    """
    doubled = (int(one) * (1 + place % 2) for place, one in enumerate(reversed(digits)))
    return sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0


def is_card(digits: str) -> bool:
    """Whether a number has the beginning, the length and the check digit of a card of some network.

    >>> is_card("378282246310005"), is_card("20240611093012")
    (True, False)
    """
    known = any(how.match(digits) and len(digits) in sizes for how, sizes in _ISSUERS)
    return known and luhn(digits)


def mod_97(account: str) -> bool:
    """Whether an IBAN in small letters, without spaces, passes its check (ISO 7064).

    >>> mod_97("gb82west12345698765432"), mod_97("gb83west12345698765432")
    (True, False)
    """
    turned = account[4:] + account[:4]
    return int("".join(str(int(one, 36)) for one in turned)) % 97 == 1


def _valid(kind: PersonalKind, said: str) -> str:
    """The value of what has the form of a kind; "" if it is none after all."""
    bare = re.sub(r"[^a-z0-9]", "", said)
    if kind == "email":
        return "" if _NOBODY.search(said) or said.startswith("git@") else said
    if kind == "phone":
        return bare.removeprefix("00") if _is_phone(said, bare) else ""
    return bare if kind == "iban" or is_card(bare) else ""


def _account(said: str) -> str:
    """The part of a text that is the IBAN at its beginning, with its spaces; "" if there is none."""
    length = iban_lengths().get(said[:2].upper(), 0)
    taken = ""
    for place, sign in enumerate(said):
        if sign.isalnum():
            taken += sign
        if length and len(taken) == length:
            ends = place + 1 == len(said) or not said[place + 1].isalnum()
            enough = sum(map(str.isdigit, taken[4:])) >= FEWEST_DIGITS
            return said[: place + 1] if ends and enough and mod_97(taken) else ""
    return ""


def _is_phone(said: str, digits: str) -> bool:
    national = said.startswith("0") and not said.startswith("00")
    return 9 <= len(digits) <= 15 and not (national and len(digits) > 12)
