"""MCP servers that answer oddly: what can be read is used, and the rest is named."""

import base64
import json
from typing import Any

import pytest

from parley.events.values import Step
from services.executor.sources.mcp import McpSource
from shared.plan_checks.steps import check_plan
from tests.support.mcp_odd import HANDSHAKE
from tests.support.mcp_odd_client import GOOD, NOTICE, SCHEMA, TRANSPORTS, blocks, call, connected, text

# --- lists of tools


def odd(**more: Any) -> dict[str, Any]:
    return {"name": "odd", "description": "odd", "inputSchema": {"type": "object"}, **more}


LEFT_OUT: dict[str, tuple[Any, str]] = {
    "true": (odd(inputSchema=True), 'its schema is not of type "object"'),
    "text": (odd(inputSchema="{}"), 'its schema is not of type "object"'),
    "other type": (odd(inputSchema={"type": "array"}), 'its schema is not of type "object"'),
    "properties": (odd(inputSchema={"type": "object", "properties": ["a"]}), "/properties must be an object"),
    "required": (odd(inputSchema={"type": "object", "required": [1]}), "/required must be a list of names"),
    "reference": (odd(inputSchema={"type": "object", "allOf": [{"$ref": "http://x"}]}), "/allOf/0/$ref does not lead"),
    "header": (odd(inputSchema={"type": "object", "properties": {"a": {"x-mcp-header": 5}}}), "x-mcp-header"),
    "number as name": (odd(name=7), "it has no name"),
    "empty name": (odd(name=""), "it has no name"),
    "no name": ({"inputSchema": {"type": "object"}}, "it has no name"),
    "same name": ({**GOOD, "description": "another"}, "listed more than once"),
    "text instead": ("odd", "it is not an object"),
    "null tool": (None, "it is not an object"),
    "list": ([], "it is not an object"),
}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_tool_that_cannot_be_read_takes_no_other_away_and_is_named(transport: str) -> None:
    tools = [GOOD, *(tool for tool, _ in LEFT_OUT.values()), {**GOOD, "name": "last"}]
    async with connected({"pages": [{"tools": tools}]}, transport) as servers:
        assert [spec.name for spec in servers.specs()] == ["s.good", "s.last"]
        assert servers.specs()[0].description == "works"
        lines = servers.troubles()
        assert len(lines) == len(LEFT_OUT)
        for line, (_, why) in zip(lines, LEFT_OUT.values(), strict=True):
            assert why in line


USABLE: dict[str, dict[str, Any]] = {
    "description null": {"description": None},
    "description number": {"description": 5},
    "title number": {"title": 5},
    "annotations null": {"annotations": None},
    "annotations text": {"annotations": "read only"},
    "hint text": {"annotations": {"readOnlyHint": "yes please", "destructiveHint": 0}},
    "icons": {"icons": "x"},
    "meta": {"_meta": [1]},
    "unknown": {"cost": {"per": "call"}, "execution": None},
    "draft 4": {"inputSchema": {"type": "object", "required": True}},
    "empty": {"inputSchema": {}},
    "null": {"inputSchema": None},
    "list of PHP": {"inputSchema": []},
    "list of types": {"inputSchema": {"type": ["object"]}},
    "definition": {"inputSchema": {"$ref": "#/definitions/A", "definitions": {"A": {"type": "object"}}}},
    "boolean property": {"inputSchema": {"type": "object", "properties": {"a": True}}},
    "schema number": {"inputSchema": {"$schema": 4, "type": "object"}},
    "spaces": {"name": "do it now"},
    "dots": {"name": "a.b.c"},
    "long": {"name": "n" * 300},
    "unicode": {"name": "查询"},
    "unicode too": {"name": "搜索"},
    "control": {"name": "a\u200b\x00b\n"},
}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_odd_descriptions_and_names_do_not_matter(transport: str) -> None:
    tools = [odd(**{"name": f"odd{number}", **more}) for number, more in enumerate(USABLE.values())]
    async with connected({"pages": [{"tools": [*tools, GOOD]}]}, transport) as servers:
        assert servers.troubles() == ()
        assert len({spec.name for spec in servers.specs()}) == len(USABLE) + 1
        assert {spec.effect for spec in servers.specs()} == {"write"}
        for spec in servers.specs():
            assert (await servers.call(spec.name, {})).ok, spec.name


@pytest.mark.parametrize(
    ("listed", "parameters"),
    [
        ({}, {"type": "object"}),
        ({"inputSchema": None}, {"type": "object"}),
        ({"inputSchema": {"properties": {"a": {"type": "string"}}}}, SCHEMA),
        ({"input_schema": SCHEMA}, SCHEMA),
        ({"inputSchema": {**SCHEMA, "required": None, "additionalProperties": None, "$defs": None}}, SCHEMA),
        ({"inputSchema": {**SCHEMA, "required": {}, "anyOf": [], "$defs": []}}, {**SCHEMA, "$defs": {}}),
        ({"inputSchema": {"type": "object", "properties": None}}, {"type": "object"}),
        ({"inputSchema": {"type": "object", "properties": []}}, {"type": "object", "properties": {}}),
        (
            {"inputSchema": {"properties": {"a": {"items": {"properties": [], "enum": None}}, "required": None}}},
            {"type": "object", "properties": {"a": {"items": {"properties": {}}}, "required": {}}},
        ),
        (
            {"inputSchema": {"properties": {"a": {"default": None, "required": True, "enum": [None, []]}}}},
            {"type": "object", "properties": {"a": {"default": None, "enum": [None, []]}}},
        ),
    ],
)
async def test_what_a_schema_leaves_blank_counts_as_absent(listed: dict[str, Any], parameters: dict[str, Any]) -> None:
    tool = {"name": "odd", **listed}
    async with connected({"pages": [{"tools": [tool]}]}) as servers:
        assert [spec.parameters for spec in servers.specs()] == [parameters]
        assert servers.troubles() == ()
        assert (await servers.call("s.odd", {})).ok


PAGES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "empty": ([{"tools": [GOOD], "nextCursor": ""}], ""),
    "null": ([{"tools": [GOOD], "nextCursor": None}], ""),
    "number": ([{"tools": [], "nextCursor": 1}, {"tools": [GOOD]}], ""),
    "again": ([{"tools": [GOOD], "nextCursor": "0"}], "begins again after 2"),
    "no list": ([{"tools": [GOOD], "nextCursor": "1"}, {"tools": None}], "without a list"),
    "no page": ([{"tools": [GOOD], "nextCursor": "x"}], "breaks off after 1"),
    "other fields": ([{"tools": [GOOD], "ttlMs": "long", "cacheScope": 5, "_meta": None, "resultType": 1}], ""),
}


@pytest.mark.parametrize("page", PAGES)
async def test_pages_end_wherever_they_cannot_be_followed(page: str) -> None:
    pages, trouble = PAGES[page]
    async with connected({"pages": pages}) as servers:
        assert [spec.name for spec in servers.specs()] == ["s.good"]
        lines = [line for line in servers.troubles() if "more than once" not in line]
        assert [trouble in line for line in lines] == [True] * bool(trouble)


@pytest.mark.parametrize(
    "handshake",
    [
        {"serverInfo": None},
        {"serverInfo": "me"},
        {"capabilities": None},
        {"capabilities": {"tools": None, "prompts": []}},
        {"capabilities": {"tools": True}, "instructions": 5},
    ],
)
async def test_an_odd_handshake_does_not_matter(handshake: dict[str, Any]) -> None:
    async with connected({"pages": [{"tools": [GOOD]}], "handshake": {**HANDSHAKE, **handshake}}) as servers:
        assert (servers.troubles(), len(servers.specs())) == ((), 1)


# --- schemas of results


async def test_references_into_results_are_checked_when_the_plan_is_made_and_bad_schemas_are_named() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/N"}}, "additionalProperties": False}
    tools = [
        odd(name="found", outputSchema={**SCHEMA, "additionalProperties": False}),
        odd(name="tree", outputSchema={**node, "$defs": {"N": node}}),
        odd(name="bad", outputSchema={"type": "object", "properties": 5}),
        odd(name="text", outputSchema="object"),
    ]
    async with connected({"pages": [{"tools": [*tools, GOOD]}]}) as servers:
        assert len(servers.troubles()) == 2
        assert all("schema of the results" in line for line in servers.troubles())
        known = {tool.spec.name: tool.spec for tool in McpSource(servers).tools()}

    def problems(tool: str, path: str) -> tuple[str, ...]:
        second = Step(id="s2", text="Use", tool="s.good", arguments={"a": f"{{{{steps.s1.output{path}}}}}"})
        return check_plan((Step(id="s1", text="Find", tool=tool, arguments={}), second), known).problems

    assert problems("s.found", ".a") == problems("s.bad", ".x") == ()
    assert "{{steps.s1.output.next.next}} is an object" in problems("s.tree", ".next.next")[0]
    assert "has no “b”, only a" in problems("s.found", ".b")[0]
    assert "has no “b”" in problems("s.tree", ".next.b")[0]


async def test_a_result_that_contradicts_its_schema_arrives_nevertheless() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    pages = [{"tools": [{**GOOD, "outputSchema": schema}]}]
    assert await call({"pages": pages, "result": {"structuredContent": {"n": "many"}}}) == {"n": "many"}
    assert await call({"pages": pages, "result": {"content": [{"type": "text", "text": "none"}]}}) == "none"


# --- results


def resource(**inner: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "doc://a", **inner}}


BLOB = base64.b64encode("Größe".encode()).decode()
HOURS = {"type": "resource", "uri": "doc://a", "mimeType": "text/markdown", "text": "9 to 17"}
DOCUMENT = resource(mimeType="text/markdown", text="9 to 17")
OWN_FIELDS: Any = [
    {"type": "json", "json": {"a": 1}},
    {"type": "json", "data": {"a": 1}},
    {"type": "json", "data": '{"a":1}'},
    {"type": "data", "data": "plain words", "label": "x"},
    {"type": "text", "content": "x"},
    {"type": "resource", "resource": "x"},
    {"type": 5},
]
RESULTS: dict[str, tuple[dict[str, Any], Any]] = {
    "document": (blocks(DOCUMENT), [HOURS]),
    "words and documents": (blocks(text("I found:"), DOCUMENT, text("x"), text("y")), ["I found:", HOURS, "x\ny"]),
    "text blob": (
        blocks(resource(mimeType="text/csv", blob=BLOB)),
        [{"type": "resource", "uri": "doc://a", "mimeType": "text/csv", "text": "Größe"}],
    ),
    "JSON blob": (
        blocks(resource(mimeType="application/vnd.api+json; charset=utf-8", blob="e30=")),
        [{"type": "resource", "uri": "doc://a", "mimeType": "application/vnd.api+json; charset=utf-8", "text": "{}"}],
    ),
    "other blob": (
        blocks(resource(mimeType="application/pdf", blob=BLOB)),
        [{"type": "resource", "uri": "doc://a", "mimeType": "application/pdf", "bytes": 7}],
    ),
    "nameless blob": (
        blocks(resource(blob=BLOB)),
        [{"type": "resource", "uri": "doc://a", "mimeType": None, "bytes": 7}],
    ),
    "not Base64": (
        blocks(resource(mimeType="text/plain", blob="A")),
        [{"type": "resource", "uri": "doc://a", "mimeType": "text/plain", "bytes": 0}],
    ),
    "link": (
        blocks({"type": "resource_link", "uri": "f://a", "name": "a.md", "description": "The hours"}),
        [
            {
                "type": "resource_link",
                "uri": "f://a",
                "mimeType": None,
                "name": "a.md",
                "description": "The hours",
                "bytes": None,
            }
        ],
    ),
    "picture and sound": (
        blocks({"type": "image", "mimeType": "image/png", "data": BLOB}, {"type": "audio", "data": BLOB}),
        [{"type": "image", "mimeType": "image/png", "bytes": 7}, {"type": "audio", "mimeType": None, "bytes": 7}],
    ),
    "nulls beside a blob": (
        blocks(resource(mimeType="text/plain", text=None, blob=BLOB)),
        [{"type": "resource", "uri": "doc://a", "mimeType": "text/plain", "text": "Größe"}],
    ),
    "blobs of any alphabet, padding and character set": (
        blocks(
            resource(mimeType="application/x-yaml", blob=BLOB.rstrip("=")),
            resource(mimeType="text/plain; charset=iso-8859-1", blob="R3L232U="),
            resource(mimeType="text/plain", blob=base64.urlsafe_b64encode("Größe ÿ?".encode("utf-16")).decode()),
        ),
        [
            {"type": "resource", "uri": "doc://a", "mimeType": "application/x-yaml", "text": "Größe"},
            {"type": "resource", "uri": "doc://a", "mimeType": "text/plain; charset=iso-8859-1", "text": "Größe"},
            {"type": "resource", "uri": "doc://a", "mimeType": "text/plain", "text": "Größe ÿ?"},
        ],
    ),
    "unknown kind": (blocks({"type": "chart", "text": "up"}), [{"type": "chart", "mimeType": None, "text": "up"}]),
    "fields of their own": (blocks(*OWN_FIELDS), OWN_FIELDS),
    "snake case": (
        blocks({"type": "image", "mime_type": "image/png", "data": BLOB}, structured_content={"a": 1}, is_error=False),
        {"a": 1, "content": [{"type": "image", "mimeType": "image/png", "bytes": 7}]},
    ),
    "odd texts": (blocks(text(None), text(5), "bare", {"text": "x"}, 7, {"type": "text"}), "\n5\nbare\nx\n7\n"),
    "one object": ({"content": text("x")}, "x"),
    "one text": ({"content": "x"}, "x"),
    "null": ({"content": None, "isError": None}, ""),
    "nothing": ({}, ""),
    "no list": (blocks(), ""),
    "oldest protocol": ({"toolResult": {"a": 1}}, {"toolResult": {"a": 1}}),
    "structured": (blocks(structuredContent={"a": 1}), {"a": 1}),
    "structured, repeated": (blocks(text('{"a": 1}'), structuredContent={"a": 1}), {"a": 1}),
    "structured, a text of JSON": (blocks(text('{"b":1}'), structuredContent={"a": '{"b":1}'}), {"a": '{"b":1}'}),
    "structured, a quoted text": (blocks(text('"x"'), structuredContent={"a": '"x"'}), {"a": '"x"'}),
    "structured, wrapped": (blocks(text("1"), text("b"), structuredContent={"result": [1, "b"]}), {"result": [1, "b"]}),
    "structured and more": (
        blocks(text("Closed on Sunday"), DOCUMENT, structuredContent={"a": 1}),
        {"a": 1, "content": ["Closed on Sunday", HOURS]},
    ),
    "structured with content": (
        blocks(text("x"), structuredContent={"content": 1}),
        {"content": 1, "other_content": ["x"]},
    ),
    "structured list": (blocks(text("x"), structuredContent=[1]), [[1], "x"]),
    "structured only": ({"structuredContent": {"a": None}}, {"a": None}),
    "not finite": ({"structuredContent": {"a": [float("inf"), float("nan")]}}, {"a": ["Infinity", "NaN"]}),
    "half a character": (blocks(text("half \ud83d end \ud83d\ude80")), "half � end 🚀"),
    "false as text": (blocks(text("x"), isError="false"), "x"),
}


@pytest.mark.parametrize("name", RESULTS)
async def test_everything_that_can_be_read_in_a_result_reaches_the_model(name: str) -> None:
    result, value = RESULTS[name]
    assert await call({"result": result}) == value


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (blocks(DOCUMENT, isError=True), "9 to 17"),
        (blocks(text("locked"), DOCUMENT, isError="true"), "locked\n9 to 17"),
        ({"structuredContent": {"code": 5}, "isError": True}, '{"code":5}'),
        ({"content": None, "isError": True}, "The tool failed without saying why."),
        ({"content": "quota", "isError": True}, "quota"),
        (blocks(text("locked"), isError="True"), "locked"),
        (blocks(text("locked"), is_error=True), "locked"),
        (blocks({"type": "error", "text": "locked"}), "locked"),
        (
            blocks(text("a"), {"type": "error", "error": "locked"}, isError=False),
            'a\n{"type":"error","error":"locked"}',
        ),
    ],
)
async def test_an_error_says_all_that_its_tool_says(result: dict[str, Any], words: str) -> None:
    async with connected({"pages": [{"tools": [GOOD]}], "result": result}) as servers:
        outcome = await servers.call("s.good", {})
        assert (outcome.ok, outcome.unknown, outcome.error) == (False, False, words)


@pytest.mark.parametrize(("levels", "transport"), [(150, "stdio"), (150, "http"), (300, "stdio")])
async def test_what_is_nested_too_deep_to_be_stored_is_cut(levels: int, transport: str) -> None:
    deep = json.loads("[" * levels + "]" * levels)
    value = await call({"result": {"structuredContent": {"a": 1, "deep": deep}}}, transport)
    assert value["a"] == 1
    assert json.dumps(value["deep"]).strip("[]") == '{"type": "cut"}'


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_ids_may_be_floats(transport: str) -> None:
    assert await call({"result": blocks(text("found")), "float_ids": True}, transport) == "found"


@pytest.mark.parametrize(
    ("error", "words", "unknown"),
    [
        ({"message": "locked"}, "gave no answer (locked)", True),
        ({"code": "E1", "message": "locked"}, "gave no answer (locked)", True),
        ("locked", "gave no answer (locked)", True),
        ({"code": -32602}, 'did not take the call: {"code": -32602}', False),
        ({"code": -32602.0, "message": "locked"}, "did not take the call: locked", False),
    ],
)
async def test_an_error_of_another_form_is_told_in_its_own_words(error: Any, words: str, unknown: bool) -> None:
    async with connected({"pages": [{"tools": [GOOD]}], "error": error}) as servers:
        outcome = await servers.call("s.good", {})
        assert (outcome.ok, outcome.unknown) == (False, unknown)
        assert words in outcome.error


# --- output around messages


OUTPUT: dict[str, dict[str, str]] = {
    "progress without a line end": {"before": "working 10% 20% 100%"},
    "progress of a terminal": {"before": "\x1b[2K 10%\r 20%\r"},
    "a log line without a line end": {"before": '{"level": "info", "id": 3}'},
    "words after it": {"line": "%s done.\n"},
    "two messages on a line": {"before": NOTICE % ("message", '{"level": "info", "data": "x"}')},
    "unfinished objects": {"before": "{ {a: 1 {{x}} " + '{"b": '},
    "many unfinished objects": {"before": '{"a ' * 90},
    "byte order mark": {"line": "\ufeff%s\n"},
    "CRLF": {"line": "%s\r\n"},
    "blank lines": {"before": "\n\r\n \n" * 12_000},
    "other lines": {"before": "starting\n{}\n[1, 2]\nnull\n5\n" * 1_500},
    "a log of messages": {"before": '{"log": "sent {\\"jsonrpc\\": 1}"}\n{"jsonrpc": true}\n'},
    "a long line": {"before": "x" * 2_000_000 + "\n" + "." * 1_000_000},
    "half a character": {"before": "\udc80 caf\udcc3 \n\udc80"},
    "unknown notifications": {"before": f"{NOTICE % ('unheard/of', '{}')}\n{NOTICE % ('progress', '[]')}\n" * 3},
    "progress of nothing": {"before": NOTICE % ("progress", '{"progressToken": "x", "progress": 1e999}') + "\n"},
    "an answer to nobody": {"before": '{"jsonrpc": "2.0", "id": 99, "result": {}}\n'},
    "an odd answer to nobody": {"before": '{"jsonrpc": "2.0", "id": 99, "result": null}\n'},
}


@pytest.mark.parametrize("name", OUTPUT)
async def test_an_answer_is_found_in_whatever_else_is_printed(name: str) -> None:
    assert await call({"result": blocks(text("found")), **OUTPUT[name]}) == "found"


async def test_the_answers_bytes_need_not_be_characters() -> None:
    noise = "caf\xc3 \xed\xa0\xbd \xff"
    assert await call({"result": blocks(text("found")), "before": noise, "bytes": True}) == "found"
    for transport in ("http", "events"):
        pages = [{"tools": [{**GOOD, "description": "found"}]}]
        assert await call({"result": blocks(text("found")), "pages": pages, "bytes": True}, transport) == "found"
