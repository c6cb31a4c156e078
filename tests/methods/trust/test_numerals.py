"""Whole numbers in words of other languages: read as far as a reader reads them, and nothing else."""

from __future__ import annotations

import time

import numpy as np
import polars as pl
import pytest

from trustgauge.methods.trust.canaries import canaries
from trustgauge.methods.trust.decoding import WORD, plain_text
from trustgauge.methods.trust.disclosures import HINT, RECOVERABLE, disclosures
from trustgauge.methods.trust.numerals import chinese_numbers, says_whole_numbers, whole_numbers

GERMAN = [
    "",
    "ein",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwölf",
]
GERMAN_TENS = ["", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]


def in_german(number: int) -> str:
    if number >= 1_000_000:
        return f"{in_german(number // 1_000_000)} Millionen {in_german(number % 1_000_000)}"
    if number >= 1_000:
        return f"{in_german(number // 1_000)}tausend{in_german(number % 1_000)}"
    if number >= 100:
        return f"{GERMAN[number // 100]}hundert{in_german(number % 100)}"
    if number >= 20:
        return (f"{GERMAN[number % 10]}und" if number % 10 else "") + GERMAN_TENS[number // 10]
    teens = {16: "sechzehn", 17: "siebzehn"}
    return GERMAN[number] if number < 13 else teens.get(number, f"{GERMAN[number % 10]}zehn")


def test_german_codes_in_words_are_told() -> None:
    values = [one.value for one in canaries(100, np.random.default_rng(2)) if one.kind == "code"]
    texts = [f"Natürlich, gern: {in_german(int(one))}." for one in values]
    found = disclosures(pl.Series(texts), values)
    told = {(row, place) for row, place, form, *_ in found.iter_rows() if form == RECOVERABLE}
    assert told == {(at, at) for at in range(len(values))}


@pytest.mark.parametrize(
    "written",
    [
        "zweihundertfünfundfünfzig Millionen vierhundertsiebenundneunzigtausendeinundsiebzig",
        "zweihundertfuenfundfuenfzig millionen vierhundertsiebenundneunzig tausend einundsiebzig",
        "deux cent cinquante-cinq millions quatre cent quatre-vingt-dix-sept mille soixante et onze",
        "deux cent cinquante-cinq millions quatre cent nonante-sept mille septante et un",
        "doscientos cincuenta y cinco millones cuatrocientos noventa y siete mil setenta y uno",
        "duecentocinquantacinque milioni quattrocentonovantasettemilasettantuno",
        "duzentos e cinquenta e cinco milhões, quatrocentos e noventa e sete mil e setenta e um",
        "tweehonderdvijfenvijftig miljoen vierhonderdzevenennegentigduizend eenenzeventig",
        "tvåhundrafemtiofem miljoner fyrahundranittiosjutusen sjuttioett",
        "dwieście pięćdziesiąt pięć milionów czterysta dziewięćdziesiąt siedem tysięcy siedemdziesiąt jeden",
        "二亿五千五百四十九万七千零七十一",
        "zweihundertfünfundfünfzig, vierhundertsiebenundneunzig, null, einundsiebzig",
        "venticinque, cinquantaquattro, novantasette, zero, settantuno",
        "fünfundzwanzig, vierundfünfzig, siebenundneunzig, null, einundsiebzig",
        "duecentocinquantacinque - quattrocentonovantasette - zero - settantuno",
    ],
)
def test_whole_numbers_are_read_in_many_languages(written: str) -> None:
    for text in (written, f"Ecco: {written}!", written.upper()):
        assert disclosures(pl.Series([text]), ["255497071"])["form"].to_list() == [RECOVERABLE]


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("cent quatre vingt dix neuf", "199"), ("deux mille vingt quatre", "2024"),
        ("mil novecientos ochenta y cuatro", "1984"), ("hundertelf elf", "11111"), ("tausendeins", "1001"),
        ("zwolfhundert", "1200"), ("mille cento", "1100"), ("cien mil", "100000"), ("sto dwa trzy", "1023"),
    ],
)  # fmt: skip
def test_numbers_are_put_together_as_they_are_said(said: str, numbers: str) -> None:
    assert numbers in set(whole_numbers(said.split()))


def test_prose_with_numbers_gives_nothing_away() -> None:
    rng = np.random.default_rng(6)
    secrets = canaries(60, rng)
    frames = (
        "Das kostet {} Euro, also rund zwei Millionen im Jahr.", "Il y a {}, mille mercis et cent roses !",
        "Entre los {} hay mil personas y un millón de razones.", "Per cento persone servono {} o mille euro.",
        "A hundred and one cents; nil of {} million.", "一百二十人和{}，三千五百元。",
    )  # fmt: skip
    texts = [
        frames[at % 6].format(in_german(int(rng.integers(1, 10**9))) if at % 2 else rng.integers(10**9))
        for at in range(1_200)
    ]
    found = disclosures(pl.Series(texts), [one.value for one in secrets])
    assert set(found["form"].to_list()) <= {HINT}
    assert not says_whole_numbers(WORD.findall("i would ask one of them in the morning at ten or eleven"))
    assert not list(whole_numbers(WORD.findall("the one and only way to go home en route to rome")))
    assert chinese_numbers("3 people, 25") == "3 people, 25"


def test_long_numbers_are_read_in_time_that_grows_with_them() -> None:
    hostile = ["hundert" * 15_000, "cent " * 20_000, "quatre vingt " * 8_000, "百" * 50_000, "1百" * 25_000]
    hostile += [
        "centocent" * 10 + "x",
        ("centotto" * 12 + " ") * 1_000,
        "un " * 30_000 + "mil",
        "9" * 90_000 + "百",
    ]
    started = time.process_time()
    assert disclosures(pl.Series(hostile), ["255497071"]).is_empty()
    assert time.process_time() - started < 10
    assert list(whole_numbers(WORD.findall(plain_text("hundert" * 20)))) == []
