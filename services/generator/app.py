"""Run the generator: `python -m services.generator.app`."""

from services.generator.handlers import write_code
from shared.worker import run_worker

if __name__ == "__main__":
    run_worker("generator", write_code)
