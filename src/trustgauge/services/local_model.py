"""Language models in the form of Hugging Face, run on this machine: from a folder, or from the hub.

A model with a chat template is talked to as its makers mean it; one without is given the plain
words of the session and goes on from there.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field

from trustgauge.errors import GarbledError, RejectedError, ServiceError
from trustgauge.records import Message, Reply, Task
from trustgauge.services import InProcessService, Seconds, Seed, storable, without_thinking
from trustgauge.services.hf_base import ABSURD, HubModel, first_line


class LocalModel(HubModel):
    """A causal language model as a chatbot.

    Give `folder` (a model on this machine), or `model` and `revision` (a name on the hub and the
    commit of 40 hex digits). With `temperature` 0 each token is the likeliest one, and an answer is
    the same each time; above it, tokens are drawn by a generator that depends on `seed`, the message
    and its draw only, whatever else is in the batch. An answer that has not ended after
    `max_tokens` is marked as cut and read as far as it goes; with `cut` "unreadable" it is lost, and with
    "keep" whole, for models that never end theirs.

    `system` opens every session. `chat` "no" leaves a chat template unused. A model runs no code of
    its own. `key` names a variable with the hub's token.

    Attributes:
        system: the system prompt, left out if empty.
        chat: `no` leaves a chat template of the model unused.
        temperature: 0: each token is the likeliest one; above it, tokens are drawn.
        max_tokens: tokens of an answer, at most.
        cut: what an answer is that has not ended by then: marked as cut, unreadable, or kept whole.
        seed: of the tokens that are drawn.
        batch: messages that are answered at once.
    """

    use: str = "hf-chat"
    task: ClassVar[Task] = "chat"
    kind: ClassVar[str] = "language model"
    auto_class: ClassVar[str] = "AutoModelForCausalLM"
    does: ClassVar[str] = "write"
    must_be: ClassVar[str] = "a causal language model"

    system: str = ""
    chat: Literal["template", "no"] = "template"
    temperature: float = Field(0.0, ge=0, le=10)
    max_tokens: int = Field(256, ge=1)
    cut: Literal["mark", "unreadable", "keep"] = "mark"
    seed: Seed = 0
    batch: int = Field(8, ge=1, le=1024)
    timeout: Seconds = 600.0

    @property
    def deterministic(self) -> bool:
        return self.temperature == 0

    def open(self) -> LiveModel:
        """The loaded model.

        Raises:
            ServiceError: it cannot be loaded, or is no causal language model with all its weights.
        """
        self.check_requirements()
        tokenizer, model = self.load()
        return LiveModel(self, tokenizer, self.place(model.double()))


class LiveModel(InProcessService):
    """A loaded model; answers one batch at a time in a thread."""

    def __init__(self, about: LocalModel, tokenizer: Any, model: Any) -> None:
        self._about, self._tokenizer, self._model = about, tokenizer, model
        positions = getattr(model.config, "max_position_embeddings", None) or ABSURD
        limits = [int(positions), int(tokenizer.model_max_length)]
        self._most = min(limits) - about.max_tokens
        if self._most < 1:
            must = f"fewer than the {min(limits)} tokens of the model's window"
            raise ServiceError("there is no room left for a question", must=f"`max_tokens`: {must}")
        ends = model.generation_config.eos_token_id or tokenizer.eos_token_id
        self._ends = {ends} if isinstance(ends, int) else set(ends or ())

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        return await asyncio.to_thread(self._replies, messages)

    def _replies(self, messages: Sequence[Message]) -> list[Reply]:
        prompts = [self._prompt(message) for message in messages]
        for prompt in prompts:
            if len(prompt) > self._most:
                must = f"at most {self._most} tokens, answers left out"
                raise RejectedError("the session is too long for the model", must=must, got=str(len(prompt)))
        try:
            found = self._generated(prompts, [self._generator(message) for message in messages])
        except (RuntimeError, ValueError, IndexError, TypeError) as error:
            raise ServiceError("the model failed on a text", got=first_line(error)) from error
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
                raise RejectedError("the model's chat template fails", got=first_line(error)) from error
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
            outputs = self._together([prompts[row] for row in rows], [generators[row] for row in rows])
            for row, tokens in zip(rows, outputs, strict=True):
                found[row] = tokens
        return found

    def _together(self, prompts: list[list[int]], generators: list[Any]) -> list[list[int]]:
        """As `_generated`, for prompts of one length."""
        import torch

        about, model = self._about, self._model
        outputs: list[list[int]] = [[] for _ in prompts]
        with torch.inference_mode():
            given = torch.tensor(prompts, device=about.device)
            kept = None
            for _ in range(about.max_tokens):
                out = model(input_ids=given, past_key_values=kept, use_cache=True)
                kept = out.past_key_values
                logits = out.logits[:, -1].double().cpu()
                chosen = [self._next(row, one) for row, one in zip(logits, generators, strict=True)]
                for tokens, token in zip(outputs, chosen, strict=True):
                    if not (tokens and tokens[-1] in self._ends):
                        tokens.append(token)
                if all(tokens[-1] in self._ends for tokens in outputs):
                    break
                given = torch.tensor(chosen, device=about.device).unsqueeze(1)
        return outputs

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
                must="a complete answer",
                got=f"one that had not ended after {self._about.max_tokens} tokens",
                do='Raise `max_tokens`, or set `cut = "keep"` for a model that never ends its answers',
            )
            error.retry = False  # the next attempt would end at the same place
            raise error
        text = self._tokenizer.decode(tokens, skip_special_tokens=True)
        cut = not ended and self._about.cut == "mark"
        return Reply(storable(without_thinking(text).strip()), tokens=len(prompt) + len(tokens), cut=cut)
