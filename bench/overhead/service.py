"""A worker's own process, with a model that answers at once: `python -m bench.overhead.service <name>`.

The model's time is left out, in the worker and on the wire; everything else is as in production. The verifier asks for
tests of code but accepts the code without running them: running programs would outweigh everything else.
"""

import sys
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from bench.overhead.kinds import CHECKS, call, reply_to
from services.executor.app import executing
from services.generator.handlers import write
from services.planner.app import planning
from services.verifier.handlers import verify
from services.verifier.prompt import TestsReply, tests_brief, tests_shown
from shared.domain import commands as c
from shared.events.values import Service
from shared.llm import BeforeCall, Message, OnCall, OnPartial, Role
from shared.worker import Desk, Opens, plain, run_worker
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
        temperature: float | None = None,
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


async def accept_code(desk: Desk) -> c.VerifyCode | c.VerifyTurn:
    if desk.session.turn:
        return await verify(desk)
    reply = await desk.ask(tests_brief(desk.session), TestsReply, kind="tests", render=tests_shown)
    return c.VerifyCode(checks=CHECKS, tests=reply.tests)


OPENS: dict[Service, Opens] = {
    "planner": planning,
    "executor": executing,
    "generator": plain(write),
    "verifier": plain(accept_code),
}

if __name__ == "__main__":
    (name,) = [service for service in OPENS if service == sys.argv[1]]
    run_worker(name, OPENS[name], Instant)
