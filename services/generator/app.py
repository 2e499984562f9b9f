"""Run the generator: `python -m services.generator.app`."""

from services.generator.handlers import write
from shared.worker import plain, run_worker

if __name__ == "__main__":
    run_worker("generator", plain(write))
