"""Traces of a complete Parley in its real processes, received by an OTLP/HTTP collector."""

import hashlib
from pathlib import Path
from typing import Any

from tests.e2e.parley_process import Client, running_parley
from tests.support.collector import Collector, ReceivedSpan, collecting
from tests.support.store import STORE

REQUEST = "Help me create a simple calculator with a quokka on its box"
ORDER: Any = next(iter(STORE["orders"].values()))
EMAIL = STORE["users"][ORDER["user_id"]]["email"]
QUESTION = f"My e-mail is {EMAIL}. What is the status of my order {ORDER['order_id']}?"
SECRET = "sk-quokka-0123456789"
SERVICES = {f"parley-{name}" for name in ("gateway", "plan_store", "planner", "generator", "verifier")}


def trace_of(session_id: str) -> str:
    return hashlib.sha256(session_id.encode()).hexdigest()[:32]


async def conversation(url: str) -> str:
    async with Client(url) as ann:
        await ann.send(type="user_message", content=REQUEST)
        plan = await ann.wait_for("text_plan_review")
        await ann.send(type="approval", approved=True, version=plan["version"])
        code = await ann.wait_for("code_review")
        await ann.send(type="approval", approved=True, version=code["version"])
        await ann.wait_for("completion")
        return ann.session_id


async def agentflow(url: str) -> str:
    async with Client(url) as ann:
        await ann.send(type="user_message", content=QUESTION, workflow="agentflow")
        await ann.wait_for_event("answer.given")
        return ann.session_id


async def test_every_session_is_one_trace_through_all_services(tmp_path: Path) -> None:
    async with collecting() as collector:
        async with running_parley(
            tmp_path,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_BSP_SCHEDULE_DELAY="100",
            PARLEY_SECRET=SECRET * 3,
        ) as running:
            sessions = [await conversation(running.socket_url), await agentflow(running.socket_url)]
        # Each process exports its remaining spans as it ends, so the collector has all spans now.
        assert {span.trace for span in collector.spans} == {trace_of(session_id) for session_id in sessions}
        talk, work = ([s for s in collector.spans if s.trace == trace_of(session_id)] for session_id in sessions)
        for spans in (talk, work):
            assert {span.service for span in spans} == SERVICES | ({"parley-executor"} if spans is work else set())
        assert {span.attributes.get("gen_ai.conversation.id", sessions[0]) for span in talk} == {sessions[0]}
        _check_parents_up_to_the_users_command(collector, talk)
        _check_model_calls_follow_the_conventions(talk)
        _check_tool_calls_follow_the_conventions(collector, work)
        _check_no_content_is_exported(collector)


def _check_parents_up_to_the_users_command(collector: Collector, talk: list[ReceivedSpan]) -> None:
    roots = [span.name for span in talk if not span.parent]
    assert sorted(roots) == ["command approval", "command approval", "command user_message"]
    drafted = next(span for span in talk if span.name == "publish plan.drafted")
    assert collector.above(drafted) == ["process planner", "publish message.received", "command user_message"]
    (model_call,) = [span for span in talk if span.name.startswith("chat ") and span.service == "parley-planner"]
    assert collector.above(model_call)[0] == "process planner"
    (code_drafted,) = [span for span in talk if span.name == "publish code.drafted"]
    assert collector.above(code_drafted) == ["process generator", "publish plan.approved", "command approval"]
    loads = [span for span in talk if span.name == "plan_store.session.load"]
    served = [span for span in loads if span.service == "parley-plan_store"]
    assert {collector.above(span)[0] for span in served} == {"plan_store.session.load"}
    assert any("process generator" in collector.above(span) for span in served)
    assert {(s.attributes["rpc.system.name"], s.attributes["rpc.method"]) for s in loads} == {
        ("nats", "plan_store.session.load")
    }
    assert drafted.attributes["messaging.operation.type"] == "send"
    assert drafted.attributes["messaging.destination.name"].endswith(".plan.drafted")


def _check_model_calls_follow_the_conventions(talk: list[ReceivedSpan]) -> None:
    calls = [span for span in talk if span.name.startswith("chat ")]
    assert {span.attributes["gen_ai.agent.name"] for span in calls} == {"planner", "generator", "verifier"}
    for span in calls:
        assert span.name == f"chat {span.attributes['gen_ai.request.model']}"
        assert span.attributes["gen_ai.operation.name"] == "chat"
        assert span.attributes["gen_ai.provider.name"] == "openai_compatible"
        assert span.attributes["gen_ai.usage.input_tokens"] > 0
        assert span.attributes["gen_ai.usage.output_tokens"] > 0


def _check_tool_calls_follow_the_conventions(collector: Collector, work: list[ReceivedSpan]) -> None:
    tool_calls = [span for span in work if span.name.startswith("execute_tool ")]
    assert "execute_tool get_order_details" in {span.name for span in tool_calls}
    for span in tool_calls:
        assert span.attributes["gen_ai.operation.name"] == "execute_tool"
        assert span.name == f"execute_tool {span.attributes['gen_ai.tool.name']}"
        assert collector.above(span)[:3] == ["process executor", "publish turn.planned", "process planner"]
        assert collector.above(span)[-1] == "command user_message"


def _check_no_content_is_exported(collector: Collector) -> None:
    """No span has words of users or models, arguments or secrets."""
    for word in (b"quokka", b"calculator", EMAIL.encode(), ORDER["order_id"].encode(), b"print("):
        assert not [body for body in collector.bodies if word in body], word
