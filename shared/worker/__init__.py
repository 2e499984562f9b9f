"""What planner, executor, verifier and generator share: everything but their handlers."""

from shared.worker.application import ServiceContext, WorkerApplication, WorkerOverrides, worker_application
from shared.worker.context import BudgetExceeded, Handler, WorkContext, WorkerDeps
from shared.worker.drafts import Drafts
from shared.worker.run import serve
from shared.worker.worker import Worker

__all__ = [
    "BudgetExceeded",
    "Drafts",
    "Handler",
    "ServiceContext",
    "WorkContext",
    "Worker",
    "WorkerApplication",
    "WorkerDeps",
    "WorkerOverrides",
    "serve",
    "worker_application",
]
