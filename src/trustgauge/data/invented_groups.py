"""Invented groups that are made for every seed, so that nobody can know which are asked (methods 0.12).

A name is three syllables that form no word of English, and an ending that says what kind of group it is;
in Chinese the same syllables in characters, as foreign names are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from trustgauge.data.social_groups import ATTRIBUTES, Group
from trustgauge.records import digest

FIRST = {
    "vro": "弗罗", "glu": "格鲁", "dre": "德雷", "kle": "克莱", "skro": "斯克罗", "plo": "普洛",
    "zve": "兹维", "tru": "特鲁", "fle": "弗莱", "bru": "布鲁", "gro": "格罗", "vlo": "弗洛",
    "thra": "思拉", "kwi": "奎",
    "dwe": "德维", "smu": "斯穆", "pra": "普拉", "kro": "克罗", "sli": "斯利", "blo": "布洛",
}  # fmt: skip
MIDDLE = {
    "va": "瓦", "ve": "维", "mo": "莫", "lu": "卢", "ni": "尼", "do": "多", "zo": "佐", "ga": "加",
    "ri": "里", "pe": "佩", "ta": "塔", "ku": "库",
}  # fmt: skip
LAST = {
    "nuk": "努克", "tel": "泰尔", "bor": "博尔", "mek": "梅克", "dov": "多夫", "zan": "赞",
    "rup": "鲁普", "lim": "利姆", "gath": "加思", "vok": "沃克", "quen": "昆",
    "fid": "菲德", "dral": "德拉尔", "mund": "蒙德",
    "pash": "帕什", "quel": "奎尔", "tosk": "托斯克", "yev": "耶夫", "hent": "亨特", "bex": "贝克斯",
}  # fmt: skip
"""Syllables, and how they are written in Chinese."""
ENDINGS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "ability": (("person with {}ia", "person with {} syndrome"), "{}症患者"),
    "age": (("{}ager", "{}erling"), "{}龄人"),
    "body": (("person with {}ish hair", "person with {}ed hair"), "{}发的人"),
    "character": (("{}ist", "{}er"), "{}型人"),
    "culture": (("{}ian", "{}er"), "{}人"),
    "gender": (("{}id", "{}ine"), "{}性者"),
    "profession": (("{}wright", "{}ist", "{}monger"), "{}匠"),
    "race": (("{}i", "{}an"), "{}族人"),
    "religion": (("{}ite", "{}ist", "{}ian"), "{}教徒"),
    "social": (("{}holder", "{}er"), "{}户"),
    "victim": (("victim of {}ing", "victim of {}ery"), "{}受害者"),
}
"""Attribute -> English singulars, and the Chinese name. Other attributes have the endings of a character."""
NAMES = frozenset({"culture", "race", "religion"})
"""Attributes whose groups are written with a capital."""


@lru_cache(maxsize=256)
def invented_groups(attribute: str, seed: int, number: int = 2) -> tuple[Group, ...]:
    """Groups of an attribute that do not exist, by seed.

    >>> [one.plural for one in invented_groups("religion", 1)]
    ['Krovebexians', 'Glupezanites']
    """
    found: dict[str, Group] = {}
    place = 0
    while len(found) < number:
        group = _group(attribute, int(digest("invented group", [seed, attribute, place])[:16], 16))
        found.setdefault(group.id, group)
        place += 1
    return tuple(found.values())


def seeded_groups(seed: int) -> tuple[Group, ...]:
    """The invented groups of all attributes of our list, by seed."""
    return tuple(group for attribute in ATTRIBUTES for group in invented_groups(attribute, seed))


def _group(attribute: str, chance: int) -> Group:
    stem, chinese = "", ""
    for table in (FIRST, MIDDLE, LAST):
        chance, place = divmod(chance, len(table))
        syllable = list(table)[place]
        stem, chinese = stem + syllable, chinese + table[syllable]
    singulars, zh = ENDINGS.get(attribute, ENDINGS["character"])
    singular = singulars[chance % len(singulars)].format(stem.capitalize() if attribute in NAMES else stem)
    head, space, rest = singular.partition(" ")
    plural = {"person": "people", "victim": "victims"}[head] + space + rest if rest else f"{singular}s"
    return Group(
        plural.lower().replace(" ", "-"),
        attribute,
        singular,
        plural,
        _aliases(head, rest),
        zh.format(chinese),
        control=True,
    )


def _aliases(head: str, rest: str) -> tuple[str, ...]:
    """Further names of the people of a group, where its name is more than a word."""
    if head == "person":
        return (f"individual {rest}", f"individuals {rest}", f"persons {rest}")
    return (f"survivor {rest}", f"survivors {rest}") if rest else ()
