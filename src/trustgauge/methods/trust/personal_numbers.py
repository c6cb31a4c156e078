"""Personal data that libraries know: phone numbers of all countries, and numbers that states give to persons.

Used where a plan says `detector = "privacy"` (extra `privacy`). Form and check digits come from the
recognisers of presidio-analyzer that work by patterns, from python-stdnum, and from phonenumbers; no language
model is loaded, so names and places are not looked for. A number of digits alone counts only beside a word
that says what it is ("SSN", "passport"), and none does that is called an order, a ticket or a version.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module, metadata
from typing import Any

from trustgauge.methods.trust.placeholders import without_open_bracket
from trustgauge.plugins import need_library

LIBRARIES = {
    "presidio_analyzer": "presidio-analyzer",
    "phonenumbers": "phonenumbers",
    "stdnum": "python-stdnum",
}
"""Modules that are needed, and the packages that have them."""
FEWEST_UNCALLED = 9
"""Digits of a phone number that nothing says is one."""
BEFORE, BEHIND = 60, 30
"""Signs before and behind a number in which a word may say what it is."""
LETTERS = r"a-z0-9_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0370-\u0dff\u1e00-\u1fff"
"""What a number or address may not stand right beside: letters of scripts with spaces between words.

In Chinese, Japanese, Korean and Thai other words do stand there ("电话是13912345678").
"""
WINDOW, MARGIN = 2_000, 100
"""Signs in which a recogniser looks at once, whose time grows with their square, and signs around them."""

_NO_PERSON = re.compile(
    r"\b(?:orders?|invoice|ticket|tracking|reference|ref|booking|parcel|shipment|isbn|issn|ean|serial"
    r"|version|model|part|article|item|batch|licen[cs]e key|build|commit|room|flight|case|sku|upc|doi"
    r"|patent|population|example|sample|dummy|fictional|placeholder|test)"
    r"(?: (?:number|no|id|code|card|called))?[\s.:#=\"'`*-]{0,4}"
    r"(?:(?:is|was|of|has|like|the|number|reads|says)\s){0,2}[\s\"'`*#]{0,3}$"
)
_CALL = re.compile(
    unicodedata.normalize(
        "NFKC",
        r"\b(?:call|calling|phone|phoned|telephone|tel|mobile|cell|fax|reach|ring|whatsapp|dial|text|sms|hotline"
        r"|number is|contact|anrufen|telefon|handy|mobil|handynummer|telefonnummer|appelez|tél|téléphone"
        r"|portable|numéro|llame|teléfono|móvil|celular|telefone|telemóvel|zap|fone|telefono|cellulare|cell"
        r"|telefoon|mobiel|телефон|тел|моб|номер|puhelin|tlf|mobilnummer|komórka|telefonum|nomor|hp)\b"
        r"|звони|电话|手机|電話|携帯|携带|手機|ケータイ|전화|휴대폰|핸드폰|연락처|फ़ोन|मोबाइल|โทร|هاتف|جوال|موبايل|טלפון|נייד",
    )
)
"""Words that say that a number is one to call."""
_CANDIDATE = re.compile(
    rf"(?<![{LETTERS}+./-])(?:\+|\()?\d(?:[ ().\u2011/-]{{0,2}}\d){{6,14}}(?![{LETTERS}-])"
)
_NUMBERED = re.compile(r"(?:第|编号|編號|[单單]号|[订訂][单單]|流水号|序号|型号|版本|[专專]利)[号是为:\s]*$")
_COUNTED = re.compile("[元円圆块원人个個件次号號条條米克吨年]")
"""Words of Chinese behind an amount or a count."""
_DATE = re.compile(r"(?:19|20)\d\d([-/.])(?:0\d|1[0-2])\1[0-3]\d")
_REGIONS = (
    *("US", "GB", "DE", "FR", "ES", "IT", "NL", "IN", "AU", "CN", "BR", "PL", "SE", "CH", "PT", "MX", "AT"),
    *("BE", "DK", "NO", "FI", "IE", "NZ", "ZA", "JP", "KR", "RU", "AR"),
    *("SA", "AE", "EG", "IL", "TR", "ID", "TH"),
)
"""Countries whose numbers are known without the code of the country."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A number of persons in some country.

    Attributes:
        source: a recogniser of presidio-analyzer, or a module of stdnum.
        words: one of which must stand nearby; none for forms that nothing else has.
        pattern: how it is written; "" where the recogniser has patterns.
    """

    source: str
    words: str = ""
    pattern: str = ""


FORMS: Mapping[str, _Form] = {
    "us-social-security": _Form("UsSsnRecognizer", "ssn|social security|taxpayer"),
    "us-tax": _Form("UsItinRecognizer", "itin|taxpayer"),
    "us-medicare": _Form("UsMbiRecognizer", "medicare|mbi|beneficiary"),
    "us-passport": _Form("UsPassportRecognizer", "passport"),
    "uk-health": _Form("NhsRecognizer", "nhs|national health|patient"),
    "uk-insurance": _Form("UkNinoRecognizer"),
    "ca-insurance": _Form("CaSinRecognizer", "sin|social insurance"),
    "au-tax": _Form("AuTfnRecognizer", "tfn|tax file"),
    "au-medicare": _Form("AuMedicareRecognizer", "medicare"),
    "in-aadhaar": _Form("InAadhaarRecognizer", "aadhaar|aadhar|uidai"),
    "in-tax": _Form("InPanRecognizer", "pan|permanent account"),
    "es-identity": _Form("EsNifRecognizer"),
    "es-foreigner": _Form("EsNieRecognizer"),
    "it-tax": _Form("ItFiscalCodeRecognizer"),
    "pl-pesel": _Form("PlPeselRecognizer", "pesel"),
    "fi-identity": _Form("FiPersonalIdentityCodeRecognizer"),
    "se-identity": _Form("SePersonnummerRecognizer", "personnummer|personal identity|swedish"),
    "kr-resident": _Form("KrRrnRecognizer", "rrn|resident registration|jumin|주민"),
    "sg-identity": _Form("SgFinRecognizer", "nric|fin|singapore"),
    "th-identity": _Form("ThTninRecognizer", "thai|tnin|บัตร"),
    "tr-identity": _Form("TrNationalIdRecognizer", "kimlik|tckn|turkish"),
    "za-identity": _Form("ZaIdNumberRecognizer", "south african|id number|identity number|rsa id"),
    "de-tax": _Form("stdnum.de.idnr", "steuer|tax|idnr", r"\d{2} ?\d{3} ?\d{3} ?\d{3}"),
    "de-insurance": _Form("DeSocialSecurityRecognizer", "versicherung|insurance|rvnr|svnr"),
    "de-identity-card": _Form("DeIdCardRecognizer", "ausweis|identity card|id card"),
    "fr-insurance": _Form(
        "stdnum.fr.nir", "", r"[12] ?\d\d ?(?:0[1-9]|1[0-2]) ?(?:\d\d|2[ab]) ?\d{3} ?\d{3} ?\d\d"
    ),
    "nl-citizen": _Form(
        "stdnum.nl.bsn", "bsn|burgerservice|citizen service", r"\d{3}[ .]?\d{3}[ .]?\d{3}|\d{8,9}"
    ),
    "be-national": _Form("stdnum.be.nn", "", r"\d\d\.\d\d\.\d\d-\d{3}\.\d\d"),
    "dk-cpr": _Form("stdnum.dk.cpr", "cpr|danish|personnummer", r"\d{6}-?\d{4}"),
    "no-birth": _Form(
        "stdnum.no.fodselsnummer", "fødselsnummer|fodselsnummer|norwegian|national id", r"\d{6} ?\d{5}"
    ),
    "pt-tax": _Form("stdnum.pt.nif", "nif|contribuinte|portuguese", r"\d{3} ?\d{3} ?\d{3}"),
    "ie-service": _Form("stdnum.ie.pps", "pps|ppsn|public service", r"\d{7}[a-w][a-w]?"),
    "ch-insurance": _Form("stdnum.ch.ssn", "", r"756\.\d{4}\.\d{4}\.\d\d"),
    "at-insurance": _Form("stdnum.at.vnr", "versicherung|svnr|insurance", r"\d{4} ?\d{6}"),
    "ro-cnp": _Form("stdnum.ro.cnp", "cnp|numeric personal|romanian", r"[1-9]\d{12}"),
    "cz-birth": _Form("stdnum.cz.rc", "rodné|rodne|birth number|czech", r"\d{6}/\d{3,4}"),
    "hr-oib": _Form("stdnum.hr.oib", "oib|croatian", r"\d{11}"),
    "br-cpf": _Form("stdnum.br.cpf", "", r"\d{3}\.\d{3}\.\d{3}-\d\d"),
    "cl-rut": _Form("stdnum.cl.rut", "", r"\d{1,2}\.\d{3}\.\d{3}-[\dk]"),
    "mx-curp": _Form("stdnum.mx.curp", "", r"[a-z]{4}\d{6}[hm][a-z]{5}[a-z0-9]\d"),
    "cn-resident": _Form("stdnum.cn.ric", "", r"[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])[0-3]\d\d{3}[\dx]"),
    "il-identity": _Form("stdnum.il.idnr", "teudat|israeli|identity number", r"\d{8,9}"),
    "passport": _Form(
        "",
        "passport|reisepass|passeport|pasaporte",
        r"[a-z]{1,2}\d{6,8}|[cfghjk][cfghjklmnprtvwxyz\d]{8}|\d\d[a-z]{2}\d{5}|\d{9}",
    ),
    "driving-licence": _Form("UkDrivingLicenceRecognizer", "driv|licen"),
}
"""Kinds of personal numbers by name."""
FURTHER = (
    ("br-cpf", _Form("stdnum.br.cpf", "cpf", r"\d{9}[ -]?\d\d")),
    ("es-identity", _Form("stdnum.es.dni", "", r"\d\d\.\d{3}\.\d{3}[ -]?[a-z]")),
    ("it-tax", _Form("stdnum.it.codicefiscale", "", r"[a-z]{6} ?\d\d[a-z]\d\d ?[a-z]\d{3}[a-z]")),
)
"""Further ways to write some of them."""


def says_to_call(text: str, start: int) -> bool:
    """Whether a word shortly before a place of a folded text says that a number to call follows."""
    return _CALL.search(text[max(0, start - BEFORE) : start]) is not None


def counts_or_numbers(text: str, start: int, end: int) -> bool:
    """Whether Chinese words beside a number say that it counts something or is that of a thing."""
    before = text[max(0, start - BEFORE) : start]
    return _NUMBERED.search(before) is not None or _COUNTED.match(text, end) is not None


def need_libraries() -> None:
    """Nothing, if all libraries are installed; none is imported.

    Raises:
        MissingPartError: one is not.
    """
    for module, package in LIBRARIES.items():
        need_library(module, "pip install 'trustgauge[privacy]'", package)


def versions() -> str:
    """The libraries with their versions, as a text for readers."""
    return ", ".join(f"{package} {metadata.version(package)}" for package in LIBRARIES.values())


def is_other_number(text: str, start: int) -> bool:
    """Whether the words before a place of a folded text say that no person's number follows."""
    return _NO_PERSON.search(text[max(0, start - BEFORE) : start]) is not None


def personal_numbers(text: str) -> Iterator[tuple[str, int, int]]:
    """Numbers of persons in a folded text: kind, first place and the place behind."""
    taken: list[tuple[int, int]] = []
    for kind, form in (*FORMS.items(), *FURTHER):
        for start, end in _found(text, form):
            words = text[max(0, start - BEFORE) : start] + " " + text[end : end + BEHIND]
            is_named = not form.words or re.search(rf"(?<!\w)(?:{form.words})", words) is not None
            free = all(end <= first or start >= last for first, last in taken)
            if is_named and free and not is_other_number(text, start):
                taken.append((start, end))
                yield kind, start, end


def phone_numbers(text: str, usual: re.Pattern[str]) -> Iterator[tuple[str, str, bool]]:
    """Phone numbers in a folded text: as written, with the country's code, and whether it is free to call.

    Args:
        text: to be read.
        usual: ways to write a number within a country; others count only where somebody is to be called.
    """
    phones = import_module("phonenumbers")
    for found in _CANDIDATE.finditer(text):
        said, start = without_open_bracket(found[0]), found.start()
        form = (
            said.startswith("+")
            or usual.fullmatch(said)
            or _CALL.search(text[max(0, start - BEFORE) : start])
        )
        is_other = is_other_number(text, start) or counts_or_numbers(text, start, start + len(said))
        number = _parsed(phones, said) if form and not (is_other or _DATE.match(said)) else None
        called = said.startswith("+") or _CALL.search(text[max(0, start - BEFORE) : start])
        # ranges of rooms and pages are as long as short numbers of some country
        if number is None or not (called or sum(map(str.isdigit, said)) >= FEWEST_UNCALLED):
            continue
        digits = f"{number.country_code}{number.national_number}"
        fiction = number.country_code == 1 and re.fullmatch(r"1\d{3}555\d{4}", digits)
        if not (fiction or re.fullmatch(r"555[ -]?\d{4}", said)):
            yield said, digits, phones.number_type(number) == phones.PhoneNumberType.TOLL_FREE


def _parsed(phones: Any, said: str) -> Any:
    """The number, valid in its country or in one of ours; None if it is none."""
    for region in (None,) if said.startswith("+") else _REGIONS:
        try:
            number = phones.parse(said.replace("\u2011", "-"), region)
        except phones.NumberParseException:
            continue
        if phones.is_valid_number(number):
            return number
    return None


def _found(text: str, form: _Form) -> Iterator[tuple[int, int]]:
    if form.pattern:
        for found in _bounded(form.pattern).finditer(text):
            said = found[0], re.sub("[. ]", "", found[0])
            if not form.source or any(map(import_module(form.source).is_valid, said)):
                yield found.span()
        return
    recognizer = _recognizer(form.source)
    capitals = "".join(sign if len(sign.upper()) > 1 else sign.upper() for sign in text)
    for begin in range(0, max(1, len(text)), WINDOW):
        first = max(0, begin - MARGIN)  # what stands before a number decides whether it is one
        window = capitals[first : begin + WINDOW + MARGIN]
        for one in recognizer.analyze(window, recognizer.supported_entities):
            if begin <= first + one.start < begin + WINDOW:
                yield first + one.start, first + one.end


@lru_cache(maxsize=128)
def _bounded(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![{LETTERS}.-])(?:{pattern})(?![{LETTERS}-]|\.[{LETTERS}])")


@lru_cache(maxsize=64)
def _recognizer(name: str) -> Any:
    return getattr(import_module("presidio_analyzer.predefined_recognizers"), name)()
