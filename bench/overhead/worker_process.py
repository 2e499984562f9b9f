"""A worker process whose model replies instantly: `python -m bench.overhead.worker_process <name>`.

The model takes no time, in the worker or on the network; everything else is as in production. The verifier asks for
tests but accepts the code without running them, because running programs would dominate the measurement.
"""

import sys
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from bench.overhead.workloads import CHECKS, model_call, reply_to
from services.executor import app as executor
from services.generator import app as generator
from services.planner import app as planner
from services.verifier.app import verify
from services.verifier.conversation import TestsReply, build_tests_prompt, render_partial_tests
from shared.bus import Delivery
from shared.domain.kernel import commands as c
from shared.llm import ModelRequest
from shared.settings import Settings
from shared.worker import WorkContext, WorkerApplication, WorkerOverrides, serve, worker_application
from shared.worker.application import LazyModel


class InstantModel(LazyModel):
    """A model with prepared replies."""

    async def ask[R: BaseModel](self, request: ModelRequest[R]) -> R:
        """See `Model.ask`."""
        if request.before_call:
            await request.before_call()
        prepared = reply_to(request.messages, request.reply)
        await request.on_call(model_call(request.role))
        if request.on_partial:
            await request.on_partial(prepared.model_dump(mode="json"))
        return prepared

    def load(self) -> Any:
        """There is nothing to load."""
        return None


async def accept_code(context: WorkContext) -> c.VerifyCode | c.VerifyTurn:
    if context.session.turn:
        return await verify(context)
    reply = await context.ask(
        build_tests_prompt(context.session), TestsReply, kind="tests", render=render_partial_tests
    )
    return c.VerifyCode(checks=CHECKS, tests=reply.reply.tests)


def build_verifier(settings: Settings, parts: WorkerOverrides) -> WorkerApplication:
    app = worker_application("verifier", settings, parts)

    @app.broker.subscriber(durable="verifier")
    async def check(delivery: Delivery) -> None:
        await app.work(delivery, accept_code)

    return app


BUILD: dict[str, Callable[[Settings, WorkerOverrides], WorkerApplication]] = {
    "planner": planner.build,
    "executor": executor.build,
    "generator": generator.build,
    "verifier": build_verifier,
}

if __name__ == "__main__":
    settings = Settings()
    serve(BUILD[sys.argv[1]](settings, WorkerOverrides(model=InstantModel(settings))))
