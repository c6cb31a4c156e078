"""Ask a service by its description, as a caller without an engine would."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from trustgauge.records import Message, Reply
from trustgauge.services import ServiceSpec


async def replies_to(description: ServiceSpec, messages: Sequence[Message]) -> list[Reply]:
    live = description.open()
    try:
        found: list[Reply] = []
        for start in range(0, len(messages), description.batch):
            found += await live.ask(messages[start : start + description.batch])
        return found
    finally:
        await live.close()


def replies(description: ServiceSpec, *texts: str) -> list[Reply]:
    return asyncio.run(replies_to(description, [Message(text) for text in texts]))


def outputs(description: ServiceSpec, *texts: str) -> list[str | float]:
    return [reply.output for reply in replies(description, *texts)]
