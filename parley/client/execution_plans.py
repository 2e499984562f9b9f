"""Execution plans of a running Parley: made, changed, approved, carried out and read, by task."""

import math
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

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
_LOOK = 20  # seconds that the gateway is asked to wait at once

type Sent = Step | Mapping[str, Any] | str


class ExecutionPlans:
    """Every method may raise `parley.client.errors.ParleyError`.

    Those that take `wait` wait until nothing is worked on, or for so many seconds at most.
    """

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def generate(  # noqa: PLR0913  a request has as many sides
        self,
        request: str,
        *,
        settings: Mapping[str, Any] | None = None,
        generator: str | None = None,
        tools: Sequence[str] | None = None,
        model: str | None = None,
        instructions: str | None = None,
        wait: float | None = None,
    ) -> ExecutionPlan:
        """A plan for a request, or the question that comes before it.

        `generator`: one that the server lists. `tools`: the only ones that the plan may call. `model`: one that the
        operator configured. `instructions`: what every version of the plan is to keep to.
        """
        choices = {"generator": generator, "tools": list(tools) if tools else None, "model": model}
        body = {"request": request, "settings": settings, "instructions": instructions, **choices}
        return await self._settled(await self._post("", **body), wait)

    async def store(
        self,
        description: str,
        steps: Sequence[Sent],
        *,
        notes: str = "",
        settings: Mapping[str, Any] | None = None,
        wait: float | None = None,
    ) -> ExecutionPlan:
        """A plan of your own, to be approved like any other."""
        body = {"description": description, "steps": _sent(steps), "notes": notes, "settings": settings}
        stored = await self._post("/store", **body)
        return await self._settled(stored, wait)

    async def modify(
        self,
        plan: ExecutionPlan,
        feedback: str | None = None,
        *,
        steps: Sequence[Sent] | None = None,
        wait: float | None = None,
    ) -> ExecutionPlan:
        """Another version: as the planner makes it of your feedback, or with steps of your own."""
        own = {"version": plan.version, "steps": _sent(steps)} if steps is not None else {}
        return await self._settled(await self._post(f"/{plan.task_id}/modify", feedback=feedback, **own), wait)

    async def approve(
        self, plan: ExecutionPlan, *, preapprove: Sequence[str] = (), start: bool = True
    ) -> ExecutionPlan:
        """Approve exactly this plan. It is carried out at once; wait for its result with `execute`.

        `preapprove`: ids of steps whose calls you allow with whatever values their references get. Without `start` it
        is only approved, and `execute` starts it.
        """
        more = {"preapprove": list(preapprove) or None, "start": None if start else False}
        return await self._post(f"/{plan.task_id}/approve", version=plan.version, hash=plan.hash, **more)

    async def execute(self, plan: ExecutionPlan, *, wait: float | None = None) -> ExecutionPlan:
        """The plan when it has come to its end, with its result.

        One that was approved and not started begins; one that was stopped, or that failed, goes on.
        """
        return await self._settled(await self._post(f"/{plan.task_id}/execute"), wait)

    async def cancel(self, plan: ExecutionPlan) -> ExecutionPlan:
        """Give the plan up. Its `progress` tells which steps were done, which ones run still, and which were not."""
        return await self._post(f"/{plan.task_id}/cancel")

    async def skip(
        self,
        plan: ExecutionPlan,
        step_id: str,
        *,
        output: Any = None,
        with_dependents: bool = False,
        wait: float | None = 0,
    ) -> ExecutionPlan:
        """Leave a step out. Give its `output` instead, or skip the steps that use it, too: else those refuse it."""
        body = {"output": output, "with_dependents": with_dependents}
        path = f"/{plan.task_id}/steps/{quote(step_id, safe='')}/skip"  # `s3[0]` names a call for an item
        return await self._settled(await self._post(path, **body), wait)

    async def status(self, plan: ExecutionPlan) -> PlanStatus:
        return await self._rest.get(PlanStatus, f"{_PATH}/{plan.task_id}/status")

    async def get(self, task_id: str, *, wait: float = 0) -> ExecutionPlan:
        """The plan as it stands; it may be waited for, for so many seconds, until nothing is worked on."""
        return await self._rest.get(ExecutionPlan, f"{_PATH}/{task_id}", timeout=wait)

    async def list(self, *, session_id: str | None = None, limit: int = 50, offset: int = 0) -> PlanList:
        """The newest plan of each session, newest first; or, of one session, those of all its tasks."""
        of_session = {} if session_id is None else {"session": session_id}
        return await self._rest.get(PlanList, _PATH, **of_session, limit=limit, offset=offset)

    async def format(self, plan: ExecutionPlan) -> str:
        """The plan with what has come of its steps, as Markdown."""
        return await self._rest.text(f"{_PATH}/{plan.task_id}/format")

    async def previews(self, plan: ExecutionPlan) -> PlanPreviews:
        """What the plan's changes would make of what is there now, by step."""
        return await self._rest.get(PlanPreviews, f"{_PATH}/{plan.task_id}/previews")

    async def versions(self, plan: ExecutionPlan) -> tuple[PlanVersion, ...]:
        """Who made each version of the plan, and why; oldest first."""
        told = await self._rest.ask("GET", f"{_PATH}/{plan.task_id}/versions")
        return tuple(PlanVersion.model_validate(one) for one in told["plans"])

    async def diff(self, plan: ExecutionPlan, old: int, new: int) -> PlanDifference:
        """What changed from version `old` to version `new`."""
        return await self._rest.get(PlanDifference, f"{_PATH}/{plan.task_id}/diff", **{"from": old, "to": new})

    async def delete(self, plan: ExecutionPlan) -> None:
        """Raises Refused while it runs."""
        await self._rest.ask("DELETE", f"{_PATH}/{plan.task_id}")

    async def _post(self, path: str, **body: Any) -> ExecutionPlan:
        given = {name: value for name, value in body.items() if value is not None}
        answer = await self._rest.ask("POST", f"{_PATH}{path}", body={**given, "id": uuid.uuid4().hex, "timeout": 0})
        return ExecutionPlan.model_validate(answer)

    async def _settled(self, plan: ExecutionPlan, wait: float | None) -> ExecutionPlan:
        ends = math.inf if wait is None else time.monotonic() + wait
        while plan.working and (left := ends - time.monotonic()) > 0:
            plan = await self.get(plan.task_id, wait=min(left, _LOOK))
        return plan


def _sent(steps: Sequence[Sent]) -> list[Any]:
    return [step.model_dump(mode="json", exclude_none=True) if isinstance(step, Step) else step for step in steps]
