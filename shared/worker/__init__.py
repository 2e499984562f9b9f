"""What planner, executor, verifier and generator have in common: everything but their one sentence."""

from shared.worker.application import Here, Parts, WorkerApplication, worker_application
from shared.worker.desk import BudgetExceeded, Desk, Kit
from shared.worker.draft import Drafts
from shared.worker.run import serve
from shared.worker.worker import Handler, Worker

__all__ = [
    "BudgetExceeded",
    "Desk",
    "Drafts",
    "Handler",
    "Here",
    "Kit",
    "Parts",
    "Worker",
    "WorkerApplication",
    "serve",
    "worker_application",
]
