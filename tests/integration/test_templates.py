"""Templates over REST and the SDK, with the real services; the shipped ones are executed."""

import asyncio
import json
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.main import app
from parley.client import Parley
from parley.client.errors import RequestRefused
from parley.protocol.execution_plans import ExecutionPlan
from parley.protocol.templates import Schedule, Template, TemplateStep, TemplateView
from shared.bus import Bus
from shared.settings import Settings
from shared.templates.shipped import shipped_templates
from tests.integration.test_execution_plan import CANCEL, LOOK, ORDER, USER, WHO, order_status, plan
from tests.integration.test_execution_plans_rest import PlanRestClient, serving_plans
from tests.integration.test_http_plan import stock
from tests.support.http_client import http_client
from tests.support.http_server import http_server, response
from tests.support.timeouts import WAIT_TIMEOUT

DOCUMENT = """
name: Look an order up
goal: Look {{params.order}} up
parameters:
- name: order
  json_schema: {type: string}
steps:
- {id: s1, text: Look, tool: get_order_details, arguments: {order_id: "{{params.order}}"}}
"""


async def approved(parley: Parley, drafted: ExecutionPlan) -> ExecutionPlan:
    """The plan after it has ended. Approves the plan and each of its actions."""
    assert drafted.status == "pending_approval", drafted.problem
    current = await parley.execution_plans.execute(await parley.execution_plans.approve(drafted))
    while current.status == "executing":
        session = parley.session(current.session_id)
        await session.wait()
        await session.approve()
        current = await parley.execution_plans.wait(await parley.execution_plans.get(current.task_id))
    return current


async def test_an_executed_plan_is_saved_and_repeated_with_another_value(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK, CANCEL)) as there, Parley(there.url) as parley:
        drafted = await parley.execution_plans.generate("Cancel my order")
        offered = await parley.templates.candidates(drafted)
        assert (offered.name, offered.values[1].value) == (drafted.description, ORDER["order_id"])
        chosen = {"name": "order", "value": ORDER["order_id"]}
        early = await parley.templates.from_plan(drafted, name="Early", parameters=[chosen])
        done = await approved(parley, drafted)
        assert done.status == "completed"
        email_value = {
            "name": "email",
            "value": USER["email"],
            "required": True,
            "description": "Whose order it is",
        }
        template = await parley.templates.from_plan(done.task_id, name="Cancel", parameters=[chosen, email_value])
        assert early.template.steps[1:] == template.template.steps[1:]
        assert (template.version, template.status, template.problems) == (1, "ready", ())
        order, email = template.template.parameters
        assert (order.default, order.required, email.default, email.required) == (ORDER["order_id"], False, None, True)
        assert order.json_schema["type"] == "string"
        assert (template.form["required"], list(template.form["properties"])) == (["email"], ["order", "email"])  # type: ignore[arg-type]
        assert (email.description, order.description) == (
            "Whose order it is",
            "The order's id, like #W0000000.",
        )
        page = await parley.templates.list()
        assert [(line.id, line.parameters) for line in page.templates] == [
            (template.id, ("order", "email")),
            (early.id, ("order",)),
        ]
        with pytest.raises(RequestRefused, match="email is missing"):
            await parley.templates.use(template.id)
        used = await parley.templates.use(template.id, {"email": USER["email"], "order": "#W0000001"})
        assert (used.status, used.session_id != done.session_id) == ("pending_approval", True)
        assert used.steps[1].parameters == {"order_id": "#W0000001"}
        assert [step.effect for step in used.steps] == ["read", "read", "write"]
        await parley.templates.delete(early.id)
        with pytest.raises(RequestRefused, match="no such template"):
            await parley.templates.get(early.id)


async def test_a_template_learned_from_a_session_repeats_its_lookups(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO, LOOK)) as there, Parley(there.url) as parley:
        drafted = await parley.execution_plans.generate("Look my order up")
        with pytest.raises(RequestRefused, match="nothing to learn"):
            await parley.templates.learnable(drafted.session_id)
        done = await approved(parley, drafted)
        candidates = await parley.templates.learnable(done.session_id)
        assert candidates.name == "Look my order up"
        assert [(candidate.name, candidate.value) for candidate in candidates.values] == [
            ("email", USER["email"]),
            ("order_id", ORDER["order_id"]),
        ]
        template = await parley.templates.learn(done.session_id, parameters=[{"name": "email", "value": USER["email"]}])
        assert template.template.goal == "Look my order up"
        assert [step.tool for step in template.template.steps] == [WHO.tool, LOOK.tool]
        assert template.template.steps[0].arguments == {"email": "{{params.email}}"}
        used = await parley.templates.use(template.id)
        assert (await approved(parley, used)).status == "completed"
        with pytest.raises(RequestRefused, match="no argument of the plan"):
            await parley.templates.learn(done.session_id, parameters=[{"name": "x", "value": "nowhere"}])
        with pytest.raises(RequestRefused):
            await parley.templates.learn("nobody")


async def test_an_exported_template_is_imported_and_an_outdated_change_refused(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings) as there, Parley(there.url) as parley:
        template = await parley.templates.read(DOCUMENT)
        text = await parley.templates.document(template.id)
        assert 'tool: "get_order_details"' in text
        again = await parley.templates.read(await parley.templates.document(template.id, format="json"), format="json")
        assert (again.template, again.id != template.id) == (template.template, True)
        renamed = template.template.model_copy(update={"name": "Other"})
        changed = await parley.templates.change(template, renamed)
        assert (changed.version, changed.template.name) == (2, "Other")
        assert await parley.templates.change(template, renamed) == changed  # the same request again
        with pytest.raises(RequestRefused, match="Version 1 is not the newest"):
            await parley.templates.change(template, renamed.model_copy(update={"name": "Third"}))
        for document, why in (
            ("name: a\nname: b", "“name” occurs twice"),
            (DOCUMENT.replace("params.order}} up", "params.who}} up"), "There is no parameter who"),
        ):
            with pytest.raises(RequestRefused, match=why):
                await parley.templates.read(document)
        with pytest.raises(RequestRefused, match="comes with Parley"):
            await parley.templates.delete("parley-cancel-order")
        async with http_client(base_url=f"{there.url}/api") as http:
            both = {"document": DOCUMENT, "template": template.template.model_dump(mode="json")}
            bodies: list[dict[str, Any]] = [{}, {"template": {}}, both]
            for body in bodies:
                assert (await http.post("/templates", json=body)).status_code == 422
            once = [
                (await http.post("/templates", json={"document": DOCUMENT, "id": "once"})).json()["id"]
                for _ in range(2)
            ]
            assert once[0] == once[1]
            answer = await http.get(f"/templates/{template.id}", params={"format": "yaml"})
            assert answer.headers["content-type"] == "application/yaml; charset=utf-8"
            assert answer.headers["content-disposition"] == 'attachment; filename="template.yaml"'


async def test_a_template_with_an_unknown_tool_is_a_draft(settings: Settings, bus: Bus) -> None:
    step = TemplateStep(id="s1", text="Fly", tool="fly", arguments={})
    async with serving_plans(settings) as there, Parley(there.url) as parley:
        template = await parley.templates.create(Template(name="Fly", goal="Fly", steps=(step,)))
        assert (template.status, template.problems) == ("draft", ("Step 1 (s1): there is no tool “fly” here.",))
        assert [line.status for line in (await parley.templates.list()).templates] == ["draft"]
        with pytest.raises(RequestRefused, match="The template is a draft: Step 1"):
            await parley.templates.use(template.id)
        assert (await parley.execution_plans.list()).total == 0


async def test_a_template_can_be_knowledge_for_the_planner(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings, plan(WHO)) as there, Parley(there.url) as parley:
        drafted = await parley.templates.use("parley-cancel-order", request="Find the customer only")
        drafted = await parley.execution_plans.wait(await parley.execution_plans.get(drafted.task_id))
        assert [step.tool for step in drafted.steps] == [WHO.tool]
        [first_event, *_] = await parley.session(drafted.session_id).journal()
        [known] = first_event.model_dump()["knowledge"]
        assert known["name"] == "Template: Cancel an order"
        assert 'tool: "cancel_pending_order"' in known["text"]


async def test_templates_work_from_the_terminal(settings: Settings, bus: Bus, tmp_path: Path) -> None:
    async with serving_plans(settings) as there, Parley(there.url) as parley:

        async def run(*words: str) -> str:
            command = ["templates", *words, "--url", there.url]
            result = await asyncio.to_thread(CliRunner().invoke, app, command, catch_exceptions=False)
            assert result.exit_code == 0, result.output
            return result.stdout

        file = tmp_path / "mine.yaml"
        file.write_text(DOCUMENT, encoding="utf-8")
        imported = await run("import", str(file))
        template_id, _, name = imported.splitlines()[0].partition("  ")
        assert name == "Look an order up"
        assert f"Use it: parley templates use {template_id} -s order=…" in imported
        listed = [line.split("  ") for line in (await run("list")).splitlines()]
        columns = [[cell.strip() for cell in line if cell.strip()] for line in listed]
        assert ["parley-cancel-order", "Cancel an order", "email, order_id, reason"] in columns
        (tmp_path / "again.yaml").write_text(await run("show", template_id), encoding="utf-8")
        await run("import", str(tmp_path / "again.yaml"))
        assert "Look #W1 up" in await run("use", template_id, "-s", "order=#W1")
        task = (await parley.execution_plans.list()).plans[0].task_id
        assert "Look {{params.x}} up" in await run("save", task, "-p", "x=#W1", "--json")
        assert "Next run: " in await run("schedule", template_id, "--daily", "07:30", "-s", "order=#W1")
        assert "next run" in await run("list")
        assert await run("schedule", template_id, "--off") == "It is run by hand only.\n"
        await run("delete", template_id)
        assert template_id not in await run("list")


async def scheduled_soon(
    parley: Parley, template: TemplateView, values: dict[str, str]
) -> tuple[datetime, TemplateView]:
    """Schedule a run in a second, or later if a busy machine lets that pass before the request arrives."""
    for seconds in (1, 10, 60):
        soon = datetime.now(UTC) + timedelta(seconds=seconds)
        with suppress(RequestRefused):
            return soon, await parley.templates.schedule(template, Schedule(once=soon, values=values))
    raise AssertionError("no instant was accepted")


@pytest.mark.races
async def test_a_scheduled_run_waits_for_its_owners_approval(settings: Settings, bus: Bus) -> None:
    started: asyncio.Queue[str] = asyncio.Queue()

    async def on_edited(subject: str, _: bytes) -> None:
        started.put_nowait(subject.split(".")[1])

    await bus.subscribe("feed.*.*.plan.edited", on_edited)
    async with serving_plans(settings) as there, Parley(there.url) as parley:
        template = await parley.templates.create(shipped_templates()["parley-cancel-order"])
        values = {"email": USER["email"], "order_id": ORDER["order_id"]}
        once = Schedule(once=datetime.now(UTC) + timedelta(minutes=1), values=values)
        with pytest.raises(RequestRefused, match="email is missing"):
            await parley.templates.schedule(template, once.model_copy(update={"values": {}}))
        with pytest.raises(RequestRefused, match="no time zone"):
            await parley.templates.schedule(template, Schedule(daily=time(7), zone="Mars/Olympus", values=values))
        soon, waiting = await scheduled_soon(parley, template, values)
        assert (waiting.version, waiting.next_run) == (2, soon)
        session_id = await asyncio.wait_for(started.get(), WAIT_TIMEOUT)
        drafted = await parley.execution_plans.get(session_id)
        assert (drafted.status, drafted.user_approved) == ("pending_approval", False)
        done = await approved(parley, drafted)
        assert (done.status, await order_status(settings)) == ("completed", "cancelled")
        afterwards = await parley.templates.get(template.id)
        assert afterwards.last_run
        assert (afterwards.next_run, afterwards.last_run.session_id) == (None, session_id)


# --- shipped templates


async def test_the_shipped_template_cancels_an_order(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings) as there, Parley(there.url) as parley:
        values = {"email": USER["email"], "order_id": ORDER["order_id"]}
        used = await parley.templates.use("parley-cancel-order", values)
        assert used.description == f"Cancel order {ORDER['order_id']}"
        done = await approved(parley, used)
        assert (done.status, await order_status(settings)) == ("completed", "cancelled")
        again = await parley.templates.use("parley-cancel-order", values | {"reason": "ordered by mistake"})
        done = await approved(parley, again)
        assert done.status == "failed"


async def file_of(parley: Parley, there: PlanRestClient, name: str, used: ExecutionPlan) -> Any:
    """The file that the plan wrote."""
    done = await approved(parley, used)
    assert done.status == "completed", done.text
    async with http_client(base_url=there.url) as http:
        answer = await http.get(f"/api/sessions/{done.session_id}/files/{name}")
        assert answer.status_code == 200, answer.text
        return json.loads(answer.text)


async def test_the_shipped_template_writes_order_counts_to_a_file(settings: Settings, bus: Bus) -> None:
    async with serving_plans(settings) as there, Parley(there.url) as parley:
        used = await parley.templates.use("parley-orders-report", {"file": "orders.json"})
        counted = await file_of(parley, there, "orders.json", used)
        assert "pending" in dict(counted)


async def test_the_shipped_templates_store_a_response_and_send_a_table(settings: Settings, bus: Bus) -> None:
    created = response(b"{}", "Content-Type: application/json", status="201 Created")
    async with http_server(stock=stock, tables=created) as server:
        entry = {"origin": server.url(""), "methods": ["GET", "POST"]}
        allowed = settings.model_copy(update={"parley_http_allow": json.dumps([entry])})
        async with serving_plans(allowed) as there, Parley(there.url) as parley:
            used = await parley.templates.use("parley-save-page", {"url": server.url("/stock")})
            stored = await file_of(parley, there, "answer.json", used)
            assert stored["json"]["items"] == [{"id": 7, "name": "tea"}]

            used = await parley.templates.use("parley-send-orders", {"url": server.url("/tables")})
            assert (await approved(parley, used)).status == "completed"
            sent = json.loads(server.received[-1].body)
            assert (sent["title"], "pending" in dict(sent["rows"])) == ("Orders by status", True)
