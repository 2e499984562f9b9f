"""Templates over REST and from a program, with the real services; what ships with Parley is carried out."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, STDOUT
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from parley.client import Parley
from parley.client.errors import Refused
from parley.protocol.execution_plans import ExecutionPlan
from parley.protocol.templates import Schedule, Template, TemplateStep
from shared.bus import Bus
from shared.settings import Settings
from shared.templates.shipped import shipped
from tests.integration.test_execution_plan import CANCEL, LOOK, ORDER, USER, WHO, order_status, plan
from tests.integration.test_execution_plans_rest import There, serves
from tests.integration.test_http_plan import stock
from tests.support.http_server import http_server, response

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
    """The plan when it has come to its end; what it asks for on the way is approved, too."""
    assert drafted.status == "pending_approval", drafted.problem
    now = await parley.execution_plans.execute(await parley.execution_plans.approve(drafted))
    while now.status == "executing":
        session = parley.session(now.session_id)
        await session.wait()
        await session.approve()
        now = await parley.execution_plans.get(now.task_id, wait=20)
    return now


async def test_a_plan_that_was_done_is_saved_and_done_again_with_another_value(settings: Settings, bus: Bus) -> None:
    async with serves(settings, plan(WHO, LOOK, CANCEL)) as there, Parley(there.url) as parley:
        drafted = await parley.execution_plans.generate("Cancel my order")
        offered = await parley.templates.candidates(drafted)
        assert (offered.name, offered.values[1].value) == (drafted.description, ORDER["order_id"])
        chosen = {"name": "order", "value": ORDER["order_id"]}
        early = await parley.templates.from_plan(drafted, name="Early", parameters=[chosen])
        done = await approved(parley, drafted)
        assert done.status == "completed"
        mail = {"name": "email", "value": USER["email"], "required": True, "description": "Whose order it is"}
        made = await parley.templates.from_plan(done.task_id, name="Cancel", parameters=[chosen, mail])
        assert early.template.steps[1:] == made.template.steps[1:]
        assert (made.version, made.status, made.problems) == (1, "ready", ())
        order, email = made.template.parameters
        assert (order.default, order.required, email.default, email.required) == (ORDER["order_id"], False, None, True)
        assert order.json_schema["type"] == "string"
        assert (made.form["required"], list(made.form["properties"])) == (["email"], ["order", "email"])  # type: ignore[arg-type]
        assert (email.description, order.description) == (
            "Whose order it is",
            "The order's id with its leading #, like #W0000000.",
        )
        page = await parley.templates.list()
        assert [(one.id, one.parameters) for one in page.templates] == [
            (made.id, ("order", "email")),
            (early.id, ("order",)),
        ]
        with pytest.raises(Refused, match="email is missing"):
            await parley.templates.use(made.id)
        used = await parley.templates.use(made.id, {"email": USER["email"], "order": "#W0000001"})
        assert (used.status, used.session_id != done.session_id) == ("pending_approval", True)
        assert used.steps[1].parameters == {"order_id": "#W0000001"}
        assert [step.effect for step in used.steps] == ["read", "read", "write"]
        await parley.templates.delete(early.id)
        with pytest.raises(Refused, match="no such template"):
            await parley.templates.get(early.id)


async def test_a_session_is_learned_and_what_was_found_is_found_again(settings: Settings, bus: Bus) -> None:
    async with serves(settings, plan(WHO, LOOK)) as there, Parley(there.url) as parley:
        drafted = await parley.execution_plans.generate("Look my order up")
        with pytest.raises(Refused, match="nothing to learn"):
            await parley.templates.learnable(drafted.session_id)
        done = await approved(parley, drafted)
        found = await parley.templates.learnable(done.session_id)
        assert found.name == "Look my order up"
        assert [(one.name, one.value) for one in found.values] == [
            ("email", USER["email"]),
            ("order_id", ORDER["order_id"]),
        ]
        made = await parley.templates.learn(done.session_id, parameters=[{"name": "email", "value": USER["email"]}])
        assert made.template.goal == "Look my order up"
        assert [step.tool for step in made.template.steps] == [WHO.tool, LOOK.tool]
        assert made.template.steps[0].arguments == {"email": "{{params.email}}"}
        used = await parley.templates.use(made.id)
        assert (await approved(parley, used)).status == "completed"
        with pytest.raises(Refused, match="no argument of the plan"):
            await parley.templates.learn(done.session_id, parameters=[{"name": "x", "value": "nowhere"}])
        with pytest.raises(Refused):
            await parley.templates.learn("nobody")


async def test_a_document_goes_in_and_out_and_a_change_names_its_version(settings: Settings, bus: Bus) -> None:
    async with serves(settings) as there, Parley(there.url) as parley:
        made = await parley.templates.read(DOCUMENT)
        text = await parley.templates.document(made.id)
        assert 'tool: "get_order_details"' in text
        again = await parley.templates.read(await parley.templates.document(made.id, format="json"), format="json")
        assert (again.template, again.id != made.id) == (made.template, True)
        renamed = made.template.model_copy(update={"name": "Other"})
        changed = await parley.templates.change(made, renamed)
        assert (changed.version, changed.template.name) == (2, "Other")
        with pytest.raises(Refused, match="Version 1 is not the newest"):
            await parley.templates.change(made, renamed)
        for wrong, why in (
            ("name: a\nname: b", "“name” stands twice"),
            (DOCUMENT.replace("params.order}} up", "params.who}} up"), "There is no parameter who"),
        ):
            with pytest.raises(Refused, match=why):
                await parley.templates.read(wrong)
        with pytest.raises(Refused, match="comes with Parley"):
            await parley.templates.delete("parley-cancel-order")
        async with httpx2.AsyncClient(base_url=f"{there.url}/api") as http:
            both = {"document": DOCUMENT, "template": made.template.model_dump(mode="json")}
            bodies: list[dict[str, Any]] = [{}, {"template": {}}, both]
            for body in bodies:
                assert (await http.post("/templates", json=body)).status_code == 422
            once = [
                (await http.post("/templates", json={"document": DOCUMENT, "id": "once"})).json()["id"]
                for _ in range(2)
            ]
            assert once[0] == once[1]
            answer = await http.get(f"/templates/{made.id}", params={"format": "yaml"})
            assert answer.headers["content-type"] == "application/yaml; charset=utf-8"
            assert answer.headers["content-disposition"] == 'attachment; filename="template.yaml"'


async def test_what_names_a_tool_that_is_not_there_is_a_draft(settings: Settings, bus: Bus) -> None:
    step = TemplateStep(id="s1", text="Fly", tool="fly", arguments={})
    async with serves(settings) as there, Parley(there.url) as parley:
        made = await parley.templates.create(Template(name="Fly", goal="Fly", steps=(step,)))
        assert (made.status, made.problems) == ("draft", ("Step 1 (s1): there is no tool “fly” here.",))
        assert [one.status for one in (await parley.templates.list()).templates] == ["draft"]
        with pytest.raises(Refused, match="The template is a draft: Step 1"):
            await parley.templates.use(made.id)
        assert (await parley.execution_plans.list()).total == 0


async def test_as_a_hint_it_is_told_to_the_planner(settings: Settings, bus: Bus) -> None:
    async with serves(settings, plan(WHO)) as there, Parley(there.url) as parley:
        drafted = await parley.templates.use("parley-cancel-order", request="Find the customer only")
        drafted = await parley.execution_plans.get(drafted.task_id, wait=20)
        assert [step.tool for step in drafted.steps] == [WHO.tool]
        [begun, *_] = await parley.session(drafted.session_id).journal()
        [known] = begun.model_dump()["knowledge"]
        assert known["name"] == "Template: Cancel an order"
        assert 'tool: "cancel_pending_order"' in known["text"]


async def test_the_same_from_a_terminal(settings: Settings, bus: Bus, tmp_path: Path) -> None:
    async with serves(settings) as there, Parley(there.url) as parley:

        async def ran(*words: str) -> str:
            told = ("-m", "cli.main", "templates", *words, "--url", there.url)
            process = await asyncio.create_subprocess_exec(sys.executable, *told, stdout=PIPE, stderr=STDOUT)
            output, _ = await process.communicate()
            assert process.returncode == 0, output.decode()
            return output.decode()

        file = tmp_path / "mine.yaml"
        file.write_text(DOCUMENT, encoding="utf-8")
        made = await ran("import", str(file))
        template_id, _, name = made.splitlines()[0].partition("  ")
        assert name == "Look an order up"
        assert f"Use it: parley templates use {template_id} -s order=…" in made
        listed = [line.split("  ") for line in (await ran("list")).splitlines()]
        columns = [[cell.strip() for cell in line if cell.strip()] for line in listed]
        assert ["parley-cancel-order", "Cancel an order", "email, order_id, reason"] in columns
        (tmp_path / "again.yaml").write_text(await ran("show", template_id), encoding="utf-8")
        await ran("import", str(tmp_path / "again.yaml"))
        assert "Look #W1 up" in await ran("use", template_id, "-s", "order=#W1")
        task = (await parley.execution_plans.list()).plans[0].task_id
        assert "Look {{params.x}} up" in await ran("save", task, "-p", "x=#W1", "--json")
        assert "Next run: " in await ran("schedule", template_id, "--daily", "07:30", "-s", "order=#W1")
        assert "next run" in await ran("list")
        assert await ran("schedule", template_id, "--off") == "It is run by hand only.\n"
        await ran("delete", template_id)
        assert template_id not in await ran("list")


async def test_it_is_run_by_schedule_and_waits_for_its_owner(settings: Settings, bus: Bus) -> None:
    begun: asyncio.Queue[str] = asyncio.Queue()

    async def hear(subject: str, _: bytes) -> None:
        begun.put_nowait(subject.split(".")[1])

    await bus.subscribe("feed.*.*.plan.edited", hear)
    async with serves(settings) as there, Parley(there.url) as parley:
        made = await parley.templates.create(shipped()["parley-cancel-order"])
        values = {"email": USER["email"], "order_id": ORDER["order_id"]}
        once = Schedule(once=datetime.now(UTC) + timedelta(seconds=1), values=values)
        with pytest.raises(Refused, match="email is missing"):
            await parley.templates.schedule(made, once.model_copy(update={"values": {}}))
        with pytest.raises(Refused, match="no time zone"):
            await parley.templates.schedule(made, Schedule(daily=time(7), zone="Mars/Olympus", values=values))
        waiting = await parley.templates.schedule(made, once)
        assert (waiting.version, waiting.next_run) == (2, once.once)
        session_id = await asyncio.wait_for(begun.get(), 60)
        drafted = await parley.execution_plans.get(session_id)
        assert (drafted.status, drafted.user_approved) == ("pending_approval", False)
        done = await approved(parley, drafted)
        assert (done.status, await order_status(settings)) == ("completed", "cancelled")
        over = await parley.templates.get(made.id)
        assert over.last_run
        assert (over.next_run, over.last_run.session_id) == (None, session_id)


# --- what comes with Parley


async def test_shipped_an_order_is_cancelled(settings: Settings, bus: Bus) -> None:
    async with serves(settings) as there, Parley(there.url) as parley:
        values = {"email": USER["email"], "order_id": ORDER["order_id"]}
        used = await parley.templates.use("parley-cancel-order", values)
        assert used.description == f"Cancel order {ORDER['order_id']}"
        done = await approved(parley, used)
        assert (done.status, await order_status(settings)) == ("completed", "cancelled")
        again = await parley.templates.use("parley-cancel-order", values | {"reason": "ordered by mistake"})
        done = await approved(parley, again)
        assert done.status == "failed"


async def file_of(parley: Parley, there: There, name: str, used: ExecutionPlan) -> Any:
    """What the plan wrote."""
    done = await approved(parley, used)
    assert done.status == "completed", done.text
    async with httpx2.AsyncClient(base_url=there.url) as http:
        answer = await http.get(f"/api/sessions/{done.session_id}/files/{name}")
        assert answer.status_code == 200, answer.text
        return json.loads(answer.text)


async def test_shipped_a_customer_s_account_is_put_into_a_file(settings: Settings, bus: Bus) -> None:
    async with serves(settings) as there, Parley(there.url) as parley:
        used = await parley.templates.use("parley-customer-file", {"email": USER["email"]})
        account = await file_of(parley, there, "customer.json", used)
        assert account["email"] == USER["email"]


async def test_shipped_orders_are_counted_into_a_file(settings: Settings, bus: Bus) -> None:
    async with serves(settings) as there, Parley(there.url) as parley:
        used = await parley.templates.use("parley-orders-report", {"file": "orders.json"})
        counted = await file_of(parley, there, "orders.json", used)
        assert "pending" in dict(counted)


async def test_shipped_what_a_server_answers_is_kept_and_a_table_is_sent_there(settings: Settings, bus: Bus) -> None:
    taken = response(b"{}", "Content-Type: application/json", status="201 Created")
    async with http_server(stock=stock, tables=taken) as server:
        entry = {"origin": server.url(""), "methods": ["GET", "POST"]}
        allowing = settings.model_copy(update={"parley_http_allow": json.dumps([entry])})
        async with serves(allowing) as there, Parley(there.url) as parley:
            used = await parley.templates.use("parley-save-page", {"url": server.url("/stock")})
            kept = await file_of(parley, there, "answer.json", used)
            assert kept["json"]["items"] == [{"id": 7, "name": "tea"}]

            used = await parley.templates.use("parley-send-orders", {"url": server.url("/tables")})
            assert (await approved(parley, used)).status == "completed"
            sent = json.loads(server.received[-1].body)
            assert (sent["title"], "pending" in dict(sent["rows"])) == ("Orders by status", True)


def test_there_are_five_of_them_each_with_a_name_and_words() -> None:
    assert len(shipped()) == 5
    assert all(one.description and one.parameters for one in shipped().values())
