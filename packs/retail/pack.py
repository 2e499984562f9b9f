"""The retail store as a pack. Each call uses its session's world."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from pydantic import JsonValue

from packs.retail.policy import RULES
from packs.retail.records import load
from packs.retail.specs import ORIGIN, TOOLS, Arguments
from packs.retail.store import Worlds
from parley import Context, Pack, Preview, Refused

REFUSAL = "Error: "


class RetailSettings(Protocol):
    """The settings that the store reads. `retail_url` is an SQLAlchemy URL."""

    @property
    def retail_url(self) -> str: ...

    @property
    def parley_retail_data_dir(self) -> Any: ...


class Retail(Pack):
    """Sixteen tools over the worlds of one database. Pass `worlds` if they are open already."""

    def __init__(self, worlds: Worlds | None = None) -> None:
        super().__init__(ORIGIN, (replace(tool, **self._bound(tool.name)) for tool in TOOLS), rules=RULES)
        self._worlds = worlds

    async def open(self, settings: RetailSettings) -> None:
        """Open the database, and fill it if it is empty. Raises WrongBase, WorldsUnavailable."""
        worlds = Worlds(settings.retail_url, partial(_data, settings.parley_retail_data_dir))
        await worlds.open()
        self._worlds, self.fingerprint = worlds, worlds.fingerprint

    def subject(self, tool: str, arguments: Mapping[str, JsonValue], result: JsonValue) -> str:
        """The customer's id: what a search for it finds, or that of the order or customer that a call is about."""
        if tool in ("find_user_id_by_email", "find_user_id_by_name_zip"):
            return str(result)
        owner = result.get("user_id") if isinstance(result, dict) else None
        return str(owner or arguments.get("user_id") or "")

    async def close(self) -> None:
        if self._worlds:
            await self._worlds.close()

    def _bound(self, name: str) -> dict[str, Any]:
        return {"run": partial(self._run, name), "preview": partial(self._preview, name)}

    async def _run(self, name: str, arguments: Arguments, context: Context) -> JsonValue:
        text = await self._opened.world(context.world).call(name, arguments.model_dump(), key=context.key)
        if text.startswith(REFUSAL):
            raise Refused(text.removeprefix(REFUSAL))
        return result_of(text)

    async def _preview(self, name: str, arguments: Arguments, context: Context) -> Preview:
        return await self._opened.world(context.world).preview(name, arguments.model_dump())

    @property
    def _opened(self) -> Worlds:
        if self._worlds is None:
            raise RuntimeError("open() the store first")
        return self._worlds


def _data(folder: Any) -> Any:
    if folder:
        return load(folder)
    from packs.retail.generate import generate  # noqa: PLC0415  takes a moment to make

    return generate()


def result_of(text: str) -> JsonValue:
    """The store's text as a result: a JSON document as its value, other text as it is."""
    return json.loads(text) if text.startswith(("{", "[")) else text
