"""The verifier's application: `python -m services.verifier.app`."""

from services.verifier.handlers import verify
from shared.bus import Delivery
from shared.settings import Settings
from shared.worker import WorkerApplication, WorkerOverrides, serve, worker_application


def build(settings: Settings, parts: WorkerOverrides | None = None) -> WorkerApplication:
    app = worker_application("verifier", settings, parts)

    @app.broker.subscriber(durable="verifier")
    async def check(delivery: Delivery) -> None:
        """Judge the program, the run or the turn that is due."""
        await app.work(delivery, verify)

    return app


if __name__ == "__main__":
    serve(build(Settings()))
