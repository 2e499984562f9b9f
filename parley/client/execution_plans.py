"""Execution plans of a running Parley: create, change, approve, execute and read them, by task."""

import math
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from parley.client.errors import RequestRefused
from parley.client.rest import Rest
from parley.events.values import Step
from parley.protocol.execution_plans import (
    ExecutionPlan,
    PlanDifference,
    PlanList,
    PlanPreviews,
    PlanStatus,
    PlanVersion,
)

_PATH = "/api/execution-plans"
_MAX_WAIT_SECONDS = 20  # seconds that one request waits

type StepInput = Step | Mapping[str, Any] | str


class ExecutionPlans:
    """Every method may raise `parley.client.errors.ParleyError`. Where a plan need not be seen, its task's id will do.

    Methods with `wait` wait until no service works on the plan, or for so many seconds at most (None: no limit).
    """

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def generate(  # noqa: PLR0913  the options of a request
        self,
        request: str,
        *,
        settings: Mapping[str, Any] | None = None,
        generator: str | None = None,
        tools: Sequence[str] | None = None,
        model: str | None = None,
        instructions: str | None = None,
        time_zone: str | None = None,
        wait: float | None = None,
    ) -> ExecutionPlan:
        """Make a plan for a request. Returns the plan, or the question to answer first.

        `generator`: one that the server lists. `tools`: the only ones that the plan may call. `model`: one that the
        operator configured. `instructions`: rules for every version of the plan. `time_zone`: the IANA name
        of the person's.
        """
        choices = {"generator": generator, "tools": list(tools) if tools else None, "model": model}
        body = {"request": request, "settings": settings, "instructions": instructions, "time_zone": time_zone}
        return await self._wait_until_idle(await self._post("", **body, **choices), wait)

    async def store(
        self,
        description: str,
        steps: Sequence[StepInput],
        *,
        notes: str = "",
        settings: Mapping[str, Any] | None = None,
        wait: float | None = None,
    ) -> ExecutionPlan:
        """Store a plan of your own, which needs approval like any other."""
        body = {"description": description, "steps": _steps_json(steps), "notes": notes, "settings": settings}
        stored = await self._post("/store", **body)
        return await self._wait_until_idle(stored, wait)

    async def modify(
        self,
        plan: ExecutionPlan,
        feedback: str | None = None,
        *,
        steps: Sequence[StepInput] | None = None,
        wait: float | None = None,
    ) -> ExecutionPlan:
        """Make another version: by the planner from your feedback, or with your own steps."""
        own = {"version": plan.version, "steps": _steps_json(steps)} if steps is not None else {}
        return await self._wait_until_idle(await self._post(f"/{plan.task_id}/modify", feedback=feedback, **own), wait)

    async def approve(
        self, plan: ExecutionPlan, *, preapprove: Sequence[str] = (), start: bool = True, wait: float | None = 0
    ) -> ExecutionPlan:
        """Approve exactly this plan, which starts at once. With `wait` (None: no limit) returns its result.

        `preapprove`: ids of steps whose calls you approve with any values that their references get. Without `start`
        it is only approved, and `execute` starts it.
        """
        more = {"preapprove": list(preapprove) or None, "start": None if start else False}
        approved = await self._post(f"/{plan.task_id}/approve", version=plan.version, hash=plan.hash, **more)
        return await self._wait_until_idle(approved, wait)

    async def execute(
        self, plan: ExecutionPlan | str, *, retry: bool = False, wait: float | None = None
    ) -> ExecutionPlan:
        """Start an approved plan, unless it has started, and wait for its result.

        `retry`: go on with a plan that has failed, was stopped or is paused.
        """
        started = await self._post(f"/{task_id(plan)}/execute", retry=retry or None)
        return await self._wait_until_idle(started, wait)

    async def wait(self, plan: ExecutionPlan | str, *, seconds: float | None = None) -> ExecutionPlan:
        """The plan once it ends, needs you or is paused; after so many seconds, as it is then."""
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while True:
            remaining = max(deadline - time.monotonic(), 0)
            newest = await self.get(task_id(plan), wait=min(remaining, _MAX_WAIT_SECONDS))
            if not newest.working or not remaining:
                return newest

    async def cancel(self, plan: ExecutionPlan | str) -> ExecutionPlan:
        """Cancel the plan. Its `progress` lists the steps that are done, still running, and not done."""
        return await self._post(f"/{task_id(plan)}/cancel")

    async def skip(
        self,
        plan: ExecutionPlan | str,
        step_id: str,
        *,
        output: Any = None,
        with_dependents: bool = False,
        wait: float | None = 0,
    ) -> ExecutionPlan:
        """Skip a step. If other steps use its output, give an `output` for it, or skip them with it."""
        body = {"output": output, "with_dependents": with_dependents}
        path = f"/{task_id(plan)}/steps/{quote(step_id, safe='')}/skip"  # `s3[0]` is the call for one item
        return await self._wait_until_idle(await self._post(path, **body), wait)

    async def take_offer(self, plan: ExecutionPlan, *, wait: float | None = 0) -> ExecutionPlan:
        """Put the plan's `offer` in its place. Returns the new plan, which needs approval. Raises RequestRefused."""
        return await self._decide_offer(plan, "take_offer", wait)

    async def keep_offer(self, plan: ExecutionPlan, *, wait: float | None = 0) -> ExecutionPlan:
        """Turn the plan's `offer` down, so that the plan goes on. Raises RequestRefused."""
        return await self._decide_offer(plan, "keep_offer", wait)

    async def _decide_offer(self, plan: ExecutionPlan, kind: str, wait: float | None) -> ExecutionPlan:
        if plan.offer is None:
            raise RequestRefused("not_now", f"No offer is open for the plan {plan.task_id}.")
        message = {"type": kind, "version": plan.offer.version, "id": uuid.uuid4().hex}
        await self._rest.ask("POST", f"/api/sessions/{plan.session_id}/messages", body=message)
        return await self._wait_until_idle(await self.get(plan.session_id), wait)

    async def status(self, plan: ExecutionPlan | str) -> PlanStatus:
        return await self._rest.get(PlanStatus, f"{_PATH}/{task_id(plan)}/status")

    async def get(self, task_id: str, *, wait: float = 0) -> ExecutionPlan:
        """The plan. `wait`: seconds to wait until the session is idle."""
        return await self._rest.get(ExecutionPlan, f"{_PATH}/{task_id}", timeout=wait)

    async def list(self, *, session_id: str | None = None, limit: int = 50, offset: int = 0) -> PlanList:
        """The newest plan of each session, newest first; or the plans of all tasks of one session."""
        of_session = {} if session_id is None else {"session": session_id}
        return await self._rest.get(PlanList, _PATH, **of_session, limit=limit, offset=offset)

    async def format(self, plan: ExecutionPlan | str) -> str:
        """The plan with its steps' outcomes, as Markdown."""
        return await self._rest.text(f"{_PATH}/{task_id(plan)}/format")

    async def previews(self, plan: ExecutionPlan | str) -> PlanPreviews:
        """Previews of the plan's changes to the current data, by step."""
        return await self._rest.get(PlanPreviews, f"{_PATH}/{task_id(plan)}/previews")

    async def versions(self, plan: ExecutionPlan | str) -> tuple[PlanVersion, ...]:
        """The plan's versions with authors and reasons, oldest first."""
        history = await self._rest.ask("GET", f"{_PATH}/{task_id(plan)}/versions")
        return tuple(PlanVersion.model_validate(version) for version in history["plans"])

    async def diff(self, plan: ExecutionPlan | str, old: int, new: int) -> PlanDifference:
        """What changed from version `old` to version `new`."""
        return await self._rest.get(PlanDifference, f"{_PATH}/{task_id(plan)}/diff", **{"from": old, "to": new})

    async def delete(self, plan: ExecutionPlan | str) -> None:
        """Delete the plan. Raises RequestRefused while it runs."""
        await self._rest.ask("DELETE", f"{_PATH}/{task_id(plan)}")

    async def _post(self, path: str, **body: Any) -> ExecutionPlan:
        fields = {name: value for name, value in body.items() if value is not None}
        body = {**fields, "id": uuid.uuid4().hex, "timeout": 0}
        return await self._rest.send(ExecutionPlan, "POST", f"{_PATH}{path}", body)

    async def _wait_until_idle(self, plan: ExecutionPlan, wait: float | None) -> ExecutionPlan:
        return await self.wait(plan, seconds=wait) if plan.working and wait != 0 else plan


def task_id(plan: ExecutionPlan | str) -> str:
    """The id of the plan's task, which may be given in its place."""
    return plan if isinstance(plan, str) else plan.task_id


def _steps_json(steps: Sequence[StepInput]) -> list[Any]:
    return [step.model_dump(mode="json", exclude_none=True) if isinstance(step, Step) else step for step in steps]
