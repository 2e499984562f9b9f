"""Run the verifier: `python -m services.verifier.app`."""

from services.verifier.handlers import verify
from shared.worker import plain, run_worker

if __name__ == "__main__":
    run_worker("verifier", plain(verify))
