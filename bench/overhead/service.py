"""A worker's own process, with a model that answers at once: `python -m bench.overhead.service <name>`.

The model's time is left out, in the worker and on the wire; everything else is as in production. The verifier asks for
tests of code but accepts the code without running them: running programs would outweigh everything else.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel

from bench.overhead.kinds import CHECKS, call, reply_to
from services.executor import app as executor
from services.generator import app as generator
from services.planner import app as planner
from services.verifier.conversation_prompt import TestsReply, tests_brief, tests_shown
from services.verifier.handlers import verify
from shared.bus import Delivery
from shared.domain import commands as c
from shared.llm import BeforeCall, Message, OnCall, OnPartial, Role
from shared.settings import Settings
from shared.worker import Parts, WorkContext, WorkerApplication, serve, worker_application
from shared.worker.late import LateModel


class Instant(LateModel):
    """A model whose replies are prepared."""

    async def ask[R: BaseModel](
        self,
        role: Role,
        messages: Sequence[Message],
        reply: type[R],
        *,
        quality: str = "",
        model: str = "",
        temperature: float | None = None,
        refuse: Callable[[R], str] | None = None,
        before_call: BeforeCall | None = None,
        on_call: OnCall,
        on_partial: OnPartial | None = None,
    ) -> R:
        """See `Model.ask`."""
        if before_call:
            await before_call()
        prepared = reply_to(messages, reply)
        await on_call(call(role))
        if on_partial:
            await on_partial(prepared.model_dump(mode="json"))
        return prepared

    def load(self) -> Any:
        """There is nothing to load."""
        return None


async def accept_code(context: WorkContext) -> c.VerifyCode | c.VerifyTurn:
    if context.session.turn:
        return await verify(context)
    reply = await context.ask(tests_brief(context.session), TestsReply, kind="tests", render=tests_shown)
    return c.VerifyCode(checks=CHECKS, tests=reply.reply.tests)


def checking(settings: Settings, parts: Parts) -> WorkerApplication:
    app = worker_application("verifier", settings, parts)

    @app.broker.subscriber(durable="verifier")
    async def check(delivery: Delivery) -> None:
        await app.work(delivery, accept_code)

    return app


BUILD: dict[str, Callable[[Settings, Parts], WorkerApplication]] = {
    "planner": planner.build,
    "executor": executor.build,
    "generator": generator.build,
    "verifier": checking,
}

if __name__ == "__main__":
    settings = Settings()
    serve(BUILD[sys.argv[1]](settings, Parts(model=Instant(settings))))
