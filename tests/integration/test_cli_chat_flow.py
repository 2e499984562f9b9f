"""`parley chat` through a flow: the path, the tables, an edited query, rows as a file, a saved answer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cli.chat.first_request import FirstRequest
from parley.events.values import SessionSettings
from parley.protocol.flows import FLOWS_LIST
from tests.integration.test_cli_chat import CTRL_D, ENTER, script, sitting
from tests.support.flow_services import Services, flows_for
from tests.support.gateway import World, serving

REQUEST = "How many orders are pending?"


@asynccontextmanager
async def _flows() -> AsyncIterator[tuple[str, World]]:
    world = World()
    world.bus.answers[FLOWS_LIST] = flows_for
    async with serving(world.app) as address, Services(world.bus, world.log):
        yield f"ws://{address}/ws", world


async def test_a_query_is_edited_and_its_answer_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\nsed \'s/pending/delivered/\' "$1" > {tmp_path}/new && cp {tmp_path}/new "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    async with _flows() as (url, _), sitting(url, columns=60) as person:
        await person.shows("What should we build?")
        person.types("/workflow flow" + ENTER)
        await person.shows("uses the workflow flow")
        person.types(REQUEST + ENTER)
        await person.shows("Path text_to_sql: classify_prompt", "✓ classify_prompt", "tables: orders")
        await person.shows("Are these the tables?", "1 ★ orders", "it has the status", "status TEXT", "2   users")
        person.types(ENTER)  # as proposed
        await person.shows("✓ generate_sql", "text_to_sql.execute_sql · read", "'pending'", "Edit it first")
        person.types("edit" + ENTER)
        await person.shows("You changed the rest of the path", "Set by hand: sql", "'delivered'", "Edit it first")
        person.types("yes" + ENTER)
        await person.shows("✓ execute_sql", "163", "1 row", "Answer", "163 orders are pending.")
        person.types(f"/csv {tmp_path}/rows.csv" + ENTER)
        await person.shows("Written to")
        person.types("/path" + ENTER)
        await person.shows("planned text_to_sql", "walked", "values set by you", "together")
        person.types("/accept" + ENTER)
        await person.shows("You said that this answer is correct")
        person.types("/save" + ENTER)
        await person.shows("You saved this answer to the library")
        person.types(CTRL_D)
    assert (tmp_path / "rows.csv").read_text() == "\ufefforders\n163\n"


async def test_a_script_with_command_line_options() -> None:
    async with _flows() as (url, world):
        lines = "/path classify_prompt get_relevant_tables generate_sql format_final_response\n/approve\n/path\n/save\n"
        code, out, err = await script(url, "--flow", "text_to_sql", "--confirm", "path", REQUEST, stdin=lines)
        assert code == 0, out + err
        assert "── Path 1 ──" in out
        assert "── Path 2 ──" in out
        assert "✓ format_final_response" in out
        assert "163 orders are pending." in out
        session = await world.story(out_session(err)).load()
        assert (session.workflow, session.settings.confirm) == ("flow", "path")
        assert session.settings.planning.flow == "text_to_sql"
        assert session.answer.saved  # the script's last line was carried out, too


def out_session(err: str) -> str:
    """The session id that the chat prints at its end."""
    return err.split("--session ")[1].split(maxsplit=1)[0]


def test_command_line_options_keep_other_settings() -> None:
    assert FirstRequest().message_fields(SessionSettings()) == {}
    assert FirstRequest("agentflow").message_fields(SessionSettings()) == {"workflow": "agentflow"}
    chosen = FirstRequest(flow="text_to_sql").message_fields(SessionSettings(max_turns=9))
    assert chosen["workflow"] == "flow"
    assert isinstance(settings := chosen["settings"], SessionSettings)
    assert (settings.max_turns, settings.planning.flow) == (9, "text_to_sql")


async def test_with_yes_the_proposed_tables_are_accepted_and_the_query_runs() -> None:
    async with _flows() as (url, _):
        code, out, err = await script(url, "--yes", "--workflow", "flow", *REQUEST.split())
        assert code == 0, err
        assert "163 orders are pending." in out
