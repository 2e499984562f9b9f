"""What planner, executor, verifier and generator have in common: everything but their one sentence."""

from shared.worker.application import Parts, ServiceContext, WorkerApplication, worker_application
from shared.worker.context import BudgetExceeded, WorkContext, WorkerDeps
from shared.worker.draft import Drafts
from shared.worker.run import serve
from shared.worker.worker import Handler, Worker

__all__ = [
    "BudgetExceeded",
    "Drafts",
    "Handler",
    "Parts",
    "ServiceContext",
    "WorkContext",
    "Worker",
    "WorkerApplication",
    "WorkerDeps",
    "serve",
    "worker_application",
]
