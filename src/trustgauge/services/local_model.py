"""Language models in the form of Hugging Face, run on this machine: from a folder, or from the hub.

A model with a chat template is talked to as its makers mean it; one without is given the plain
words of the session and goes on from there.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from trustgauge.errors import (
    Fault,
    GarbledError,
    KeyMissingError,
    MissingPartError,
    PlanError,
    RejectedError,
    ServiceError,
)
from trustgauge.records import Message, Reply, Task
from trustgauge.services.huggingface import ABSURD, COMMIT, LIBRARIES, content_of
from trustgauge.services.outputs import redacted, storable
from trustgauge.services.service import Description


class LocalModel(Description):
    """A causal language model as a chatbot.

    Give `folder` (a model on this machine), or `model` and `revision` (a name on the hub and the
    commit of 40 hex digits). With `temperature` 0 each token is the likeliest one, and an answer is
    the same each time; above it, tokens are drawn by a generator that depends on `seed`, the message
    and its draw only, whatever else is in the batch. An answer that has not ended after
    `max_tokens` cannot be read, unless `cut` says that such models never end theirs.

    `system` opens every session. `chat` "no" leaves a chat template unused. A model runs no code of
    its own. `key` names a variable with the hub's token.
    """

    use: str = "hf-chat"
    task: ClassVar[Task] = "chat"
    kind: ClassVar[str] = "language model"

    folder: Path | None = None
    model: str = ""
    revision: str = ""
    system: str = ""
    chat: Literal["template", "no"] = "template"
    temperature: float = Field(0.0, ge=0, le=10)
    max_tokens: int = Field(256, ge=1)
    cut: Literal["unreadable", "keep"] = "unreadable"
    seed: int = 0
    device: str = "cpu"
    batch: int = Field(8, ge=1, le=1024)
    key: str = ""
    concurrency: int = 1
    timeout: float = 600.0

    @field_validator("folder")
    @classmethod
    def _from_plan(cls, value: Path | None, info: ValidationInfo) -> Path | None:
        return None if value is None else Path((info.context or {}).get("folder", ""), value).absolute()

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if (self.folder is None) == (not self.model):
            raise ValueError("give either `folder` or `model` with `revision`")
        if self.model and not COMMIT.fullmatch(self.revision):
            raise ValueError("`model` needs a `revision` that never moves: the commit of 40 hex digits")
        if not self.model and (self.revision or self.key):
            raise ValueError("`revision` and `key` belong to `model`; a folder has none")
        return self

    @classmethod
    def named(cls, model: str) -> Self:
        """`hf-chat/OWNER/NAME@COMMIT`, or `hf-chat/./FOLDER`."""
        if model.startswith((".", "/", "~")):
            return cls(folder=Path(model).expanduser().absolute())
        name, _, commit = model.partition("@")
        if not name or not COMMIT.fullmatch(commit):
            raise ValueError(f'"{model}" must be OWNER/NAME@COMMIT (40 hex digits), or a folder as ./FOLDER')
        return cls(model=name, revision=commit)

    @property
    def deterministic(self) -> bool:
        return self.temperature == 0

    @property
    def provider(self) -> str:
        return self.model.partition("/")[0] if "/" in self.model else ""

    def identity(self) -> Mapping[str, Any]:
        """Name and commit, or the content of the folder; and how it is talked to."""
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
            raise PlanError((Fault("folder", f'"{self.folder}" holds no model', must),))

    def open(self) -> LiveModel:
        """The loaded model.

        Raises:
            ServiceError: it cannot be loaded, or is no causal language model with all its weights.
        """
        self.needs()
        return LiveModel(self, *_loaded(self))


class LiveModel:
    """A loaded model; answers one batch at a time in a thread."""

    def __init__(self, about: LocalModel, tokenizer: Any, model: Any) -> None:
        self._about, self._tokenizer, self._model = about, tokenizer, model
        positions = getattr(model.config, "max_position_embeddings", None) or ABSURD
        limits = [int(positions), int(tokenizer.model_max_length)]
        self._most = min(limits) - about.max_tokens
        if self._most < 1:
            must = f"fewer than the {min(limits)} tokens of the model's window"
            raise ServiceError("no room is left for a question", must=f"`max_tokens`: {must}")
        ends = model.generation_config.eos_token_id or tokenizer.eos_token_id
        self._ends = {ends} if isinstance(ends, int) else set(ends or ())

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        return await asyncio.to_thread(self._replies, messages)

    async def close(self) -> None:
        """Nothing is held."""

    def _replies(self, messages: Sequence[Message]) -> list[Reply]:
        prompts = [self._prompt(message) for message in messages]
        for prompt in prompts:
            if len(prompt) > self._most:
                must = f"at most {self._most} tokens, answers left out"
                raise RejectedError("the session is too long for the model", must=must, got=str(len(prompt)))
        try:
            found = self._generated(prompts, [self._generator(message) for message in messages])
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise ServiceError("the model failed on a text", got=_said(error)) from error
        return [self._reply(prompt, tokens) for prompt, tokens in zip(prompts, found, strict=True)]

    def _prompt(self, message: Message) -> list[int]:
        """The session as tokens."""
        about, tokenizer = self._about, self._tokenizer
        said = [{"role": "system", "content": storable(about.system)}] if about.system else []
        for user, bot in message.turns:
            said += [{"role": "user", "content": storable(user)}]
            said += [{"role": "assistant", "content": storable(bot)}]
        said += [{"role": "user", "content": storable(message.text)}]
        if about.chat == "template" and tokenizer.chat_template:
            try:
                text = tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
            except Exception as error:  # a template is a program of its maker's
                raise RejectedError("the model's chat template fails", got=_said(error)) from error
            return list(tokenizer(text, add_special_tokens=False)["input_ids"])
        tokens = list(tokenizer("\n".join(one["content"] for one in said))["input_ids"])
        # An end in the prompt, which some tokenizers add, would leave nothing to say.
        while tokens and tokens[-1] in self._ends:
            tokens.pop()
        return tokens or [next((one for one in (tokenizer.bos_token_id, *self._ends) if one is not None), 0)]

    def _generator(self, message: Message) -> Any:
        """What the answer to this message is drawn from."""
        import torch

        name = f"{self._about.seed}\0{message.key}\0{message.draw}".encode()
        seed = int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little") >> 1
        return torch.Generator().manual_seed(seed)

    def _generated(self, prompts: list[list[int]], generators: list[Any]) -> list[list[int]]:
        """The tokens that follow each prompt, its end included if it came to one.

        Prompts of one length are answered together: padding would shift the positions of some
        models, and answers would depend on their neighbours.
        """
        found: list[list[int]] = [[] for _ in prompts]
        by_size: dict[int, list[int]] = {}
        for at, prompt in enumerate(prompts):
            by_size.setdefault(len(prompt), []).append(at)
        for rows in by_size.values():
            told = self._together([prompts[row] for row in rows], [generators[row] for row in rows])
            for row, tokens in zip(rows, told, strict=True):
                found[row] = tokens
        return found

    def _together(self, prompts: list[list[int]], generators: list[Any]) -> list[list[int]]:
        """As `_generated`, for prompts of one length."""
        import torch

        about, model = self._about, self._model
        told: list[list[int]] = [[] for _ in prompts]
        with torch.inference_mode():
            given = torch.tensor(prompts, device=about.device)
            kept = None
            for _ in range(about.max_tokens):
                out = model(input_ids=given, past_key_values=kept, use_cache=True)
                kept = out.past_key_values
                logits = out.logits[:, -1].double().cpu()
                chosen = [self._next(row, one) for row, one in zip(logits, generators, strict=True)]
                for tokens, token in zip(told, chosen, strict=True):
                    if not (tokens and tokens[-1] in self._ends):
                        tokens.append(token)
                if all(tokens[-1] in self._ends for tokens in told):
                    break
                given = torch.tensor(chosen, device=about.device).unsqueeze(1)
        return told

    def _next(self, logits: Any, generator: Any) -> int:
        """The likeliest token, or one drawn."""
        import torch

        if self._about.temperature == 0:
            return int(logits.argmax())
        chances = torch.softmax(logits / self._about.temperature, 0)
        return int(torch.multinomial(chances, 1, generator=generator))

    def _reply(self, prompt: list[int], tokens: list[int]) -> Reply:
        ended = bool(tokens) and tokens[-1] in self._ends
        if not ended and self._about.cut == "unreadable":
            error = GarbledError(
                "the answer was cut short",
                must="a whole answer",
                got=f"one that had not ended after {self._about.max_tokens} tokens",
                do='Raise `max_tokens`, or set `cut = "keep"` for a model that never ends its answers',
            )
            error.retry = False  # the next attempt would end at the same place
            raise error
        text = self._tokenizer.decode(tokens, skip_special_tokens=True)
        return Reply(storable(text.strip()), tokens=len(prompt) + len(tokens))


def _loaded(about: LocalModel) -> tuple[Any, Any]:
    """Tokenizer and model, ready to talk."""
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
    import transformers

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    place: dict[str, Any] = {"trust_remote_code": False, "local_files_only": about.folder is not None}
    if about.folder is None:
        place |= {"revision": about.revision, "token": os.environ.get(about.key) if about.key else None}
    name = about.model or str(about.folder)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, **place)
        both: Any = transformers.AutoModelForCausalLM.from_pretrained(name, output_loading_info=True, **place)
        model, found = both
    except Exception as error:  # weights, tokenizer and the hub's client raise errors of many libraries
        raise ServiceError(
            f'"{name}" cannot be loaded', must="a causal language model", got=_said(error)
        ) from error
    missing = sorted(str(key) for key in found["missing_keys"])
    if missing:
        # The library fills such gaps with random numbers, and the answers would be random too.
        must, got = "a model with all its weights", f"none for {', '.join(missing[:3])}"
        raise ServiceError(f'"{name}" is not trained to write', must=must, got=got)
    try:
        return tokenizer, model.double().to(about.device).eval()
    except (RuntimeError, AssertionError) as error:
        raise ServiceError(f'the device "{about.device}" cannot be used', got=_said(error)) from error


def _said(error: Exception) -> str:
    lines = redacted(str(error)).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:200]}"
