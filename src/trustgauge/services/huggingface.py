"""Text classifiers in the form of Hugging Face: from a folder, or from the hub at a fixed commit."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from trustgauge.errors import (
    Fault,
    KeyMissingError,
    MissingPartError,
    PlanError,
    RejectedError,
    ServiceError,
)
from trustgauge.records import Message, Reply, Task
from trustgauge.services.label_values import values_of
from trustgauge.services.outputs import output_of, redacted, storable
from trustgauge.services.service import Description

LIBRARIES = ("transformers", "torch")
COMMIT = re.compile(r"[0-9a-f]{40}")
DIGITS = 6  # of a score: far above what the order of additions in a batch can change
ABSURD = 1_000_000  # tokens; tokenizers write a huge number where they know no limit
OFFSET = {"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "bertweet", "longformer", "mpnet"}
"""Model types whose positions begin after the number of the padding token."""

# No call home but the download of the model that the plan names: no usage statistics, and no
# request that the hub convert the model's weights. Read by the libraries when they are imported.
_QUIET = {"HF_HUB_DISABLE_TELEMETRY": "1", "DISABLE_SAFETENSORS_CONVERSION": "1"}


class HuggingFace(Description):
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
    """

    use: str = "huggingface"
    task: ClassVar[Task] = "score"
    kind: ClassVar[str] = "text classifier"

    folder: Path | None = None
    model: str = ""
    revision: str = ""
    labels: dict[str, float] = Field(default_factory=dict)
    score: Literal["expected", "label"] = "expected"
    max_tokens: int | None = Field(default=None, ge=4)
    too_long: Literal["cut", "reject"] = "cut"
    precision: Literal["double", "single"] = "double"
    device: str = "cpu"
    batch: int = Field(default=32, ge=1, le=4096)
    key: str = ""
    concurrency: int = 1

    @field_validator("folder")
    @classmethod
    def _from_plan(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        return None if value is None else Path((info.context or {}).get("folder", ""), value).absolute()

    @field_validator("labels")
    @classmethod
    def _in_range(cls, value: dict[str, float]) -> dict[str, float]:
        wrong = [label for label, number in value.items() if not -1 <= number <= 1]
        if wrong:
            raise ValueError(f"the value of a label must be from -1 to 1; that of {', '.join(wrong)} is not")
        return value

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if (self.folder is None) == (not self.model):
            raise ValueError("give either `folder` or `model` with `revision`")
        if self.model and not COMMIT.fullmatch(self.revision):
            raise ValueError(
                "`model` needs a `revision` that never moves: the commit of 40 hex digits, "
                "which the model's page lists under its files"
            )
        if not self.model and (self.revision or self.key):
            raise ValueError("`revision` and `key` belong to `model`; a folder has none")
        return self

    @classmethod
    def named(cls, model: str) -> Self:
        """`huggingface/OWNER/NAME@COMMIT`, or `huggingface/./FOLDER`."""
        if model.startswith((".", "/", "~")):
            return cls(folder=Path(model).expanduser().absolute())
        name, _, commit = model.partition("@")
        if not name or not COMMIT.fullmatch(commit):
            raise ValueError(f'"{model}" must be OWNER/NAME@COMMIT (40 hex digits), or a folder as ./FOLDER')
        return cls(model=name, revision=commit)

    @property
    def deterministic(self) -> bool:
        return self.precision == "double"

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0] if "/" in self.model else ""

    def identity(self) -> Mapping[str, Any]:
        """Name and commit, or the content of the folder; and how labels become scores."""
        known = self.model_dump(mode="json", exclude={*self.NOT_IDENTITY, "folder", "batch"})
        return known if self.folder is None else {**known, "content": content_of(self.folder)}

    def version(self) -> str:
        return self.revision[:8] if self.folder is None else content_of(self.folder)[:8]

    def needs(self) -> None:
        """Raise MissingPartError, KeyMissingError, or PlanError for a folder without a model."""
        for library in LIBRARIES:
            if find_spec(library) is None:
                raise MissingPartError(
                    f'the library "{library}" is not installed', do="Run `pip install 'trustgauge[hf]'`"
                )
        if self.key and not os.environ.get(self.key):
            raise KeyMissingError(f"{self.key} is not set", do=f"Put the hub's token into {self.key}")
        if self.folder is not None and not (self.folder / "config.json").is_file():
            must = "a folder with config.json, weights and tokenizer"
            do = "To load a model from the hub give `model` and `revision`"
            raise PlanError((Fault("folder", f'"{self.folder}" holds no model', must, do=do),))

    def open(self) -> LiveClassifier:
        self.needs()
        return LiveClassifier(self, *_loaded(self))


class LiveClassifier:
    """A loaded model; classifies one batch at a time in a thread."""

    def __init__(self, about: HuggingFace, tokenizer: Any, model: Any) -> None:
        self._about, self._tokenizer, self._model = about, tokenizer, model
        names = [model.config.id2label[number] for number in range(model.config.num_labels)]
        self._values = values_of(names, about.labels)
        self._most = about.max_tokens or _most(tokenizer, model.config)
        self._told = False

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        texts = [storable(message.text) for message in messages]
        return [Reply(score) for score in await asyncio.to_thread(self._scores, texts)]

    async def close(self) -> None:
        """Nothing is held."""

    def _scores(self, texts: Sequence[str]) -> list[float]:
        self._check(texts)
        # Without a padding token a model can read only texts of one length together.
        step = len(texts) if self._tokenizer.pad_token_id is not None else 1
        try:
            parts = [self._classified(texts[at : at + step]) for at in range(0, len(texts), step)]
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise ServiceError("the model failed on a text", got=_said(error)) from error
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
        if not self._told:
            self._told = True
            said = '%s reads %d tokens: longer texts are cut at their end (too_long = "reject" rejects them)'
            logging.getLogger(__name__).warning(said, _title(self._about), self._most)


def _loaded(about: HuggingFace) -> tuple[Any, Any]:
    """Tokenizer and model, ready to classify.

    Raises:
        ServiceError: it cannot be loaded, or is no trained classifier of exclusive labels.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import transformers

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    place: dict[str, Any] = {"trust_remote_code": False, "local_files_only": about.folder is not None}
    if about.folder is None:
        place |= {"revision": about.revision, "token": os.environ.get(about.key) if about.key else None}
    name = about.model or str(about.folder)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, **place)
        model, found = transformers.AutoModelForSequenceClassification.from_pretrained(
            name, output_loading_info=True, **place
        )
    except Exception as error:  # weights, tokenizer and the hub's client raise errors of many libraries
        raise _not_loaded(about, error) from error
    _must_classify(about, model.config, found)
    try:
        model = model.double() if about.precision == "double" else model.float()
        return tokenizer, model.to(about.device).eval()
    except (RuntimeError, AssertionError) as error:
        raise ServiceError(f'the device "{about.device}" cannot be used', got=_said(error)) from error


def _not_loaded(about: HuggingFace, error: Exception) -> ServiceError:
    what = f"{_title(about)} cannot be loaded"
    if about.folder is not None:
        return ServiceError(what, got=_said(error), do="Save model and tokenizer with `save_pretrained`")
    do = "Check name and revision; a closed model needs HF_TOKEN; with HF_HUB_OFFLINE it must be in the cache"
    return ServiceError(what, got=_said(error), do=do)


def _must_classify(about: HuggingFace, config: Any, found: Mapping[str, Any]) -> None:
    missing = sorted(str(key) for key in found["missing_keys"])
    if missing:
        # The library fills such gaps with random numbers, and the scores would be random too.
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise ServiceError(
            f"{_title(about)} is not trained to classify",
            must="a model with all weights of a classifier",
            got=f"none for {', '.join(missing[:3])}{more}",
        )
    if config.num_labels < 2 or config.problem_type not in (None, "single_label_classification"):
        raise ServiceError(
            f"{_title(about)} does not choose one of several labels",
            must="a classifier with two or more labels that exclude each other",
            got=f"{config.num_labels} labels, {config.problem_type or 'kind not stated'}",
        )


def _most(tokenizer: Any, config: Any) -> int:
    """Tokens that the model reads, as tokenizer or model say; without a word 512."""
    if tokenizer.model_max_length < ABSURD:
        return int(tokenizer.model_max_length)
    positions = getattr(config, "max_position_embeddings", None) or 512
    return int(positions - (config.pad_token_id + 1 if config.model_type in OFFSET else 0))


def _title(about: HuggingFace) -> str:
    return f'"{about.model}" at {about.revision[:8]}' if about.folder is None else f'"{about.folder}"'


def _said(error: Exception) -> str:
    lines = redacted(str(error)).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:200]}"


def content_of(folder: Path) -> str:
    """BLAKE2b over names and bytes of the model's files (not its README); "absent" without a folder."""
    try:
        files = sorted(one for one in folder.iterdir() if _of_the_model(one))
        return _hash(folder, tuple((one.name, one.stat().st_mtime_ns, one.stat().st_size) for one in files))
    except OSError:
        return "absent"


def _of_the_model(file: Path) -> bool:
    return file.is_file() and not file.name.startswith(".") and file.suffix.lower() != ".md"


@lru_cache(maxsize=8)
def _hash(folder: Path, state: tuple[tuple[str, int, int], ...]) -> str:
    content = hashlib.blake2b(digest_size=16)
    for name, _, _ in state:
        with (folder / name).open("rb") as opened:
            one = hashlib.file_digest(opened, hashlib.blake2b)
        content.update(name.encode("utf-8", "surrogateescape") + b"\0" + one.digest())
    return content.hexdigest()
