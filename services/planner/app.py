"""Run the planner: `python -m services.planner.app`."""

from services.planner.handlers import draft_plan
from shared.worker import run_worker

if __name__ == "__main__":
    run_worker("planner", draft_plan)
