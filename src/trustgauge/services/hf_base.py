"""Models in the form of Hugging Face: a folder on this machine, or a name on the hub at a fixed commit."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import model_validator

from trustgauge.errors import KeyMissingError, PlanError, ServiceError
from trustgauge.plan import PlanPath
from trustgauge.plugins import need_library
from trustgauge.services import Access, Concurrency, ServiceSpec, redact

LIBRARIES = ("transformers", "torch")
COMMIT = re.compile(r"[0-9a-f]{40}")
ABSURD = 1_000_000  # tokens; tokenizers write a huge number where they know no limit

# No call home but the download of the model that the plan names: no usage statistics, and no
# request that the hub convert the model's weights. Read by the libraries when they are imported.
QUIET = {"HF_HUB_DISABLE_TELEMETRY": "1", "DISABLE_SAFETENSORS_CONVERSION": "1"}


class HubModel(ServiceSpec):
    """What classifiers and language models share: where the model lies, and how it is loaded.

    `folder`, or `model` and `revision` (a name on the hub and the commit of 40 hex digits: a branch
    moves, and with it what was rated). `key` names a variable with the hub's token; without it the
    libraries look for HF_TOKEN themselves. HF_HUB_OFFLINE=1 asks the hub for nothing.

    Attributes:
        folder: folder of a model on this machine.
        model: name on the hub, if no folder is given.
        revision: its commit of 40 hex digits.
        device: where it runs, such as cpu or cuda.
        key: name of the environment variable with the hub's token.
    """

    auto_class: ClassVar[str]  # of transformers
    does: ClassVar[str]  # what it is trained to do
    must_be: ClassVar[str]

    folder: PlanPath | None = None
    model: str = ""
    revision: str = ""
    device: str = "cpu"
    key: str = ""
    concurrency: Concurrency = 1

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
        """`OWNER/NAME@COMMIT`, or `./FOLDER`, behind the name of the service."""
        if model.startswith((".", "/", "~")):
            return cls.model_validate({"folder": Path(model).expanduser().absolute()})
        name, _, commit = model.partition("@")
        if not name or not COMMIT.fullmatch(commit):
            raise ValueError(f'"{model}" must be OWNER/NAME@COMMIT (40 hex digits), or a folder as ./FOLDER')
        return cls.model_validate({"model": name, "revision": commit})

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0] if "/" in self.model else ""

    @property
    def title(self) -> str:
        """The model in messages."""
        return f'"{self.model}" at {self.revision[:8]}' if self.folder is None else f'"{self.folder}"'

    def identity(self) -> Mapping[str, Any]:
        """Name and commit, or the content of the folder; and how it is asked."""
        known = self.model_dump(mode="json", exclude={*self.NOT_IDENTITY, "folder", "batch"})
        return known if self.folder is None else {**known, "content": content_of(self.folder)}

    def version(self) -> str:
        return self.revision[:8] if self.folder is None else content_of(self.folder)[:8]

    def check_requirements(self) -> None:
        """Raise MissingPartError, KeyMissingError, or PlanError for a folder without a model."""
        for library in LIBRARIES:
            need_library(library, "pip install 'trustgauge[hf]'")
        if self.key and not os.environ.get(self.key):
            raise KeyMissingError(f"{self.key} is not set", do=f"Put the hub's token into {self.key}")
        if self.folder is not None and not (self.folder / "config.json").is_file():
            must = "a folder with config.json, weights and tokenizer"
            do = "To load a model from the hub give `model` and `revision`"
            raise PlanError.of("folder", f'"{self.folder}" does not contain a model', must, do=do)

    def variables(self) -> tuple[str, ...]:
        return (self.key,) if self.key == "HF_TOKEN" else ()

    def access(self) -> tuple[Access, ...]:
        if self.folder is not None or not self.key or self.key == "HF_TOKEN":
            return ()
        return (Access("sends", self.key, "the Hugging Face hub"),)

    def load(self) -> tuple[Any, Any]:
        """Tokenizer and model as they were saved, with all weights. The model runs no code of its own.

        Raises:
            ServiceError: it cannot be loaded, or lacks weights.
        """
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        import transformers

        transformers.utils.logging.disable_progress_bar()
        place: dict[str, Any] = {"trust_remote_code": False, "local_files_only": self.folder is not None}
        if self.folder is None:
            place |= {"revision": self.revision, "token": os.environ.get(self.key) if self.key else None}
        name = self.model or str(self.folder)
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(name, **place)
            loader: Any = getattr(transformers, self.auto_class)
            model, found = loader.from_pretrained(name, output_loading_info=True, **place)
        except Exception as error:  # weights, tokenizer and the hub's client raise errors of many libraries
            raise self._not_loaded(error) from error
        self._must_be_whole(found)
        return tokenizer, model

    def place(self, model: Any) -> Any:
        """The model on its device, ready to answer. Raises ServiceError if the device cannot be used."""
        try:
            return model.to(self.device).eval()
        except (RuntimeError, AssertionError) as error:
            raise ServiceError(f'the device "{self.device}" cannot be used', got=first_line(error)) from error

    def _not_loaded(self, error: Exception) -> ServiceError:
        do = "Save model and tokenizer with `save_pretrained`"
        if self.folder is None:
            do = (
                "Check name and revision; a closed model needs HF_TOKEN; with HF_HUB_OFFLINE it must be "
                "in the cache"
            )
        return ServiceError(f"{self.title} cannot be loaded", must=self.must_be, got=first_line(error), do=do)

    def _must_be_whole(self, found: Mapping[str, Any]) -> None:
        missing = sorted(str(key) for key in found["missing_keys"])
        if missing:
            # The library fills such gaps with random numbers, and the answers would be random too.
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise ServiceError(
                f"{self.title} is not trained to {self.does}",
                must=f"{self.must_be} with all its weights",
                got=f"none for {', '.join(missing[:3])}{more}",
            )


def first_line(error: Exception) -> str:
    """The first line of an error of a library, without secrets."""
    lines = redact(str(error)).strip().splitlines() or [""]
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
