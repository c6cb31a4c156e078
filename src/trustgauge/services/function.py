"""A Python function as a service, such as a model under development or a library.

A plan that names a function runs its module's code, as an import does.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
import sysconfig
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from trustgauge.errors import GarbledError, MissingPartError, RejectedError, ServiceError, UnavailableError
from trustgauge.plan import PlanPath
from trustgauge.records import Message, Reply, Task
from trustgauge.services import Access, Concurrency, TranslatorSpec, output_of, redact, storable

# Errors that the same message would meet again; all others are worth another try.
_CALLABLE = re.compile(r"^\w+(\.\w+)*:\w+(\.\w+)*$")
_OF_THE_MESSAGE = (ValueError, TypeError, LookupError, ArithmeticError, AssertionError, AttributeError)


class Function(TranslatorSpec):
    """`function = "module:callable"`, sync or async; modules are also sought in `folder` (the plan's).

    It is called with the text, or with a list of texts where `batch` is above 1, and returns a
    text, a number (task `score`) or a `Reply`, or a list of them. Where `takes` is `message` it
    gets `records.Message` instead: draw, session and earlier turns with it. Where `target` is
    set it also gets `source` and `target` as keywords. `revision` names the function's version
    and belongs to the fingerprint, as its code is not looked into.

    Attributes:
        function: `module:callable`, sync or async.
        takes: `message`: it gets `trustgauge.Message`, with draw, session and earlier turns.
        task: what it does with a text.
        batch: above 1 it gets a list of texts and returns a list.
        deterministic: equal texts get equal answers; verified on a few.
        revision: names its version, which belongs to the fingerprint.
        folder: where modules are also sought; by default the plan's.
    """

    use: str = "function"
    kind: ClassVar[str] = "Python function"
    CODE_PLACE: ClassVar[frozenset[str]] = frozenset({"folder"})

    function: str = Field(pattern=_CALLABLE.pattern)
    takes: Literal["text", "message"] = "text"
    task: Task = "translate"
    batch: int = Field(default=1, ge=1)
    deterministic: bool = False
    revision: str = ""
    folder: PlanPath = Field(default=Path(), validate_default=True)
    concurrency: Concurrency = 1  # not every function may run side by side with itself

    @field_validator("function", mode="before")
    @classmethod
    def _module_and_callable(cls, function: Any) -> Any:
        if isinstance(function, str) and not _CALLABLE.fullmatch(function):
            raise ValueError('must be "module:callable", such as "mine:rewrite"')
        return function

    def identity(self) -> Mapping[str, Any]:
        return self.model_dump(mode="json", exclude={*self.NOT_IDENTITY, "folder", "batch"})

    def version(self) -> str:
        return self.revision

    def uses_history(self) -> bool:
        return self.takes == "message"

    def check_requirements(self) -> None:
        """Raise MissingPartError if there is no such module. Imports nothing: that would run its code."""
        name = self.function.partition(":")[0].partition(".")[0]
        if not (_stands(self.folder, name) or _installed(name)):
            raise MissingPartError(
                f'the function "{self.function}" cannot be imported',
                must=f"a module in {self.folder}, or an installed one",
                got=f'no module "{name}"',
                do="Correct `function`, or install its module",
            )

    def access(self) -> tuple[Access, ...]:
        return (Access("runs", f"the Python function {self.function}", str(self.folder)),)

    def open(self) -> LiveFunction:
        return LiveFunction(self, self._load())

    def _load(self) -> Callable[..., Any]:
        module, _, path = self.function.partition(":")
        _seek_in(self.folder)
        try:
            found: Any = import_module(module)
            for name in path.split("."):
                found = getattr(found, name)
        except Exception as error:
            raise MissingPartError(
                f'the function "{self.function}" cannot be imported',
                got=f"{type(error).__name__}: {redact(str(error))[:200]}",
                do="Correct `function`, or install its module",
            ) from error
        self._check_home(module.partition(".")[0])
        if not callable(found):
            raise MissingPartError(f'"{self.function}" cannot be called', got=type(found).__name__)
        return found  # type: ignore[no-any-return]

    def _check_home(self, name: str) -> None:
        """Raise MissingPartError if a module of that name hides the one in the folder, and is not installed.

        So it is where Python was started with the folder of another one on its path, as `python -m` does.
        """
        home = _home(sys.modules[name])
        fine = (str(self.folder.resolve()), *sysconfig.get_paths().values())
        if home and str(Path(home).resolve()) not in fine and _stands(self.folder, name):
            raise MissingPartError(
                f'the module "{name}" is another one',
                must=f"the one in {self.folder}",
                got=f"one in {home}, which hides it",
                do="Rename the module in the folder",
            )


_FOLDERS: list[str] = []
"""Folders of plans in which modules have been sought, the latest last."""


def _seek_in(folder: Path) -> None:
    """Have modules sought in a folder: behind installed ones, of which it hides none, before other folders.

    What was imported from another one under a name that this folder has too is imported again, from here:
    `mine` of one service is not `mine` of the next.
    """
    here = str(folder.resolve())  # as it begins the paths of modules found there
    others = [one for one in _FOLDERS if one != here]
    if here in _FOLDERS or here not in sys.path:  # else others than we look there, and before
        sys.path[:] = [one for one in sys.path if one not in _FOLDERS]
        sys.path += [here, *reversed(others)]
        _FOLDERS[:] = [*others, here]
    for name in [
        name for name, module in sys.modules.items() if _home(module) in others and _stands(folder, name)
    ]:
        for loaded in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            del sys.modules[loaded]
    invalidate_caches()


def _home(module: Any) -> str:
    """The folder that a top-level module was found in."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or "." in str(getattr(module, "__name__", ".")):
        return ""
    path = Path(file)
    return str(path.parent.parent if path.stem == "__init__" else path.parent)


def _stands(folder: Path, name: str) -> bool:
    """Whether a folder has a module of its own of that name."""
    beside = folder / name
    return beside.is_dir() or beside.with_suffix(".py").is_file()


def _installed(name: str) -> bool:
    """Whether a top-level module is there; it is not imported."""
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class LiveFunction:
    """Calls the function: an async one as it is, another one in a thread."""

    def __init__(self, description: Function, function: Callable[..., Any]) -> None:
        self._about, self._function = description, function
        self._asynchronous = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004  an object whose call is async
        )

    async def ask(self, messages: Sequence[Message]) -> list[Reply]:
        given = list(messages) if self._about.takes == "message" else [message.text for message in messages]
        if self._about.batch == 1:
            return [self._reply(await self._call(one)) for one in given]
        answers = await self._call(given)
        if not isinstance(answers, list | tuple) or len(answers) != len(given):
            got = f"{len(answers)}" if isinstance(answers, list | tuple) else type(answers).__name__
            raise GarbledError(
                "the function did not return one answer per text", must=f"a list of {len(given)}", got=got
            )
        return [self._reply(answer) for answer in answers]

    async def close(self) -> None:
        """Nothing is open."""

    async def _call(self, given: Any) -> Any:
        about = self._about
        keywords = {"source": about.source, "target": about.target} if about.target else {}
        try:
            async with asyncio.timeout(about.timeout) as limit:
                if self._asynchronous:
                    return await self._function(given, **keywords)
                answer = await _in_thread(lambda: self._function(given, **keywords))
                return await answer if inspect.isawaitable(answer) else answer
        except ServiceError:
            raise
        except Exception as error:
            raise _service_error(error, about, late=limit.expired()) from error

    def _reply(self, answer: Any) -> Reply:
        if not isinstance(answer, Reply):
            return Reply(output_of(answer, self._about.task))
        refused_in_words = answer.refused and isinstance(answer.output, str)
        output = output_of(answer.output, "chat" if refused_in_words else self._about.task)
        return replace(answer, output=output, trail=tuple(storable(text) for text in answer.trail))


def _service_error(error: Exception, about: Function, *, late: bool) -> ServiceError:
    """A function's exception as an error of the service."""
    if late:
        return UnavailableError(
            f'"{about.function}" gave no answer within {about.timeout:g} s', timed_out=True
        )
    said = f"{type(error).__name__}: {redact(str(error))[:200]}"
    if isinstance(error, _OF_THE_MESSAGE):
        return RejectedError(f'"{about.function}" failed on this message', got=said)
    return UnavailableError(f'"{about.function}" failed: {said}', timed_out=isinstance(error, TimeoutError))


async def _in_thread(call: Callable[[], Any]) -> Any:
    """Run a call in a daemon thread of its own: one that never ends must not hold up the exit."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: Exception | None) -> None:
        if done.done():  # given up in the meantime
            return
        if error is None:
            done.set_result(value)
        else:
            done.set_exception(error)

    def run() -> None:
        value: Any = None
        error: Exception | None = None
        try:
            value = call()
        except StopIteration as stopped:  # a future cannot carry it
            error = RuntimeError(f"StopIteration: {stopped}")
        except BaseException as raised:
            error = raised if isinstance(raised, Exception) else RuntimeError(type(raised).__name__)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=run, name="trustgauge function", daemon=True).start()
    return await done
