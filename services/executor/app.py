"""Run the executor: `python -m services.executor.app`."""

from services.executor.handlers import run_wave
from shared.worker import run_worker

if __name__ == "__main__":
    run_worker("executor", run_wave)
