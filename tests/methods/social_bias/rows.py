"""Groups and properties of our own making, for tests of the questions."""

from __future__ import annotations

from trustgauge.data.properties import Property
from trustgauge.data.social_groups import Group


def group(name: str, attribute: str = "gender", *, control: bool = False, plural: str | None = None) -> Group:
    """A group whose plural is its id with an s, and whose Chinese name holds its id."""
    shown = f"{name}s" if plural is None else plural
    return Group(name, attribute, name, shown, (), f"{name}人", (), offensive=False, control=control)


def groups(*sizes: int) -> tuple[Group, ...]:
    """So many groups of one attribute after the other: "a0-0", "a0-1", "a1-0"."""
    return tuple(group(f"a{a}-{n}", f"attribute-{a}") for a, size in enumerate(sizes) for n in range(size))


def prop(
    name: str,
    predicate: str = "steal from shops",
    categories: tuple[str, ...] = ("crime",),
    antonym: str = "",
    *,
    zh: tuple[str, str] = ("会偷东西", ""),
) -> Property:
    """A property, comparable if it has a Chinese comparative."""
    comparable = bool(zh[1])
    return Property(
        name, predicate, categories, "negative", antonym, comparable, zh[0], zh[1], offensive=False
    )


def comparable(name: str, categories: tuple[str, ...] = ("financial-status",), antonym: str = "") -> Property:
    """A comparable property: "are poor"."""
    return prop(name, "are poor", categories, antonym, zh=("很穷", "穷"))


def properties(plain: int, comparables: int) -> tuple[Property, ...]:
    """So many properties, the comparable ones last."""
    first = tuple(prop(f"p{n}") for n in range(plain))
    return (*first, *(comparable(f"q{n}") for n in range(comparables)))
