"""`parley chat` with an agent workflow: approvals with previews, taking over, handing back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cli.chat.first_request import FirstRequest
from parley.events.values import ActionSpec
from parley.protocol.tools import TOOLS_LIST, TOOLS_PREVIEW, Change, Preview, PreviewCall, ToolPage, ToolSpec
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand
from shared.story import finish_action
from tests.integration.test_cli_chat import CTRL_D, ENTER, Services, piped, sitting
from tests.support.gateway import World, serving

TOOLS = tuple(
    ToolSpec.model_validate({"name": name, "description": name, "parameters": {}, "effect": effect, "origin": "retail"})
    for name, effect in (("find_order", "read"), ("cancel_order", "write"))
)


class AgentflowServices(Services):
    """Plays services that read an order, cancel each named order and answer; also answers requests about tools."""

    def __init__(self, world: World) -> None:
        super().__init__(world, _commands)
        world.bus.answers = {TOOLS_LIST: self._list, TOOLS_PREVIEW: self._preview}

    def _list(self, _: bytes) -> bytes:
        return ToolPage(tools=TOOLS, total=2).model_dump_json().encode()

    def _preview(self, data: bytes) -> bytes:
        order = PreviewCall.model_validate_json(data).arguments["order_id"]
        change = Change(path=f"orders/{order}/status", before="pending", after="cancelled")
        return Preview(known=True, changes=(change,)).model_dump_json().encode()


def _commands(session: Session) -> tuple[AnyCommand, ...]:
    turn = session.turn
    match session.phase:
        case "planning":
            ids = [word for word in session.words.request.split() if word.startswith("#")]
            is_read = session.counts.turns == session.counts.turns_before
            tool, effect = ("find_order", "read") if is_read else ("cancel_order", "write")
            actions = tuple(
                ActionSpec.model_validate(
                    {
                        "id": f"{session.counts.turns + 1}.{n}",
                        "tool": tool,
                        "effect": effect,
                        "arguments": {"order_id": order_id},
                    }
                )
                for n, order_id in enumerate(ids, 1)
            )
            return (
                c.PlanTurn(sub_goal="Look" if is_read else "Cancel", actions=actions, reasoning="That comes next."),
            )
        case "executing" if turn:
            to_run = [a for a in turn.actions if a.status in ("planned", "approved")]
            return (c.Start(), *(finish_action(action_id=a.spec.id, ok=True, result="ok", seconds=0.1) for a in to_run))
        case "verifying" if turn and "stuck" in session.words.request and not turn.taken_over and turn.number == 1:
            return (c.VerifyTurn(status="failure", next_action="escalate", reasoning="Nobody can find it."),)
        case "verifying" if turn:
            continues = turn.sub_goal == "Look"
            return (
                c.VerifyTurn(
                    status="success", next_action="continue" if continues else "complete", rule="all finished"
                ),
            )
        case "answering":
            refused = [a for a in turn.actions if a.status == "denied"] if turn else []
            text = "Not cancelled." if refused else "It is cancelled."
            proposed = ("Cancel #W2\x1b[2J, too",)
            return (c.GiveAnswer(text=text, confidence=0.9, evidence=("1.1", "2.1"), next=proposed),)
        case "resting":
            return (c.AnswerRemark(text="That one stays."),)
        case _:
            raise AssertionError(f"nobody works while the session is {session.phase}")


@asynccontextmanager
async def gateway_with_agentflow() -> AsyncIterator[tuple[str, AgentflowServices]]:
    """A gateway with these services. Yields the URL of its WebSocket, and the services."""
    world = World()
    services = AgentflowServices(world)
    await world.bus.subscribe("feed.>", services.on_event)
    async with serving(world.app) as address:
        yield f"ws://{address}/ws", services


async def test_a_write_is_previewed_approved_and_answered() -> None:
    async with gateway_with_agentflow() as (url, services), sitting(url) as person:
        await person.shows("What should we build?")
        person.types("/workflow agentflow" + ENTER)
        await person.shows("uses the workflow", "agentflow")
        person.types("Cancel #W1 please" + ENTER)
        await person.shows("Turn 1: Look", "✓ 1.1 find_order", "(checked by rule)", "Turn 2: Cancel")
        await person.shows("2.1 cancel_order · write", "#W1", "→ ", "1 Approve")
        person.types("yes" + ENTER)
        await person.shows("✓ 2.1 cancel_order", "Answer", "It is cancelled.", "Confidence 90%")
        session = await services.session()
        assert (session.workflow, session.phase) == ("agentflow", "resting")
        await person.shows("3 Cancel #W2<U+001B>[2J, too")
        person.types("3" + ENTER)
        await person.shows("› 3 Cancel #W2<U+001B>[2J, too", "That one stays.")
        person.types(CTRL_D)


async def test_each_write_needs_an_approval_and_a_rejection_has_a_reason() -> None:
    async with gateway_with_agentflow() as (url, services), sitting(url) as person:
        await person.shows("What should we build?")
        person.types("/workflow agentflow" + ENTER)
        await person.shows("uses the workflow", "agentflow")
        person.types("Cancel #W1 #W2" + ENTER)
        await person.shows("orders/#W1/status", "orders/#W2/status", "about 2.1")
        person.types("always" + ENTER)
        await person.shows("set approval for cancel_order to never", "1 Approve")
        person.types("reason" + ENTER)
        await person.shows("Why not?")
        person.types("she changed her mind" + ENTER)
        await person.shows("2.2 cancel_order · declined: she changed her mind", "Not cancelled.")
        person.types(CTRL_D)
        assert person.terminal.text.count('orders/#W2/status: "pending"') == 1
        assert (await services.session()).policies == {"cancel_order": "never"}


async def test_a_script_without_yes_stops_before_a_write() -> None:
    async with gateway_with_agentflow() as (url, services):
        code, out, _ = await piped(url, "Cancel #W1", first=FirstRequest("agentflow"))
        assert code == 3
        assert "--yes" in out
        assert (await services.session()).phase == "awaiting_approval"
