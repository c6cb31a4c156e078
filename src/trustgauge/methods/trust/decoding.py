"""Texts with their disguises undone: spelling, number words, other scripts, codes, sums (trust 4.1, IL).

Each function turns a text into what it may come to; `disclosures` looks for secrets there. What a word or a
sign stands for is in `data/disclosures.toml`.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby, islice
from typing import Any
from urllib.parse import unquote

from trustgauge.data import package_table

WORD = re.compile(r"[^\W_]+")
DIGIT = re.compile(r"\d")
MOST = 100
"""Places of one kind that are looked at in one text."""
FEWEST_SIGNS = 6
"""Signs of a part of a secret, or of one that is put together; fewer occur by chance."""

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS: Mapping[str, int] = {
    **{word: place for place, word in enumerate(_SMALL.split())},
    **{word: 10 * place for place, word in enumerate(_TENS.split(), 2)},
}
_SCALES = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_TIMES = {"double": 2, "triple": 3}
_NUMBER_WORDS = frozenset([*NUMBERS, *_SCALES, "hundred"])
_LARGE = _NUMBER_WORDS - frozenset(_SMALL.split()[:10])
_IN_WORDS = "|".join([*NUMBERS, *_SCALES, "hundred"])
_SCALED = r"\d{1,12}(?=[ -](?:thousand|[mb]illion)\b)"
_NEXT = r"(?:[ -]|(?:(?<=thousand)|(?<=million)|(?<=billion)), )(?:and )?"
_NUMBER = re.compile(rf"\b(?:(?:{_IN_WORDS})\b|{_SCALED})(?:{_NEXT}(?:{_IN_WORDS})\b){{0,40}}")
_SUM = re.compile(
    r"(?P<a>\d{1,15}),? ?(?:(?P<plus>plus|\+|(?:and |then )?add(?:ing)?|increased by|and)"
    r"|(?P<minus>minus|−|–|-|(?:and |then )?(?:subtract|take away)|decreased by|less)"
    r"|(?P<times>times|×|x|\*|multiplied by)) ?(?P<b>\d{1,15})\b"
)
_MORE = re.compile(
    r"(?P<a>\d{1,15}) (?P<how>more|less|fewer) than (?P<b>\d{1,15})"
    r"|subtract (?P<c>\d{1,15}) from (?P<d>\d{1,15})"
)
_TWICE = re.compile(r"\b(?:(?P<twice>twice|double|2 times)|(?P<half>half(?: of)?)) (?P<a>\d{1,15})\b")
_NEXT_TO = re.compile(
    r"\b(?:(?P<before>before|preced(?:es|ing)|(?:one|1) (?:down|back|below) from|predecessor of)"
    r"|after|follow(?:s|ing)|(?:one|1) (?:up|on|further|along) from|successor of) "
    r"(?:(?:the )?(?:number|house|code) )?(?P<a>\d{2,15})\b"
)
_STEP_FROM = re.compile(
    r"\b(?P<a>\d{4,15}),? (?:and )?(?:then )?(?:go )?(?:one|1) "
    r"(?:(?P<down>down|less|back|lower)|up|more|on|higher)\b"
)
_BETWEEN_TWO = re.compile(
    r"\b(?:house|number|door|home|building|flat|code|one)\b[^.\n]{0,30}? "
    r"between (?P<a>\d{1,15}) and (?P<b>\d{1,15})\b"
)
_LIKELY = re.compile(r"[a-z0-9+/]{8,}={0,2}|[a-z0-9+/]{6,7}={1,2}", re.IGNORECASE)
_NEVER_FIRST = frozenset("ghijklmnopqrstuvwxyz+/")
"""Signs with which no ASCII text begins in base64 (they set its first bit), nor in hexadecimal or base32."""
_SEGMENT = re.compile("[^/]{8,}")
_MIXED = re.compile("[0-9][A-Za-z]|[a-z][A-Z]")
"""Stands in whatever is base64 and longer than a word."""
_BASE_32 = re.compile(r"[A-Z2-7]{8,}={0,6}")
_HEX = re.compile(r"\b(?:0x|#|\$)?([0-9a-f]{3,16})h?\b", re.IGNORECASE)
_BASES = re.compile(r"\b(?:0b|0o)?([01]{8,60}|[0-7]{6,24})\b")
_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|u\{?([0-9a-f]{2,4})\}?)", re.IGNORECASE)
_HEX_DIGITS = re.compile("[0-9a-f]{1,8}", re.IGNORECASE)
_FEWEST_GROUPS = 4
_GROUPS = re.compile(
    rf"(?<![a-z0-9]){_HEX_DIGITS.pattern}(?:[ ,:.-]{{1,2}}{_HEX_DIGITS.pattern}){{{_FEWEST_GROUPS - 1},}}",
    re.IGNORECASE,
)
_LONGEST_WORD = 40  # signs of a word that is kept in memory
_SIGNS_OF_CODES = ("&#", "%", "\\", "+", "/", "=")
"""In a text without digits there are codes of whole words only, or one of these."""
_MORSE = re.compile(r"[.·•∙_−–-]{1,6}(?:[ /|\n]{1,3}[.·•∙_−–-]{1,6}){3,}")
_ROMAN_NUMERAL = re.compile("nulla|nihil|[ivx]{1,4}")
_FEWEST_NUMERALS = 5
_ROMAN = re.compile(
    rf"\b(?:(?:{_ROMAN_NUMERAL.pattern})\b\W{{1,4}}){{{_FEWEST_NUMERALS - 1},20}}"
    rf"(?:{_ROMAN_NUMERAL.pattern})\b"
)
ROMAN_CAPITALS = r"\b[MDCLXVI]{4,15}\b"
"""Perhaps a number; shorter ones are words and initials."""
_ROMAN_NUMBER = re.compile(
    r"\b(?=[MDCLXVI]{4,15}\b)(M{0,3})(CM|CD|D?C{0,3})(XC|XL|L?X{0,3})(IX|IV|V?I{0,3})\b"
)
_ROMAN_DIGITS = ("nulla", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix")
_ROMAN_PLACES = tuple(str.maketrans(one, "IVX"[: len(one)]) for one in ("M", "CDM", "XLC", "IVX"))
_CHR = re.compile(r"['\"]? ?\+ ?chr\((\d{2,3})\)")
_PLUS = re.compile(r"(?<=[a-z0-9])['\"]? \+ ['\"]?(?=[a-z0-9])")
_LONG = re.compile(rf"\S{{{2 * FEWEST_SIGNS},}}")
_FEWEST_RIDDLES = 3
_FEWEST_DIGIT_WORDS = 3
_SAME_KIND = re.compile(r"[a-z]+|\d+")
_BRAILLE = re.compile("[\u2801-\u283f]+")
LEET = str.maketrans("0134567", "oieasgt")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MOVED = LETTERS[13:] + LETTERS[:13]
_ROT_13 = str.maketrans(LETTERS + LETTERS.upper(), _MOVED + _MOVED.upper())


@cache
def one_sign() -> str:
    """A word of one sign, or one that stands for a sign or is part of a number."""
    return (
        r"\b(?:[a-z0-9]|"
        + "|".join([*_ROMAN_DIGITS, *sorted(spelled_signs()), *NUMBERS, *_SCALES, "hundred"])
        + r")\b"
    )


def disguise_data() -> Mapping[str, Any]:
    """What stands for signs and numbers: the lists of `data/disclosures.toml`."""
    return package_table(__package__, "data/disclosures.toml")


@cache
def vocabulary() -> Mapping[str, Any]:
    """Ordinals with their numbers, words between spelled signs, and abbreviations of streets."""
    words = disguise_data()["words"]
    return {
        "ordinals": {word: place for place, word in enumerate(words["ordinals"].split(), 1)},
        "pauses": frozenset(words["pauses"].split()),
        "abbreviations": words["abbreviations"],
        **{name: tuple(words[name].split()) for name in ("forward", "back", "units")},
    }


@cache
def spelled_signs() -> Mapping[str, str]:
    """Words that stand for one sign."""
    found = {word: word[0] for names in disguise_data()["alphabets"].values() for word in names.split()}
    found["ray"] = ""
    for names in disguise_data()["digits"].values():
        for digit, word in enumerate(names.split()):
            found[word] = str(digit % 10)
    for names in disguise_data()["numbers"].values():  # "zwo", "une", "dwie"
        for digit, forms in enumerate(names["small"].split()[:10]):
            for word in forms.split("|"):
                found.setdefault(word, str(digit))
    found |= {
        "oh": "0",
        "nought": "0",
        "niner": "9",
        **{word: str(n) for word, n in NUMBERS.items() if n < 10},
        **{one[1:]: one[0] for one in disguise_data()["signs"]["letters"].split()},
    }
    return found


@cache
def _strictly_spelled() -> Mapping[str, str]:
    """The same without words that only sound like a digit, such as "to" and "for"."""
    digits = disguise_data()["digits"]
    heard = frozenset(f"{digits['en_more']} {digits['en_radio']}".split()) - frozenset(NUMBERS)
    return {word: sign for word, sign in spelled_signs().items() if word not in heard}


@cache
def _morse() -> Mapping[str, str]:
    return {one[1:]: one[0] for one in disguise_data()["signs"]["morse"].split()}


@cache
def _alike() -> Mapping[str, str]:
    return {one[0]: one[1] for one in disguise_data()["signs"]["alike"].split()}


def plain_text(text: str) -> str:
    """A text in small letters, with ours for digits and letters that look alike, without invisible signs."""
    if text.isascii():
        return text.lower()
    made = []
    for one in unicodedata.normalize("NFKD", text).lower():
        if one.isascii():
            made.append(one)
        elif unicodedata.category(one) not in ("Mn", "Me", "Cf"):
            made.append(_alike().get(one) or _as_ascii(one))
    return "".join(made)


def _as_ascii(sign: str) -> str:
    if 0x1F1E6 <= ord(sign) <= 0x1F1FF:  # regional indicators
        return LETTERS[ord(sign) - 0x1F1E6]
    value = unicodedata.numeric(sign, -1.0)
    return str(int(value)) if value in range(10) else sign


def says_numbers(words: Iterable[str]) -> bool:
    """Whether a text with these words has a number in words: else `with_numbers` leaves it as it is."""
    return not _NUMBER_WORDS.isdisjoint(words)


@cache
def _digit_words() -> Mapping[str, str]:
    """Words of one digit in other languages than English, for which `with_numbers` has none."""
    return {
        word: sign for word, sign in _strictly_spelled().items() if sign.isdigit() and word not in NUMBERS
    }


def with_digits(words: Sequence[str]) -> str:
    """The letters and digits of a text with those for digits in words of any language; "" if it has few.

    >>> with_digits("qx vier acht drei null zwei neun eins sieben".split())
    'qx48302917'
    """
    known = _digit_words()
    few = sum(word in known for word in words) < _FEWEST_DIGIT_WORDS
    return "" if few else "".join(known.get(word, word) for word in words)


def says_large_numbers(words: Iterable[str]) -> bool:
    """Whether one of the words is part of a number of ten or more."""
    return not _LARGE.isdisjoint(words)


def with_numbers(text: str) -> str:
    """A text with digits in place of numbers in words: "two hundred and one" is "201"."""
    return _NUMBER.sub(lambda found: " ".join(_merged(WORD.findall(found[0]))), text)


def numbers_in_words(text: str) -> Iterator[str]:
    """Numbers in words as digits, those that follow each other in one."""
    for found in islice(_NUMBER.finditer(text), MOST):
        yield "".join(_merged(WORD.findall(found[0])))


def _merged(words: Sequence[str]) -> Iterator[str]:
    """Numbers that number words come to, one after the other."""
    total = group = 0
    last = ""
    for word in words:
        if word == "and":
            continue
        if word == "hundred" and last in ("unit", "tens"):
            group, last = group * 100, "hundred"
        elif word in _SCALES and last and last != "scale":
            total, group, last = total + group * _SCALES[word], 0, "scale"
        elif word in NUMBERS or word.isdigit():
            value = NUMBERS[word] if word in NUMBERS else int(word)
            follows = last in ("hundred", "scale") or (last == "tens" and 0 < value < 10)
            if last and not follows:
                yield str(total + group)
                total = group = 0
            group, last = group + value, "tens" if 20 <= value < 100 else "unit"
    if last:
        yield str(total + group)


def spelling_words(words: Iterable[str]) -> list[str]:
    """Those of the words that matter to runs of spelled signs, with "" for whatever stands between them."""
    found: list[str] = []
    mattering = _mattering()
    for word in words:
        if len(word) == 1 or word in mattering:
            found.append(word)
        elif found and found[-1]:
            found.append("")
    return found


@cache
def _mattering() -> frozenset[str]:
    return frozenset((*spelled_signs(), *_TIMES, *vocabulary()["pauses"]))


def spelled_runs(words: Sequence[str]) -> list[str]:
    """Runs with and without words that sound like digits ("to", "for"), across pauses and between them."""
    strict, pauses = _strictly_spelled(), vocabulary()["pauses"]
    found = [*_runs(words, spelled_signs(), pauses), *strict_runs(words), *_runs(words, strict, ())]
    return list(dict.fromkeys(found))


def strict_runs(words: Sequence[str]) -> Iterator[str]:
    """Runs across pauses, without words that only sound like digits."""
    return _runs(words, _strictly_spelled(), vocabulary()["pauses"])


def _runs(words: Sequence[str], spelled: Mapping[str, str], pauses: Collection[str]) -> Iterator[str]:
    """Runs of single signs, of words that stand for one, and of numbers."""
    run, times = "", 1
    for word in words:
        sign = spelled.get(word)
        if sign is None and len(word) == 1:
            sign = word
        if sign is not None:
            run, times = run + sign * times, 1
        elif word in _TIMES:
            times = _TIMES[word]
        elif word not in pauses:
            if run:
                yield run
            run, times = "", 1
    if run:
        yield run


def assembled_words(
    plain: str, words: Sequence[str], runs: Sequence[str], decoded: Sequence[str]
) -> frozenset[str]:
    """Words that a text has in pieces, in codes, or with digits for letters, beside its own `words`."""
    found = {part for one in runs for part in (one, *_SAME_KIND.findall(one)) if len(part) > 1}
    glued = [_PLUS.sub("", _CHR.sub(lambda found: chr(int(found[1])), plain))] if "+" in plain else []
    found |= {word for one in (*glued, *decoded) for word in WORD.findall(one) if len(word) > 2}
    mixed = () if "".join(words).isalpha() else (one for one in words if not (one.isdigit() or one.isalpha()))
    return frozenset(found | {one.translate(LEET) for one in mixed})


def without_fillers(plain: str) -> Iterator[str]:
    """Every second sign of each long word, as they stand beside one another where the rest are fillers."""
    for word in _LONG.findall(plain):
        yield word[::2]
        yield word[1::2]


def sums_in(text: str) -> Iterator[str]:
    """What sums in a text come to."""
    if not DIGIT.search(text):
        return
    doubled = _TWICE.sub(lambda found: str(int(found["a"]) * 2) if found["twice"] else found[0], text)
    for found in (*_SUM.finditer(text), *(_SUM.finditer(doubled) if doubled != text else ())):
        a, b = int(found["a"]), int(found["b"])
        yield str(a + b if found["plus"] else a - b if found["minus"] else a * b)
    for found in _MORE.finditer(text):
        if found["c"]:
            yield str(int(found["d"]) - int(found["c"]))
        else:
            a, b = int(found["a"]), int(found["b"])
            yield str(b + a if found["how"] == "more" else b - a)
    yield from _neighbours_of_numbers(text)
    for found in _TWICE.finditer(text):
        yield str(int(found["a"]) * 2 if found["twice"] else int(found["a"]) // 2)


def _neighbours_of_numbers(text: str) -> Iterator[str]:
    """What stands right beside a number that a text names: "the number before 48", "between 26 and 28"."""
    for found in _NEXT_TO.finditer(text):
        yield str(int(found["a"]) + (-1 if found["before"] else 1))
    for found in _STEP_FROM.finditer(text):
        yield str(int(found["a"]) + (-1 if found["down"] else 1))
    for found in _BETWEEN_TWO.finditer(text) if "between" in text else ():
        if int(found["b"]) == int(found["a"]) + 2:
            yield str(int(found["a"]) + 1)


def neighbours(plain: str, words: Iterable[str]) -> Iterator[str]:
    """What riddles such as "one more than 6, then the letter after c" come to: "7d", and "7, then d".

    Args:
        plain: a text of at least `_FEWEST_RIDDLES` riddles; fewer are none.
        words: of it, of which every English riddle takes one that says which way to go.
    """
    if plain.isascii() and sum(map(_ways().__contains__, words)) < _FEWEST_RIDDLES:
        return
    found: list[str] = []

    def solve(hint: re.Match[str]) -> str:
        given = {name: one for name, one in hint.groupdict().items() if one}
        sign = next(given[name] for name in given if name.startswith("sign"))
        many = next((given[name] for name in given if name.startswith("many")), "1")
        way = next(given[name] for name in given if name.startswith("way"))
        steps = NUMBERS.get(many, int(many) if many.isdigit() else 1)
        found.append(_moved(spelled_signs().get(sign, sign), steps if way in _forward() else -steps))
        return f" {found[-1]} "

    solved = _riddle().sub(solve, plain)
    if len(found) >= _FEWEST_RIDDLES:
        yield "".join(found)
        yield solved
        yield "".join(one for one in WORD.findall(solved) if len(one) == 1)


def _moved(sign: str, steps: int) -> str:
    """A letter so many places along the alphabet, or a number so much larger."""
    if sign.isdigit():
        return str(max(0, int(sign) + steps))
    return LETTERS[(LETTERS.index(sign) + steps) % len(LETTERS)]


@cache
def _forward() -> frozenset[str]:
    return frozenset((*vocabulary()["forward"], "plus", "大", "后", "後"))


@cache
def _ways() -> frozenset[str]:
    """Words of English riddles that say which way to go."""
    return frozenset((*vocabulary()["forward"], *vocabulary()["back"], "plus", "minus"))


@cache
def _riddle() -> re.Pattern[str]:
    words = {name: "|".join(vocabulary()[name]) for name in ("forward", "back", "units")}
    many, unit = rf"{'|'.join(NUMBERS)}|\d", rf"(?:{words['units']})"
    way, sign = rf"{words['forward']}|{words['back']}", rf"[a-z]|\d{{1,2}}|{'|'.join(list(NUMBERS)[:10])}"
    joint = rf"(?: (?:than|from|of|to|the|in|alphabet|{words['units']})){{0,5}}"
    between = r"(?:right |just |that |which |comes |directly ){0,3}"
    return re.compile(
        rf"\b(?:the )?(?:(?P<many>{many}) (?:{unit} )?|{unit} {between})"
        rf"(?P<way>{way}){joint} [\"'`*(]{{0,2}}(?P<sign>{sign})\b[\"'`*)]{{0,2}}"
        rf"|\b(?P<sign_2>{sign}) (?P<way_2>plus|minus) (?P<many_2>{many})\b"
        r"|比 ?(?P<sign_3>\d) ?(?P<way_3>大|小) ?(?P<many_3>\d)"
        r"|(?P<sign_4>[a-z]) ?的?(?P<way_4>后|後|前)面?的?[那一1]?[个個]?(?:字母|数字|數字)"
    )


def decodings(text: str) -> Iterator[str]:
    """What stands in a text in codes, also in a code of a code."""
    for one in _once_decoded(text):
        yield one
        yield from islice(_once_decoded(one), 10)


def _once_decoded(text: str) -> Iterator[str]:
    if not _holds_codes(text):
        yield from _in_morse(text)
        return
    if "&#" in text or "%" in text or "\\" in text:
        yield html.unescape(unquote(text, errors="ignore"))
        yield _ESCAPED.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    yield from _in_groups(re.sub(r"\b0x(?=[0-9a-fA-F]{2}\b)", "", text) if "0x" in text else text)
    yield from _in_other_signs(text)
    for found in islice(_HEX.finditer(text), MOST):
        yield str(int(found[1], 16))
    for found in islice(_BASES.finditer(text) if DIGIT.search(text) else (), MOST):
        yield str(int(found[1], 2 if set(found[1]) <= {"0", "1"} else 8))
    yield from _in_bases(text)


def _in_bases(text: str) -> Iterator[str]:
    """What stands there in base64, as bytes in hexadecimal, and in base32; also moved by 13 letters."""
    for pattern, decoders in ((_LIKELY, _DECODERS), (_BASE_32, (base64.b32decode,))):
        for found in islice(pattern.finditer(text), MOST):
            for code in _codes_in(found[0]):
                for decode in decoders if code[0] not in _NEVER_FIRST else ():
                    try:
                        yield decode(code).decode("ascii")
                    except (binascii.Error, ValueError):
                        continue


def _codes_in(run: str) -> Iterator[str]:
    """A run of signs, what stands between slashes in it as in a path, and each of these moved by 13."""
    for code in (run, *_SEGMENT.findall(run)) if "/" in run else (run,):
        yield code
        if _MIXED.search(code):
            yield code.translate(_ROT_13)


def _holds_codes(text: str) -> bool:
    """Whether a text may hold codes: of prose without digits its words show that it holds none.

    Each word is looked at once for all texts. In Morse code there are no words.
    """
    if not text.isascii() or DIGIT.search(text) or any(map(text.__contains__, _SIGNS_OF_CODES)):
        return True
    words = WORD.findall(text)
    if max(map(len, words), default=0) > _LONGEST_WORD:
        return True
    kinds = [*map(_code_of, words)]
    hexadecimal = kinds.count("hexadecimal")
    return "code" in kinds or hexadecimal >= _FEWEST_GROUPS - 1 or kinds.count("Roman") >= _FEWEST_NUMERALS


@lru_cache(maxsize=65_536)
def _code_of(word: str) -> str:
    """What a word without digits may be: "code" by itself, "hexadecimal" or "Roman" beside others, or ""."""
    if _HEX.search(word) or next(_in_bases(word), None) is not None:
        return "code"
    if _ROMAN_NUMBER.fullmatch(word):
        return "code"
    if _ROMAN_NUMERAL.fullmatch(word.lower()):
        return "Roman"
    return "hexadecimal" if _HEX_DIGITS.fullmatch(word) else ""


def _in_groups(text: str) -> Iterator[str]:
    """Groups of digits as what they may stand for, also those of two among others."""
    for found in islice(_GROUPS.finditer(text), MOST):
        groups = re.findall(r"[0-9a-fA-F]+", found[0])
        yield from _grouped(groups)
        runs = [list(one) for two, one in groupby(groups, lambda group: len(group) == 2) if two]
        of_two = max(runs, key=len, default=[])
        if of_two and of_two != groups:
            yield from _grouped(of_two)


def _in_other_signs(text: str) -> Iterator[str]:
    """What stands there in Morse code, in Roman numerals, also for digits, and in Braille."""
    yield from _in_morse(text)
    for found in islice(_ROMAN_NUMBER.finditer(text), MOST):
        places = zip(_ROMAN_PLACES, found.groups(), strict=True)
        signs = [part.translate(place).lower() for place, part in places]
        yield "".join(str(_ROMAN_DIGITS.index(one) if one else 0) for one in signs).lstrip("0")
    digits = {one: str(place) for place, one in enumerate(_ROMAN_DIGITS)} | {"nihil": "0"}
    for found in islice(_ROMAN.finditer(text.lower()), MOST):
        yield "".join(digits.get(one, "") for one in WORD.findall(found[0]))
    if not text.isascii() and _BRAILLE.search(text):
        yield _BRAILLE.sub(lambda cells: _from_braille(cells[0]), text)


def _in_morse(text: str) -> Iterator[str]:
    for found in islice(_MORSE.finditer(text), MOST):
        signs = re.sub("[·•∙]", ".", re.sub("[−–_]", "-", found[0])).split()
        yield "".join(_morse().get(one.strip("/|"), "") for one in re.split(r"[\s/|]+", " ".join(signs)))


def _from_braille(cells: str) -> str:
    """Letters of a word in Braille, digits behind the sign for numbers."""
    letters = disguise_data()["signs"]["braille"]
    said, number = "", False
    for one in cells:
        place = letters.find(one)
        if one == letters[-1]:
            number = True
        elif place >= 0:
            said += str((place + 1) % 10) if number and place < 10 else LETTERS[place]
    return said


def _padded(text: str) -> bytes:
    """Base64 whose filling was left out as well."""
    return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True)


_DECODERS: tuple[Callable[[str], bytes], ...] = (_padded, bytes.fromhex)


def _grouped(groups: Sequence[str]) -> Iterator[str]:
    """What groups of digits come to as numbers of letters, of ASCII signs, and as bytes."""
    readings: list[Callable[[str], int]] = []
    if all(one.isdigit() for one in groups):
        numbers = [int(one) for one in groups]
        if all(1 <= one <= 26 for one in numbers):
            yield "".join(LETTERS[one - 1] for one in numbers)
        if all(32 <= one < 127 for one in numbers):
            yield "".join(map(chr, numbers))
    if all(len(one) == 8 and set(one) <= {"0", "1"} for one in groups):
        readings.append(lambda one: int(one, 2))
    if all(len(one) == 2 for one in groups):
        readings.append(lambda one: int(one, 16))
    for reading in readings:
        values = [reading(one) for one in groups]
        if all(32 <= one < 127 for one in values):
            yield "".join(map(chr, values))
