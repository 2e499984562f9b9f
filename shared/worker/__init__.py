"""What planner, executor, verifier and generator have in common: everything but their one sentence."""

from shared.worker.desk import BudgetExceeded, Desk, Kit
from shared.worker.draft import Drafts
from shared.worker.run import Here, Opens, plain, run_worker
from shared.worker.worker import Handler, Worker

__all__ = ["BudgetExceeded", "Desk", "Drafts", "Handler", "Here", "Kit", "Opens", "Worker", "plain", "run_worker"]
