"""The workflow `conversation`: check the code before the user sees it, and judge its run against the plan."""

import asyncio

from parley.events.values import Check
from services.verifier.conversation_prompt import (
    TestsReply,
    VerdictReply,
    build_tests_prompt,
    build_verdict_prompt,
    render_partial_tests,
    render_partial_verdict,
)
from services.verifier.program_checks import check_syntax, run_linter, run_tests
from shared import sandbox
from shared.domain import commands as c
from shared.domain.session import Session
from shared.domain.state import Turn
from shared.worker import WorkContext


async def check(context: WorkContext, session: Session) -> c.VerifyCode:
    code = session.code.code if session.code else ""
    checks = [check_syntax(code)]
    if not checks[0].ok:
        return c.VerifyCode(checks=tuple(checks))
    checks.append(await run_linter(code))
    if missing := await asyncio.to_thread(sandbox.available):
        return c.VerifyCode(checks=(*checks, Check(name="tests", ok=None, detail=f"Not run: {missing}")))
    tests = (
        await context.ask(
            build_tests_prompt(context.prompt_session), TestsReply, kind="tests", render=render_partial_tests
        )
    ).reply.tests
    return c.VerifyCode(checks=(*checks, await run_tests(code, tests)), tests=tests)


async def judge(context: WorkContext, turn: Turn) -> c.VerifyTurn:
    """The verdict on the run. Makes no model call if nothing was run."""
    if all(action.status in ("skipped", "denied") for action in turn.actions):
        return c.VerifyTurn(status="failure", next_action="complete", reasoning="Nothing was run.", rule="nothing-run")
    messages = build_verdict_prompt(context.prompt_session)
    reply = await context.ask(messages, VerdictReply, kind="verdict", render=render_partial_verdict)
    verdict = c.VerifyTurn(**reply.reply.model_dump(exclude={"kind"}))
    ends = verdict.status in ("not_shown", "bad_input", "missing_here")  # no change of the program would help
    return verdict.model_copy(update={"next_action": "complete"}) if ends else verdict
