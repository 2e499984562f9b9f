"""The plays: what users do in the recorded sessions. Each function's name is that of its log."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from pydantic import JsonValue

from parley.events.values import ActionSpec, SessionSettings, Step, Workflow
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.actors import KEEPER
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import AnyCommand
from shared.log import commit, fork
from tests.conftest import person
from tests.support.rehearsal_server import RehearsalServer
from tests.support.stack import Person
from tests.support.stories import approve
from tests.unit.domain.spec import edit_code

REST = ("resting", "failed", "awaiting_input", "awaiting_approval", "escalated")
CALCULATOR = "Help me create a simple calculator"
CUSTOMER = "I am Tara Foster, zip 95837."
CANCEL = f"{CUSTOMER} Cancel order #W3833642, I no longer need it."
LOOKUP = f"{CUSTOMER} What is the state of order #W3833642, and what is in it?"
STATES = "Which 5 states have the most pending orders?"


class Play:
    """One user in one session. Each step waits until no service has work in the session."""

    def __init__(self, bus: Bus, model: RehearsalServer, session_id: str) -> None:
        self.bus, self.model, self.id = bus, model, session_id
        self._ann = Person(bus, session_id)

    async def apply(self, command: AnyCommand | Callable[[Session], AnyCommand], *phases: str) -> Session:
        """Apply one command, and return the session once it is in one of these phases."""
        session = (await self._ann.load()).session
        await self._ann.does(command(session) if callable(command) else command)
        return await self._ann.phase(*(phases or REST))

    async def apply_as_plan_store(
        self, command: AnyCommand | Callable[[Session], AnyCommand], meta: CommandMeta, *phases: str
    ) -> Session:
        """Apply a command of plan_store, and return the session once it rests or is in one of these phases."""
        loaded = await self._ann.load()
        await commit(self.bus.log, loaded, command(loaded.session) if callable(command) else command, meta)
        return await self._ann.phase(*(phases or REST))

    async def tell(self, text: str) -> None:
        """Send a message and do not wait for the reply."""
        await self._ann.does(c.Say(text=text))

    async def send(self, text: str, *phases: str) -> Session:
        return await self.apply(c.Say(text=text), *phases)

    async def request(self, workflow: Workflow, text: str, *phases: str, **settings: object) -> Session:
        """Send a request with its workflow and settings."""
        chosen = SessionSettings.model_validate(settings)
        return await self.apply(c.Say(text=text, workflow=workflow, settings=chosen), *phases)

    async def decide_all(self, *, yes: bool = True) -> Session:
        """Approve or deny every action that waits for approval."""
        session = await self._ann.phase(*REST)
        while session.phase == "awaiting_approval":
            assert session.turn
            action = next(a for a in session.turn.actions if a.status == "planned" and a.spec.approval_reason)
            target = {"version": session.version, "action_id": action.spec.id}
            rejection = c.Reject(reason="I have changed my mind.", **target)
            session = await self.apply(c.Approve(hash=action.hash, **target) if yes else rejection)
        return session


async def conversation(play: Play) -> None:
    """Feedback, an edit, approvals, a run, the next request, and the end."""
    await play.request("conversation", CALCULATOR)
    session = await play.send("Add a step to write a short help text")
    assert session.plan
    await play.apply(c.EditPlan(base=session.plan.version, steps=session.plan.steps[1:]))
    await play.apply(approve)
    await play.send("Print the result with two decimals")
    await play.apply(edit_code("print(1 + 2)\n"))
    await play.apply(approve)
    await play.apply(c.Run())
    await play.apply(c.Continue())
    await play.send("Now a program that prints FizzBuzz")
    await play.apply(c.Stop())
    await play.apply(c.Complete())


async def another_plan(play: Play) -> None:
    """The user rejects a plan twice, cancels one and deletes it, and renames the session."""
    await play.request("conversation", CALCULATOR)
    await play.apply(c.Reject(replan=True))
    await play.apply(c.Reject())
    await play.send("Only adding")
    await play.apply(c.CancelPlan())
    await play.apply(c.DeletePlan())
    await play.apply(c.Rename(title="Nothing came of it"))


async def lookup(play: Play) -> None:
    await play.request("agentflow", LOOKUP)


async def write(play: Play) -> None:
    """A write with its approval."""
    await play.request("agentflow", CANCEL, world="own")
    await play.decide_all()


async def refused_write(play: Play) -> None:
    """The user denies a write, sets the policy of its tool to `deny`, and requests it again."""
    await play.request("agentflow", CANCEL, world="own")
    await play.decide_all(yes=False)
    await play.apply(c.Remember(tool="cancel_pending_order", policy="deny"))
    await play.send("Please cancel it after all")
    await play.decide_all()


async def missing(play: Play) -> None:
    """The planner asks for information that the request lacks."""
    await play.request("agentflow", "Please cancel my order, I no longer need it.", world="own")
    await play.send(CUSTOMER)
    await play.decide_all()


async def handed_over(play: Play) -> None:
    """A session escalates; a person takes over and hands it back."""
    session = await play.request("agentflow", f"{CUSTOMER} I want to talk to a human.")
    if session.phase == "escalated":
        look = ActionSpec(
            id=f"{session.counts.turns + 1}.1", tool="get_order_details", arguments={"order_id": "#W3833642"}
        )
        await play.apply(c.TakeOver(sub_goal="Look at the order", actions=(look,)))
        await play.send("It has been seen to. Tell the customer so.")


async def path(play: Play) -> None:
    """A question about data: tables, SQL and the answer; then a follow-up and the user's judgement."""
    await play.request("flow", STATES)
    await play.apply(c.Answer(text="yes"))
    await play.decide_all()
    await play.request("flow", "only in Texas", confirm="nothing")
    await play.apply(c.Judge(accepted=True, saved=True))


async def changed_path(play: Play) -> None:
    """The user changes the rest of a path, here to their own SQL."""
    await play.request("flow", STATES)
    session = await play.apply(c.Answer(text="yes"))
    assert session.turn
    started = [
        action.spec.id for action in session.turn.actions if action.status not in ("planned", "approved", "asked")
    ]
    names = ("validate_sql", "execute_sql", "format_final_response")
    rest = tuple(ActionSpec(id="0", tool=f"text_to_sql.{name}") for name in names)
    sql = "SELECT COUNT(*) AS pending FROM orders WHERE status = 'pending'"
    await play.apply(c.EditPath(actions=rest, given={"sql": sql}, after=started[-1]))
    await play.decide_all()


async def confirmed_path(play: Play) -> None:
    """The path itself needs approval first."""
    session = await play.request("flow", "How many orders are pending?", confirm="path")
    if session.plan and session.plan.status == "pending_approval":
        await play.apply(approve)
    await play.apply(c.Answer(text="yes"))
    await play.decide_all()


async def complaint(play: Play) -> None:
    """A flow with a write."""
    text = "I want to complain: I no longer need order #W3833642, please cancel it. I am Tara Foster, zip 95837."
    await play.request("flow", text, confirm="nothing", world="own")
    await play.decide_all()


async def stopped(play: Play) -> None:
    """The user stops the planner at work, retries, sends a message during work, pauses and resumes."""
    await play.model.fault(latency=2.0)
    await play.request("conversation", CALCULATOR, "planning")
    await play.apply(c.Stop())
    await play.apply(c.Retry(), "planning")
    await play.send("Add a step to write a short help text", "planning")
    await play.model.clear_faults()
    await play.apply(c.Pause(), "planning", *REST)
    await play.apply(c.Resume())
    await play.apply(approve)


async def failed(play: Play) -> None:
    """The model fails, and a retry succeeds."""
    await play.model.fault(fault="500")
    session = await play.request("conversation", CALCULATOR)
    assert session.phase == "failed"
    await play.model.clear_faults()
    await play.apply(c.Retry())


async def budget(play: Play) -> None:
    """The session spends its budget; the user raises it, stops, retries and raises it again."""
    await play.request("agentflow", LOOKUP, token_budget=100)
    await play.apply(c.RaiseBudget(tokens=2_000))
    await play.apply(c.Stop())
    await play.apply(c.Retry())
    await play.apply(c.RaiseBudget(tokens=50_000))


async def remarks(play: Play) -> None:
    """The user sends a question about the plan, one about the code, and a message at rest."""
    await play.request("conversation", CALCULATOR)
    await play.send("Add a step to write a short help text")
    await play.send("Why are there so many steps?")
    await play.apply(approve)
    await play.send("Why is the code like this?")
    await play.apply(approve)
    await play.send("Thank you!")


async def waits(play: Play) -> None:
    """A plan that the user wrote asks a question and waits for a time; the user sends a message meanwhile."""
    steps = (
        Step(text="Ask", tool="ask_person", id="s1", effect="read", waits_for="person", arguments={"question": "Tea?"}),
        Step(text="Wait", tool="wait_until", id="s2", effect="read", waits_for="time", arguments={"seconds": 60}),
        Step(text="List", tool="list_files", id="s3", effect="read", after=("s1", "s2")),
    )
    await play.apply(c.Say(text="Tea", workflow="execution_plan", brings_plan=True))
    await play.apply(c.EditPlan(base=1, goal="Tea", steps=steps))
    await play.apply(approve)
    await play.apply(c.Answer(text="Green"), "waiting")
    await play.send("How long?", "waiting")
    later = CommandMeta(KEEPER, datetime.now(UTC) + timedelta(seconds=60))
    await play.apply_as_plan_store(c.Wake(), later)


async def polls(play: Play) -> None:
    """A plan that the user wrote polls until a file exists, and asks a question that expires."""
    polls: dict[str, JsonValue] = {"tool": "list_files", "arguments": {}, "condition": "files", "every": 60}
    steps = (
        Step(text="Wait", tool="poll_until", id="s1", effect="read", waits_for="condition", arguments=polls),
        Step(text="Ask", tool="ask_person", id="s2", effect="read", waits_for="person", arguments={"question": "Tea?"}),
    )
    settings = SessionSettings(approval_timeout=60, call_budget=50, time_budget=600)
    await play.apply(c.Say(text="Tea", workflow="execution_plan", settings=settings, brings_plan=True))
    await play.apply(c.EditPlan(base=1, goal="Tea", steps=steps))
    await play.apply(approve)
    by = CommandMeta(KEEPER, datetime.now(UTC))
    nothing, tea = {"files": [], "bytes": 0}, {"files": [{"name": "tea.md", "size": 5}], "bytes": 5}
    await play.apply_as_plan_store(c.RecordPoll(action_id="t2.s1", polls=1, value=nothing), by)
    await play.apply(c.RaiseBudget(calls=10))
    await play.apply_as_plan_store(c.RecordPoll(action_id="t2.s1", polls=4, value=tea, met=True), by, "awaiting_input")
    await play.apply_as_plan_store(lambda session: c.Expire(requested_version=session.since_version), by)


WRITE = Step(text="Write", tool="write_file", id="s1", effect="write", arguments={"name": "a.txt", "text": "tea"})
COPY = Step(
    text="Copy",
    tool="write_file",
    id="s2",
    effect="write",
    arguments={"name": "b.txt", "text": "{{steps.s1.output.name}}"},
)


async def _begin_user_plan(play: Play, *steps: Step, **settings: object) -> Session:
    """Start a session with a plan of these steps that the user wrote."""
    chosen = SessionSettings.model_validate(settings)
    await play.apply(c.Say(text="Tea", workflow="execution_plan", brings_plan=True, settings=chosen))
    return await play.apply(c.EditPlan(base=1, goal="Tea", steps=steps))


async def approved_for_later(play: Play) -> None:
    """The user approves a plan, preapproves one step with any values, and starts the plan later."""
    await _begin_user_plan(play, WRITE, COPY)
    await play.apply(lambda session: approve(session).model_copy(update={"preapprove": ("s2",), "start": False}))
    await play.apply(c.Retry())


async def by_setting(play: Play) -> None:
    """By a setting, versions of the plan need no approval; the user approves each write."""
    await _begin_user_plan(play, WRITE, require_plan_approval=False)
    session = await play.decide_all()
    assert session.plan
    await play.apply(c.EditPlan(base=session.plan.version, steps=(WRITE, COPY)))
    await play.decide_all()


async def outdated(play: Play) -> None:
    """The user approves a version of a plan for a tool that has changed since, then one for the current tool."""
    settings = {"tools": ("calculate", "list_files"), "instructions": "Be brief."}
    session = await play.request("execution_plan", 'Call calculate with {"expression": "2 * 3.5"}', **settings)
    assert session.plan
    (step,) = session.plan.steps
    older = step.model_copy(update={"fingerprint": "0" * 64})
    await play.apply(c.EditPlan(base=session.plan.version, steps=(older,), checks=session.plan.checks))
    session = await play.apply(approve)
    assert session.plan
    await play.apply(c.EditPlan(base=session.plan.version, steps=(step,), checks=session.plan.checks))
    await play.apply(approve)


CALCULATE = 'Call calculate with {"expression": "2 * 3.5"}'
LATER = Step(text="Wait", tool="wait_until", id="s0", effect="read", waits_for="time", arguments={"seconds": 60})
AFTER = WRITE.model_copy(update={"after": ("s0",)})


async def _wake(play: Play, *phases: str) -> Session:
    """End the wait of a minute."""
    later = CommandMeta(KEEPER, datetime.now(UTC) + timedelta(seconds=60))
    return await play.apply_as_plan_store(c.Wake(), later, *phases)


async def answered_beside(play: Play) -> None:
    """The user asks about a plan while it is carried out: a write begins after the reply."""
    await _begin_user_plan(play, LATER, AFTER)
    await play.apply(approve, "waiting")
    await play.model.fault(latency=2.0)
    await play.tell("Why does it take so long?")
    await _wake(play)
    await play.model.clear_faults()


async def offer_taken(play: Play) -> None:
    """The user asks for something else while a plan is carried out, and takes the plan that is offered."""
    await _begin_user_plan(play, LATER, AFTER)
    await play.apply(approve, "waiting")
    session = await play.send(CALCULATE, "waiting")
    assert session.offer
    await play.apply(c.TakeOffer(version=session.offer.version))
    await play.apply(approve)


async def offer_kept(play: Play) -> None:
    """The user asks for something else while a plan is carried out, and keeps it. A write begins after that."""
    await _begin_user_plan(play, LATER, AFTER)
    await play.apply(approve, "waiting")
    await play.send(CALCULATE, "waiting")
    await _wake(play, "executing")
    await play.apply(c.KeepOffer())


async def forked(play: Play) -> None:
    """A fork of a program in review. The fork is recorded under the play's name."""
    parent_play = Play(play.bus, play.model, f"{play.id}-parent")
    await parent_play.request("conversation", CALCULATOR)
    parent = await parent_play.apply(approve)
    await fork(play.bus.log, parent, play.id, person())
    await play.send("Print the result with two decimals")
    await play.apply(approve)


PLAYS: tuple[Callable[[Play], Awaitable[None]], ...] = (
    conversation,
    another_plan,
    lookup,
    write,
    refused_write,
    missing,
    handed_over,
    path,
    changed_path,
    confirmed_path,
    complaint,
    stopped,
    failed,
    budget,
    remarks,
    waits,
    polls,
    approved_for_later,
    by_setting,
    outdated,
    answered_beside,
    offer_taken,
    offer_kept,
    forked,
)
