"""The generator's application: `python -m services.generator.app`."""

from functools import partial

from services.generator.agentflow import rules_of
from services.generator.handlers import write
from shared.bus import Delivery
from shared.settings import Settings
from shared.worker import WorkerApplication, WorkerOverrides, serve, worker_application


def build(settings: Settings, parts: WorkerOverrides | None = None) -> WorkerApplication:
    app = worker_application("generator", settings, parts)
    handler = partial(write, rules_of=partial(rules_of, app.bus))

    @app.broker.subscriber(durable="generator")
    async def generate(delivery: Delivery) -> None:
        """Write the program, or the answer, that is due."""
        await app.work(delivery, handler)

    return app


if __name__ == "__main__":
    serve(build(Settings()))
