"""What the routes of execution plans share: act on a session, wait for it, and answer with its plan."""

from typing import Annotated

from fastapi import Depends, Query, Request

from parley.protocol.execution_plans import ExecutionPlan
from services.gateway import handlers
from services.gateway.commands import SessionMessage
from services.gateway.live.hub import Follower, while_connected
from services.gateway.ports import Core, query
from services.gateway.rest.plan_models import TaskRequest
from services.gateway.rest.plan_tasks import current_task
from services.gateway.state import CoreDep, GatewayDep, WaitingUserDep
from services.gateway.views.execution_plan import execution_plan
from shared import store_api as api
from shared.domain.session import Session

START_SECONDS = 20  # that the start of a plan waits at least for the service at work


class Caller:
    """The user of a request, who acts on sessions and waits for the result."""

    def __init__(self, request: Request, user: WaitingUserDep, core: CoreDep, gateway: GatewayDep) -> None:
        self._request, self.user, self.core, self._gateway = request, user, core, gateway

    async def begin(self, message: SessionMessage, body: TaskRequest) -> ExecutionPlan:
        """As `act`, in a session that the message begins."""
        session_id = handlers.session_id_for(self.user, body.id, self.core)
        return await self.act(message, session_id, body, new=body.id is None)

    async def act(
        self, message: SessionMessage, session_id: str, body: TaskRequest, *, when_idle: bool = False, new: bool = False
    ) -> ExecutionPlan:
        """Carry the message out, and return the plan once the session is idle. Raises ApiError, CommandRefused.

        With `when_idle`, wait for the service at work first, for example until it has reported a failure. `new`: this
        process has just made up the id.
        """
        message = message.model_copy(update={"id": body.id})
        quota = self._gateway.quotas.for_user(self.user.id)
        quota.check_may_work(session_id)
        follower = Follower(self._gateway.hub, session_id, self.user, quota, new=new)
        try:
            await follower.refresh()
            if when_idle:
                await while_connected(self._request, follower.wait_until_idle(0, max(body.timeout, START_SECONDS)))
            result = await handlers.act(message, session_id, handlers.Sender(self.user), self.core, follower.channel)
            if body.timeout:
                wait = follower.wait_until_idle(result.version, body.timeout)
                session = await while_connected(self._request, wait)
            else:
                session = (await follower.channel.newest()).session
        finally:
            follower.leave()
        return await plan_response(session, self.core)

    async def wait_for_plan(self, session: Session, seconds: float) -> ExecutionPlan:
        """The plan once the session is idle. Raises ApiError(timed_out)."""
        if not seconds or not session.is_working:
            return await plan_response(session, self.core)
        follower = Follower(self._gateway.hub, session.id, self.user, self._gateway.quotas.for_user(self.user.id))
        try:
            await follower.refresh()
            session = await while_connected(self._request, follower.wait_until_idle(session.version, seconds))
        finally:
            follower.leave()
        return await plan_response(session, self.core)

    async def session(self, task_id: str) -> Session:
        return await current_task(task_id, self.user, self.core)


Timeout = Annotated[float, Query(ge=0, le=600, description="seconds")]
CallerDep = Annotated[Caller, Depends()]


async def plan_response(session: Session, core: Core, *, current: bool = True) -> ExecutionPlan:
    if session.plan is None:
        return execution_plan(session)
    history = await query(core.store, api.PLAN_VERSIONS, api.PlanVersions(session_id=session.id))
    return execution_plan(session, history.plans, current=current)
