"""Who asks for something to be done with an execution plan, and the plan as they are told of it."""

from typing import Annotated

from fastapi import Depends, Query, Request

from parley.protocol.execution_plans import ExecutionPlan
from services.gateway import handlers
from services.gateway.commands import SessionMessage
from services.gateway.live.following import Follower, while_connected
from services.gateway.ports import Core, query
from services.gateway.rest.execution_plan_models import Asked
from services.gateway.rest.execution_plan_tasks import task
from services.gateway.state import Behind, Here, MeWaiting
from services.gateway.views.execution_plan import execution_plan
from shared import store_api as api
from shared.domain.session import SERVICE_OF, Session


class Caller:
    """Who asks, and what their request needs to have something done in a session and wait for what comes of it."""

    def __init__(self, request: Request, user: MeWaiting, core: Behind, here: Here) -> None:
        self._request, self.user, self.core, self._here = request, user, core, here

    async def does(self, message: SessionMessage, session_id: str, asked: Asked) -> ExecutionPlan:
        """The plan once the message was carried out and the session asks or rests. Raises Trouble, or a Refused."""
        message = message.model_copy(update={"id": asked.id})
        quota = self._here.quotas.of(self.user.id)
        quota.may_work(session_id)
        follower = Follower(self._here.hub, session_id, self.user, quota)
        try:
            await follower.look()
            done = await handlers.act(message, session_id, handlers.Sender(self.user), self.core, follower.channel)
            if asked.timeout:
                come = follower.come_to(done.version, asked.timeout)
                session = await while_connected(self._request, come)
            else:
                session = (await follower.channel.newest()).session
        finally:
            follower.leave()
        return await told(session, self.core)

    async def comes(self, session: Session, seconds: float) -> ExecutionPlan:
        """The plan once the session asks or rests. Raises Trouble(timed_out)."""
        if not seconds or session.phase not in SERVICE_OF:
            return await told(session, self.core)
        follower = Follower(self._here.hub, session.id, self.user, self._here.quotas.of(self.user.id))
        try:
            await follower.look()
            session = await while_connected(self._request, follower.come_to(session.version, seconds))
        finally:
            follower.leave()
        return await told(session, self.core)

    def new(self, asked: Asked) -> str:
        """The id of a session to begin."""
        return handlers.session_id_for(self.user, asked.id, self.core)

    async def session(self, task_id: str) -> Session:
        return await task(task_id, self.user, self.core)


Timeout = Annotated[float, Query(ge=0, le=600, description="seconds")]
Calling = Annotated[Caller, Depends()]


async def told(session: Session, core: Core, *, current: bool = True) -> ExecutionPlan:
    if session.plan is None:
        return execution_plan(session)
    history = await query(core.store, api.PLAN_VERSIONS, api.PlanVersions(session_id=session.id))
    return execution_plan(session, history.plans, current=current)
