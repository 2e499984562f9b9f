"""Plan and code: check the code before a person sees it, and judge its run against the plan."""

import asyncio

from parley.events.values import Check
from services.verifier.checks import lints, parses, passes
from services.verifier.conversation_prompt import (
    TestsReply,
    VerdictReply,
    tests_brief,
    tests_shown,
    verdict_brief,
    verdict_shown,
)
from shared import sandbox
from shared.domain import commands as c
from shared.domain.session import Session
from shared.domain.state import Turn
from shared.worker import WorkContext


async def check(context: WorkContext, session: Session) -> c.VerifyCode:
    code = session.code.code if session.code else ""
    checks = [parses(code)]
    if not checks[0].ok:
        return c.VerifyCode(checks=tuple(checks))
    checks.append(await lints(code))
    if missing := await asyncio.to_thread(sandbox.available):
        return c.VerifyCode(checks=(*checks, Check(name="tests", ok=None, detail=f"Not run: {missing}")))
    tests = (await context.ask(tests_brief(session), TestsReply, kind="tests", render=tests_shown)).reply.tests
    return c.VerifyCode(checks=(*checks, await passes(code, tests)), tests=tests)


async def judge(context: WorkContext, turn: Turn) -> c.VerifyTurn:
    """A run that did not happen, or was cut short, needs no model to be judged."""
    if all(action.status in ("skipped", "denied") for action in turn.actions):
        return c.VerifyTurn(status="failure", next_action="complete", reasoning="Nothing was run.", rule="nothing-run")
    brief = verdict_brief(context.session, turn)
    reply = await context.ask(brief, VerdictReply, kind="verdict", render=verdict_shown)
    return c.VerifyTurn(**reply.reply.model_dump(exclude={"kind"}))
