"""What a service is given for its work on a session, over a log in memory."""

from parley.events.values import Service
from shared.domain.kernel.session import Session
from shared.llm import ScriptedModel
from shared.log import SessionAtPosition
from shared.settings import Settings
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, WorkContext, WorkerDeps


def worker_deps(
    service: Service,
    model: ScriptedModel | None = None,
    *,
    log: InMemoryLog | None = None,
    settings: Settings | None = None,
) -> WorkerDeps:
    log = log or InMemoryLog()
    return WorkerDeps(service, InMemoryStore(log), log, model or ScriptedModel(), Drafts(None), settings or Settings())


def work_context(
    service: Service,
    session: Session | SessionAtPosition,
    model: ScriptedModel | None = None,
    *,
    log: InMemoryLog | None = None,
) -> WorkContext:
    """The context of the work that is due in this session; without a position, the log has no event of it yet."""
    at = session if isinstance(session, SessionAtPosition) else SessionAtPosition(session, 0)
    return WorkContext(worker_deps(service, model, log=log), at, cause=f"{at.session.id}:cause")
