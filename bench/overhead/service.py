"""A worker's own process, with a model that answers at once: `python -m bench.overhead.service <name>`.

What the model costs is left out, in the worker and on the wire; everything else is as in production. Of code, the
verifier asks for tests like the real one and believes it: its checks run programs, and would be all that is measured.
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
from shared.llm import Message, OnCall, OnPartial, Role
from shared.worker import Desk, Opens, plain, run_worker
from shared.worker.late import LateModel


class Instant(LateModel):
    """A Model that has its replies ready."""

    async def ask[R: BaseModel](
        self,
        role: Role,
        messages: Sequence[Message],
        reply: type[R],
        *,
        quality: str = "",
        temperature: float | None = None,
        on_call: OnCall,
        on_partial: OnPartial | None = None,
    ) -> R:
        """See `Model.ask`."""
        found = reply_to(messages, reply)
        await on_call(call(role))
        if on_partial:
            await on_partial(found.model_dump(mode="json"))
        return found

    def load(self) -> Any:
        """There is nothing to load."""
        return None


async def believe(desk: Desk) -> c.VerifyCode | c.VerifyTurn:
    if desk.session.turn:
        return await verify(desk)
    reply = await desk.ask(tests_brief(desk.session), TestsReply, kind="tests", render=tests_shown)
    return c.VerifyCode(checks=CHECKS, tests=reply.tests)


OPENS: dict[Service, Opens] = {
    "planner": planning,
    "executor": executing,
    "generator": plain(write),
    "verifier": plain(believe),
}

if __name__ == "__main__":
    (name,) = [service for service in OPENS if service == sys.argv[1]]
    run_worker(name, OPENS[name], Instant)
