"""The JSON schema of the WebSocket protocol, and of the REST answers that the page uses.

`python -m parley.protocol.schema` prints what the page is built from: the schema, and the words that it shares with the
server and the terminal.
"""

import json
import sys
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import DataclassField, ModelField, TypedDictField

from parley.protocol.client import CLIENT_MESSAGES
from parley.protocol.execution_plans import PlanPreviews
from parley.protocol.flows import FlowList, PathCheck
from parley.protocol.pages import LibraryPage, MemoryPage, ProposalPage, SessionRows
from parley.protocol.screen import SCREEN_MESSAGES
from parley.protocol.server import SERVER_MESSAGES
from parley.protocol.templates import CandidatePage, TemplatePage, TemplateView
from parley.protocol.tools import Preview, ToolPage
from parley.protocol.words import CATALOGUE

Rest = (
    ToolPage
    | PathCheck
    | Preview
    | PlanPreviews
    | SessionRows
    | MemoryPage
    | FlowList
    | LibraryPage
    | ProposalPage
    | CandidatePage
    | TemplatePage
    | TemplateView
)
REST: TypeAdapter[Rest] = TypeAdapter(Rest)


class _AllFields(GenerateJsonSchema):
    """What is sent carries every field, also those that have a default, unless its value is one that is left out."""

    def field_is_required(self, field: ModelField | DataclassField | TypedDictField, total: bool) -> bool:
        if self.mode == "serialization":
            return field.get("serialization_exclude_if") is None
        return super().field_is_required(field, total)


def protocol_schema() -> dict[str, Any]:
    """`client`: what a client may send; `server` and `screen`: what the gateway sends in protocol 1 and 2; `rest`: what
    it answers to requests. Every message and value that they use is in `$defs`."""
    unions, shared = TypeAdapter.json_schemas(
        [
            ("client", "validation", CLIENT_MESSAGES),
            ("server", "serialization", SERVER_MESSAGES),
            ("screen", "serialization", SCREEN_MESSAGES),
            ("rest", "serialization", REST),
        ],
        by_alias=True,
        schema_generator=_AllFields,
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Protocol",
        "description": "What a client sends over /ws, what the gateway sends, and what REST answers.",
        "type": "object",
        "properties": {
            "client": unions["client", "validation"],
            "server": unions["server", "serialization"],
            "screen": unions["screen", "serialization"],
            "rest": unions["rest", "serialization"],
        },
        "required": ["client", "server", "screen", "rest"],
        "additionalProperties": False,
        "$defs": shared["$defs"],
    }


if __name__ == "__main__":
    page = {"schema": protocol_schema(), "words": {name: dict(section) for name, section in CATALOGUE.items()}}
    json.dump(page, sys.stdout, ensure_ascii=False)
