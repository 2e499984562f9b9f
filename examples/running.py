"""Connects the examples to Parley: PARLEY_URL and PARLEY_TOKEN, as `make up` prints them."""

import asyncio
import os
from collections.abc import Awaitable, Callable

from parley.client import Parley


def run(example: Callable[[Parley], Awaitable[None]]) -> None:
    async def with_parley() -> None:
        url = os.environ.get("PARLEY_URL", "http://127.0.0.1:8001")
        async with Parley(url, token=os.environ.get("PARLEY_TOKEN", "")) as parley:
            await example(parley)

    asyncio.run(with_parley())
