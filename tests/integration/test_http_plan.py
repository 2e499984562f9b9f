"""A plan over HTTP, with the real executor: a POST sends the result of a GET, after approval."""

import json
from asyncio import StreamWriter

import pytest

from services.planner.execution_plan_prompt import StepDraft, StepsDraft
from shared.bus import Bus
from shared.domain.kernel.session import undecided_actions
from shared.llm import ScriptedModel
from shared.settings import Settings
from tests.support.http_server import HttpServer, Received, http_server, response
from tests.support.stack import Person, working

TOKEN = "whisper-it-softly"


async def stock(request: Received, writer: StreamWriter) -> None:
    """Answer with the stock and, as debugging servers do, with the request's headers."""
    result = {"items": [{"id": 7, "name": "tea"}], "headers": request.headers}
    writer.write(response(json.dumps(result).encode(), "Content-Type: application/json"))


def plan(server: HttpServer) -> StepsDraft:
    look = StepDraft(id="s1", tool="fetch_url", arguments={"url": server.url("/stock")}, text="Look what there is")
    order = StepDraft(
        id="s2",
        tool="send_request",
        arguments={
            "url": server.url("/orders"),
            "method": "POST",
            "body": {"item": "{{steps.s1.output.json.items[0].id}}", "note": "{{steps.s1.output.json.items[0].name}}"},
        },
        text="Order the first",
    )
    return StepsDraft(goal="Order tea", steps=[look, order])


def with_allowed_server(settings: Settings, server: HttpServer) -> Settings:
    headers = {"Authorization": "Bearer ${TEA_TOKEN}"}
    entry = {"origin": server.url(""), "methods": ["GET", "POST"], "headers": headers}
    return settings.model_copy(update={"parley_http_allow": json.dumps([entry])})


@pytest.mark.parametrize(
    ("answer", "status", "uncertain"),
    [
        (response(b'{"order": 41}', "Content-Type: application/json", status="201 Created"), "completed", False),
        (response(b"no more of it", status="409 Conflict"), "failed", False),
        (response(status="502 Bad Gateway"), "", True),
    ],
    ids=["created", "refused", "uncertain"],
)
async def test_a_plan_sends_what_an_earlier_step_has_read(
    settings: Settings,
    bus: Bus,
    session_id: str,
    monkeypatch: pytest.MonkeyPatch,
    answer: bytes,
    status: str,
    uncertain: bool,
) -> None:
    monkeypatch.setenv("TEA_TOKEN", TOKEN)
    async with (
        http_server(stock=stock, orders=answer) as server,
        working(with_allowed_server(settings, server), ScriptedModel(plan(server))),
    ):
        ann = Person(bus, session_id)
        await ann.says("Order tea", "execution_plan")
        drafted = (await ann.approves()).plan
        assert drafted
        assert [step.effect for step in drafted.steps] == ["read", "irreversible"]
        waiting = await ann.awaits_decision()
        (action,) = undecided_actions(waiting.turn)
        assert action.spec.arguments["body"] == {"item": 7, "note": "tea"}
        assert [item.target for item in server.received] == ["/stock"]

        await ann.allows()
        done = await ann.phase("awaiting_input" if uncertain else "resting", "failed")
        sent = server.received[-1]
        assert (sent.method, json.loads(sent.body)) == ("POST", {"item": 7, "note": "tea"})
        assert sent.headers["authorization"] == f"Bearer {TOKEN}"
        assert sent.headers["idempotency-key"].startswith(f"{session_id}/")
        assert len(server.received) == 2
        kinds = [event.type for event in await ann.events()]
        assert ("action.uncertain" in kinds) is uncertain
        assert done.plan
        assert uncertain or done.plan.status == status
        assert not any(TOKEN in event.model_dump_json() for event in await ann.events())
