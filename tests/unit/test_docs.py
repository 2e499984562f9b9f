"""The documents match the code: generated ones are up to date, examples are valid, links resolve."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from parley.events import EVENT_CLASSES, parse_event
from parley.protocol.client import CLIENT_MESSAGES
from parley.protocol.schema import protocol_schema
from parley.protocol.server import SERVER_MESSAGES
from scripts.generate import ROOT, documents
from services.gateway.api_errors import STATUS
from services.gateway.rest.references import asyncapi
from services.planner.conversation import PlanDraft
from shared.domain.kernel import errors
from shared.llm import ScriptedModel
from shared.services import CONSUMERS, SERVICES
from shared.settings import Settings
from shared.store_api import VERBS
from tests.support.stack import working

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETTING_PREFIXES = "PARLEY|OPENAI|INTERNLM|NATS|AGENT|MODEL|POSTGRES|MAX|MCP|STUCK|WATCHDOG|WORKER|PATH|GRACEFUL|ACK"
LINK = re.compile(r"(?<!\\)\]\(([^)\s]+)\)")
RUNNABLE = "# runnable"


def blocks(path: Path, language: str) -> list[str]:
    return [body for name, body in FENCE.findall(path.read_text("utf-8")) if name == language]


def prose(path: Path) -> str:
    return FENCE.sub("", path.read_text("utf-8"))


def anchors(path: Path) -> set[str]:
    """Heading anchors as GitHub generates them."""
    headings = re.findall(r"^#+ (.*)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_generated_documents_are_up_to_date() -> None:
    stale = [name(path) for path, text in documents().items() if path.read_text("utf-8") != text]
    assert not stale, f"stale: {', '.join(stale)}; run `make docs`"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_links_resolve(path: Path) -> None:
    for target in LINK.findall(prose(path)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        linked = (path.parent / file).resolve() if file else path
        assert linked.exists(), f"{target}: there is no such file"
        assert linked.is_relative_to(ROOT), f"{target}: leads out of the project"
        assert not anchor or anchor in anchors(linked), f"{target}: there is no such heading"


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_python_and_json_blocks_parse(path: Path) -> None:
    for body in blocks(path, "python"):
        compile(body, name(path), "exec")
    for body in blocks(path, "json"):
        json.loads(body)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_named_files_and_variables_exist(path: Path) -> None:
    """Checks paths in backticks, and variables set before a command."""
    if path.name == "CHANGELOG.md":
        return
    words = re.findall(r"`([^`\n]+)`", prose(path))
    folders = ("services", "shared", "cli", "scripts", "tests", "docs", "web", "deploy")
    for word in words:
        if re.fullmatch(rf"({'|'.join(folders)})/[\w./-]+", word):
            assert (ROOT / word).exists(), f"{word}: there is no such file"
    known = {setting.upper() for setting in Settings.model_fields}
    other_variables = {"PARLEY_IMAGE", "PARLEY_ENGINE"}  # read by docker compose and by .ci/run
    other_variables |= {word for word in words if word.startswith("NATS_PASSWORD_")}  # of the NATS server
    for word in words:
        if re.fullmatch(rf"({SETTING_PREFIXES})_[A-Z_]+", word):
            assert word in known | other_variables, f"{word}: there is no such setting"


def test_every_event_has_a_valid_example() -> None:
    examples = [json.loads(body) for body in blocks(ROOT / "docs" / "events.md", "json")]
    types = {parse_event(json.dumps(example)).type for example in examples}
    assert types == {model.type_name() for model in EVENT_CLASSES}


def test_every_message_has_a_valid_example() -> None:
    text = (ROOT / "docs" / "protocol.md").read_text("utf-8")
    sections = re.findall(r"^### (client|server): (\w+)$(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    schema = protocol_schema()
    types: dict[str, set[str]] = {"client": set(), "server": set()}
    for side, kind, body in sections:
        example = json.loads(FENCE.findall(body)[0][1])
        assert example["type"] == kind
        (CLIENT_MESSAGES if side == "client" else SERVER_MESSAGES).validate_python(example)
        types[side].add(kind)
    for side, kinds in types.items():
        assert kinds == schema["properties"][side]["discriminator"]["mapping"].keys()


def test_every_error_code_is_described_with_its_status() -> None:
    text = "\n".join(path.read_text("utf-8") for path in (ROOT / "services" / "gateway").rglob("*.py"))
    raised = set(re.findall(r'ApiError\(\s*"(\w+)"', text)) | {
        kind.code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.CommandRefused)
    }
    table = prose(ROOT / "docs" / "protocol.md").partition("| Code | HTTP | Meaning |")[2]
    described = {code: int(status) for code, status in re.findall(r"^\| `(\w+)` \| (\d{3}) \|", table, re.MULTILINE)}
    assert raised | STATUS.keys() <= described.keys()
    assert described == {code: STATUS.get(code, 409) for code in described}


# --- AsyncAPI


def references(node: Any) -> Iterator[str]:
    match node:
        case {"$ref": str(target)}:
            yield target
        case dict():
            for value in node.values():
                yield from references(value)
        case list():
            for value in node:
                yield from references(value)


def resolve(document: dict[str, Any], target: str) -> Any:
    node: Any = document
    for part in target.removeprefix("#/").split("/"):
        node = node[part]
    return node


def test_asyncapi_references_resolve() -> None:
    document = asyncapi()
    assert document["asyncapi"] == "3.0.0"
    assert {"title", "version"} <= document["info"].keys()
    for target in references(document):
        resolve(document, target)  # raises KeyError for a broken reference
    for key in (*document["channels"], *document["operations"], *document["components"]["schemas"]):
        assert re.fullmatch(r"[\w.-]+", key)
    assert '"discriminator": {' not in json.dumps(document)
    for channel in document["channels"].values():
        placeholders = set(re.findall(r"{(\w+)}", channel["address"] or ""))
        assert placeholders == channel.get("parameters", {}).keys()
        assert channel["messages"]
    for operation in document["operations"].values():
        assert operation["action"] in ("send", "receive")
        for part in (operation, *([operation["reply"]] if "reply" in operation else [])):
            assert all(m["$ref"].startswith(part["channel"]["$ref"] + "/messages/") for m in part["messages"])


WITHOUT_SUBSCRIBER = {  # addresses that no service subscribes to
    "session.{session_id}.{due}.{type}",
    "feed.{session_id}.{due}.{type}",
    "delta.{session_id}.{draft_id}",
    "timer.{session_id}.{kind}",
    "timerfired.{session_id}.{kind}",
    None,  # the reply subject of a request
}


def test_asyncapi_lists_every_event_request_and_subject() -> None:
    document = asyncapi()
    settings = Settings(database_url="", parley_home=ROOT / ".parley")
    services = [import_module(spec.module).build(settings) for spec in SERVICES.values() if spec.consumers]
    declared = {subscriber.subject.template for service in services for subscriber in service.broker.subscribers}
    declared |= {answering.subject for service in services for answering in service.broker.answering}
    assert {verb.subject for verb in VERBS} | {durable.filter_subject for durable in CONSUMERS} <= declared
    addresses = {channel["address"] for channel in document["channels"].values()} - WITHOUT_SUBSCRIBER
    assert {re.sub(r"{\w+}", "*", address) for address in addresses} == declared
    messages = document["components"]["messages"]
    events = document["channels"]["session-session_id-due-type"]
    assert events["messages"].keys() == {model.__name__ for model in EVENT_CLASSES}
    assert set(events["parameters"]["type"]["enum"]) == {model.type_name() for model in EVENT_CLASSES}
    requests = {name for verb in VERBS for name in (verb.request.__name__, verb.answer.__name__)}
    assert requests | {"ListTools", "ToolPage", "PreviewCall", "Preview", "ListFlows", "FlowPage"} <= messages.keys()


# --- examples that run


def test_the_example_in_contributing_md_is_a_test_that_passes() -> None:
    (body,) = blocks(ROOT / "CONTRIBUTING.md", "python")
    names: dict[str, Any] = {}
    exec(compile(body, "CONTRIBUTING.md", "exec"), names)
    (test,) = [value for key, value in names.items() if key.startswith("test_")]
    test()


def test_the_handler_in_architecture_md_matches_the_code() -> None:
    (body,) = blocks(ROOT / "docs" / "architecture.md", "python")
    assert body in (ROOT / "services" / "generator" / "conversation.py").read_text("utf-8")


async def test_the_example_in_events_md_starts_a_session(settings: Settings) -> None:
    """Runs the document's code as a program, against a real server and the real planner."""
    (program,) = [body for body in blocks(ROOT / "docs" / "events.md", "python") if body.startswith(RUNNABLE)]
    plan = PlanDraft(goal="Print Roman numerals", steps=["Convert", "Print"])
    async with working(settings, ScriptedModel(plan), "planner"):
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", program],
            env=os.environ | {"NATS_URL": settings.nats_url},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("stored at 1 as session ")
    assert lines[1] == "1 message.received by user:local"
    assert lines[-1].endswith("plan.drafted by planner")
