"""Text classifiers in the form of Hugging Face: from a folder, or from the hub at a fixed commit."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from trustgauge.errors import Fault, PlanError, RejectedError, ServiceError, raise_faults
from trustgauge.records import Message, Reply, Task
from trustgauge.services import InProcessService, output_of, storable
from trustgauge.services.hf_base import ABSURD, HubModel, first_line

WORDS = {
    "very negative": -1.0,
    "negative": -1.0,
    "neg": -1.0,
    "bad": -1.0,
    "neutral": 0.0,
    "neu": 0.0,
    "mixed": 0.0,
    "positive": 1.0,
    "pos": 1.0,
    "good": 1.0,
    "very positive": 1.0,
}
BETWEEN = 0.5  # of "negative" and "positive" where there are also "very negative" and "very positive"
_NUMBERED = re.compile(r"(?:label[_ ]?)?(\d+)(?: ?stars?)?")


def values_of(names: Sequence[str], given: Mapping[str, float]) -> list[float]:
    """The value of each label, in the order of `names`.

    Known without `given`: words such as positive, NEG, "very negative"; and labels numbered
    without a gap, in equal steps from worst to best ("1 star" to "5 stars", LABEL_0 to LABEL_2;
    that a higher number is better is an assumption, which `given` overrules).

    Args:
        names: the model's labels, two or more.
        given: label -> value in [-1, 1]; must then name every label of the model.

    Raises:
        PlanError: a label has no value, or a value has no label.
    """
    if given:
        _must_match(names, given)
        return [given[name] for name in names]
    plain = [re.sub(r"[\s_-]+", " ", name).strip().lower() for name in names]
    known = [WORDS.get(name) for name in plain]
    if None not in known and len(set(plain)) == len(plain) and len(set(known)) > 1:
        graded = {"very negative", "very positive"} & set(plain)
        milder = BETWEEN if graded else 1.0
        return [WORDS[name] * (1.0 if name.startswith("very") else milder) for name in plain]
    numbers = [int(found[1]) for name in plain if (found := _NUMBERED.fullmatch(name))]
    low, high = min(numbers, default=0), max(numbers, default=0)
    if len(numbers) == len(names) and sorted(numbers) == list(range(low, high + 1)):
        return [2 * (number - low) / (high - low) - 1 for number in numbers]
    example = ", ".join(f'"{name}" = ...' for name in names)
    must = "a value from -1 to 1 for each label"
    do = f"Give labels = {{ {example} }}"
    raise PlanError.of("labels", "the model's labels have no known values", must, _listed(names), do)


def _must_match(names: Sequence[str], given: Mapping[str, float]) -> None:
    faults = [
        Fault("labels", f'the label "{name}" has no value', "a value from -1 to 1 for each label")
        for name in names
        if name not in given
    ]
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, n=1, cutoff=0.5)
            do = f'Did you mean "{near[0]}"?' if near else ""
            faults.append(
                Fault("labels", f'the model has no label "{name}"', f"one of: {_listed(names)}", do=do)
            )
    raise_faults(faults)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


DIGITS = 6  # of a score: far above what the order of additions in a batch can change
OFFSET = {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "bertweet", "longformer", "mpnet"}
"""Model types whose positions begin after the number of the padding token."""


class HuggingFace(HubModel):
    """A text classifier as a sentiment scorer: labels' probabilities become a score from -1 to 1.

    Give `folder` (a model on this machine), or `model` and `revision` (a name on the hub and the
    commit of 40 hex digits: a branch moves, and with it what was rated). `labels` maps each
    label to its value; common names (positive, LABEL_1, "5 stars") are known. The score is the
    mean of the values weighted by the probabilities (`expected`), or the value of the likeliest
    label (`label`). `max_tokens` is what the model reads, by default what it says itself; longer
    texts are cut at their end, or rejected (`too_long`).

    In double precision a text's score does not depend on its neighbours in a batch; `single`
    halves time and memory, and the scores are then not declared the same each time. A model
    runs no code of its own. `key` names a variable with the hub's token; without it the
    libraries look for HF_TOKEN themselves. HF_HUB_OFFLINE=1 asks the hub for nothing.

    Attributes:
        labels: value of each label, -1 to 1; common names are known.
        score: the mean of the values weighted by the probabilities, or the value of the likeliest label.
        max_tokens: tokens that the model reads; by default what it says itself.
        too_long: longer texts are cut at their end, or rejected.
        precision: `single` halves time and memory, and scores depend a little on their batch.
        batch: texts that are scored at once.
    """

    use: str = "huggingface"
    task: ClassVar[Task] = "score"
    kind: ClassVar[str] = "text classifier"
    auto_class: ClassVar[str] = "AutoModelForSequenceClassification"
    does: ClassVar[str] = "classify"
    must_be: ClassVar[str] = "a classifier"

    labels: dict[str, float] = Field(default_factory=dict)
    score: Literal["expected", "label"] = "expected"
    max_tokens: int | None = Field(default=None, ge=4)
    too_long: Literal["cut", "reject"] = "cut"
    precision: Literal["double", "single"] = "double"
    batch: int = Field(default=32, ge=1, le=4096)

    @field_validator("labels")
    @classmethod
    def _in_range(cls, value: dict[str, float]) -> dict[str, float]:
        wrong = [label for label, number in value.items() if not -1 <= number <= 1]
        if wrong:
            raise ValueError(f"the value of a label must be from -1 to 1; that of {', '.join(wrong)} is not")
        return value

    @property
    def deterministic(self) -> bool:
        return self.precision == "double"

    def open(self) -> LiveClassifier:
        self.check_requirements()
        return LiveClassifier(self, *_loaded(self))


class LiveClassifier(InProcessService):
    """A loaded model; classifies one batch at a time in a thread."""

    def __init__(self, about: HuggingFace, tokenizer: Any, model: Any) -> None:
        self._about, self._tokenizer, self._model = about, tokenizer, model
        names = [model.config.id2label[number] for number in range(model.config.num_labels)]
        self._values = values_of(names, about.labels)
        self._most = about.max_tokens or _most(tokenizer, model.config)
        self._warned = False

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        texts = [storable(message.text) for message in messages]
        return [Reply(score) for score in await asyncio.to_thread(self._scores, texts)]

    def _scores(self, texts: Sequence[str]) -> list[float]:
        self._check(texts)
        # Without a padding token a model can read only texts of one length together.
        step = len(texts) if self._tokenizer.pad_token_id is not None else 1
        try:
            parts = [self._classified(texts[at : at + step]) for at in range(0, len(texts), step)]
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise ServiceError("the model failed on a text", got=first_line(error)) from error
        return [float(output_of(score, "score")) for part in parts for score in part]

    def _classified(self, texts: Sequence[str]) -> list[float]:
        import torch

        several = len(texts) > 1
        with torch.inference_mode():
            given = self._tokenizer(
                list(texts), truncation=True, max_length=self._most, padding=several, return_tensors="pt"
            )
            logits = self._model(**given.to(self._about.device)).logits.double().cpu()
            values = torch.tensor(self._values, dtype=torch.float64)
            likely = torch.softmax(logits, 1)
            scores = likely @ values if self._about.score == "expected" else values[logits.argmax(1)]
            if not bool(torch.isfinite(logits).all()):
                scores = torch.full_like(scores, torch.nan)
        return [round(score, DIGITS) for score in scores.tolist()]

    def _check(self, texts: Sequence[str]) -> None:
        """Reject texts that are too long, or say once that they are cut."""
        read = self._tokenizer(list(texts), truncation=True, max_length=self._most + 1)["input_ids"]
        if all(len(tokens) <= self._most for tokens in read):
            return
        if self._about.too_long == "reject":
            must = f"at most {self._most} tokens, which is what the model reads"
            raise RejectedError("the text is too long for the model", must=must)
        if not self._warned:
            self._warned = True
            text = '%s reads %d tokens: longer texts are cut at their end (too_long = "reject" rejects them)'
            logging.getLogger(__name__).warning(text, self._about.title, self._most)


def _loaded(about: HuggingFace) -> tuple[Any, Any]:
    """Tokenizer and model, ready to classify.

    Raises:
        ServiceError: it cannot be loaded, or is no trained classifier of exclusive labels.
    """
    tokenizer, model = about.load()
    config = model.config
    if config.num_labels < 2 or config.problem_type not in (None, "single_label_classification"):
        raise ServiceError(
            f"{about.title} does not choose one of several labels",
            must="a classifier with two or more labels that exclude each other",
            got=f"{config.num_labels} labels, {config.problem_type or 'kind not stated'}",
        )
    return tokenizer, about.place(model.double() if about.precision == "double" else model.float())


def _most(tokenizer: Any, config: Any) -> int:
    """Tokens that the model reads, as tokenizer or model say; without a word 512."""
    if tokenizer.model_max_length < ABSURD:
        return int(tokenizer.model_max_length)
    positions = getattr(config, "max_position_embeddings", None) or 512
    return int(positions - (config.pad_token_id + 1 if config.model_type in OFFSET else 0))
