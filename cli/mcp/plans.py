"""Execution plans as tools of `parley mcp`: generate, read, approve and execute them."""

from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field, JsonValue

from parley.client import Parley
from parley.events.values import SessionSettings, Step
from parley.protocol.execution_plans import TASK_ID, ExecutionPlan, PlanList, PlanStatus
from shared.time_zones import own_time_zone

TaskId = Annotated[str, Field(pattern=TASK_ID, description="The plan's task_id.")]
Words = Annotated[str, Field(min_length=1, max_length=50_000)]
Version = Annotated[int, Field(ge=1, description="The version of the plan that the user saw.")]
Hash = Annotated[str, Field(min_length=1, max_length=64, description="Its hash.")]
Seconds = Annotated[
    float,
    Field(
        ge=0,
        le=60,
        description="Seconds to wait. If `working` is true afterwards, call execute_plan or get_plan_by_task_id.",
    ),
]
Steps = Annotated[
    list[Step],
    Field(
        min_length=1,
        max_length=100,
        description="Tool calls. `after` lists ids of steps; {{steps.<id>.output}} refers to a step's output.",
    ),
]


async def generate_execution_plan(
    parley: Parley,
    request: Annotated[Words, Field(description="The user's request, in words.")],
    generator: Annotated[str, Field(max_length=64, description="The plan generator; empty: the default.")] = "",
    settings: Annotated[SessionSettings | None, Field(description="null: the defaults.")] = None,
    seconds: Seconds = 30,
) -> ExecutionPlan:
    """Plan tool calls for a request. Nothing runs before the user approves the plan: show them its text."""
    settings_json = settings.model_dump(mode="json") if settings else None
    return await parley.execution_plans.generate(
        request,
        settings=settings_json,
        generator=generator or None,
        time_zone=own_time_zone(),
        wait=seconds,
    )


async def store_plan(  # noqa: PLR0913, PLR0917  what an assistant may say
    parley: Parley,
    description: Annotated[str, Field(min_length=1, max_length=500, description="What the plan is for.")],
    steps: Steps,
    notes: Annotated[str, Field(max_length=50_000)] = "",
    settings: Annotated[SessionSettings | None, Field(description="null: the defaults.")] = None,
    seconds: Seconds = 30,
) -> ExecutionPlan:
    """Start with your own plan, which is checked against the tools, for the user to approve."""
    settings_json = settings.model_dump(mode="json") if settings else None
    return await parley.execution_plans.store(description, steps, notes=notes, settings=settings_json, wait=seconds)


async def modify_execution_plan(  # noqa: PLR0913, PLR0917  what an assistant may say
    parley: Parley,
    task_id: TaskId,
    feedback: Annotated[
        Words | None, Field(description="What to change, or the answer to the plan's question.")
    ] = None,
    version: Annotated[Version | None, Field(description="With steps: the version that they change.")] = None,
    steps: Steps | None = None,
    seconds: Seconds = 30,
) -> ExecutionPlan:
    """Make another version, from the user's feedback or with your own steps."""
    plan = await parley.execution_plans.get(task_id)
    if steps is not None and version is None:
        raise ToolError("Name the version that your steps are made from.")
    base = plan.model_copy(update={"version": version}) if version is not None else plan
    return await parley.execution_plans.modify(base, feedback, steps=steps, wait=seconds)


async def approve_execution_plan(  # noqa: PLR0913, PLR0917  what an assistant may say
    parley: Parley,
    task_id: TaskId,
    version: Version,
    hash: Hash,  # noqa: A002  as the protocol calls it
    preapprove: Annotated[
        list[str] | None,
        Field(max_length=100, description="Steps that the user approved with any values of their references."),
    ] = None,
    start: Annotated[bool, Field(description="false: only approve; execute_plan starts it.")] = True,
    seconds: Seconds = 30,
) -> ExecutionPlan:
    """Approve exactly this version, which then runs, only after the user has approved it."""
    base = (await parley.execution_plans.get(task_id)).model_copy(update={"version": version, "hash": hash})
    return await parley.execution_plans.approve(base, preapprove=preapprove or (), start=start, wait=seconds)


async def execute_plan(
    parley: Parley,
    task_id: TaskId,
    retry: Annotated[
        bool, Field(description="Go on with a plan that failed, was stopped or paused, if the user says so.")
    ] = False,
    seconds: Seconds = 30,
) -> ExecutionPlan:
    """Start an approved plan, unless it has started, and wait for the result."""
    return await parley.execution_plans.execute(task_id, retry=retry, wait=seconds)


async def skip_plan_step(  # noqa: PLR0913, PLR0917  what an assistant may say
    parley: Parley,
    task_id: TaskId,
    step_id: Annotated[str, Field(min_length=1, max_length=40, description="The step's id.")],
    output: Annotated[JsonValue, Field(description="The output that the user gives; null: none.")] = None,
    with_dependents: Annotated[bool, Field(description="Also skip the steps that use its output.")] = False,
    seconds: Seconds = 30,
) -> ExecutionPlan:
    """Skip a step, only if the user says so. Never invent an output: the user gives it."""
    return await parley.execution_plans.skip(
        task_id, step_id, output=output, with_dependents=with_dependents, wait=seconds
    )


async def cancel_plan(parley: Parley, task_id: TaskId) -> ExecutionPlan:
    """Cancel a plan. Running steps end and are recorded; `progress` lists what was done and what was not."""
    return await parley.execution_plans.cancel(task_id)


async def delete_plan(parley: Parley, task_id: TaskId) -> PlanStatus:
    """Delete a plan that is not running; its session and journal stay. Returns its last status."""
    last = await parley.execution_plans.status(task_id)
    await parley.execution_plans.delete(task_id)
    return last


async def get_plan_by_task_id(parley: Parley, task_id: TaskId, seconds: Seconds = 0) -> ExecutionPlan:
    """Read a plan with version, hash and steps; waits while a service works on it."""
    return await parley.execution_plans.get(task_id, wait=seconds)


async def get_plan_status(parley: Parley, task_id: TaskId) -> PlanStatus:
    """Read a plan's progress, step by step."""
    return await parley.execution_plans.status(task_id)


async def list_plans(
    parley: Parley, limit: Annotated[int, Field(ge=1, le=100)] = 20, offset: Annotated[int, Field(ge=0)] = 0
) -> PlanList:
    """List the user's execution plans, newest first."""
    return await parley.execution_plans.list(limit=limit, offset=offset)


async def format_execution_plan(parley: Parley, task_id: TaskId) -> str:
    """Read a plan with its steps and results, as Markdown to show to the user."""
    return await parley.execution_plans.format(task_id)
