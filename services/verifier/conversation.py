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
    unreachable_note,
)
from services.verifier.program_checks import check_syntax, run_linter, run_tests
from shared import sandbox
from shared.domain import commands as c
from shared.domain.program_tests import lasting_tests, sources, unfenced
from shared.domain.session import Session
from shared.domain.state import Turn
from shared.worker import WorkContext

KEEP_TESTS = (
    "These tests are missing or changed, though their steps are as they were: {names}. Give the whole module with "
    "these tests word for word, unless the person has asked for something else since they were written."
)


async def check(context: WorkContext, session: Session) -> c.VerifyCode:
    code = session.code.code if session.code else ""
    checks = [check_syntax(code)]
    if not checks[0].ok:
        return c.VerifyCode(checks=tuple(checks))
    checks.append(await run_linter(code))
    if missing := await asyncio.to_thread(sandbox.available):
        return c.VerifyCode(checks=(*checks, Check(name="tests", ok=None, detail=f"Not run: {missing}")))
    tests, unreachable = await _tests(context)
    note, steps = unreachable_note(session.plan, unreachable), session.plan.steps if session.plan else ()
    if note and not sources(tests) and all(step.id in unreachable for step in steps):
        result = Check(name="tests", ok=None, detail=f"Not run: {note}")
    else:
        result = await run_tests(code, tests)
        result = result.model_copy(update={"detail": f"{result.detail}\n\n{note}".rstrip()})
    return c.VerifyCode(checks=(*checks, result), tests=tests, unreachable=unreachable)


async def _tests(context: WorkContext) -> tuple[str, tuple[str, ...]]:
    """The tests, and the ids of the steps that they cannot reach. After a repair those of its draft run again."""
    code = context.session.code
    if code and code.reruns_tests:
        return code.earlier_tests, code.unreachable
    lasting, refused = lasting_tests(context.session), False

    def refuse(reply: TestsReply) -> str:
        nonlocal refused
        tests = unfenced(reply.reply.tests)
        if error := check_syntax(tests).detail:
            return f"The tests do not parse: {error}"
        written = sources(tests).values()  # in whichever class
        lost = [name for (name, _), source in lasting.items() if source not in written]
        refused, again = True, refused  # a second time it stands: what was said since may contradict a test
        return KEEP_TESTS.format(names=", ".join(lost)) if lost and not again else ""

    messages = build_tests_prompt(context.prompt_session)
    draft = await context.ask(messages, TestsReply, kind="tests", render=render_partial_tests, refuse=refuse)
    steps = {step.id for step in context.session.plan.steps} if context.session.plan else set()
    return unfenced(draft.reply.tests), tuple(step for step in draft.reply.unreachable if step in steps)


async def judge(context: WorkContext, turn: Turn) -> c.VerifyTurn:
    """The verdict on the run. Makes no model call if nothing was run."""
    if all(action.status in ("skipped", "denied") for action in turn.actions):
        return c.VerifyTurn(status="failure", next_action="complete", reasoning="Nothing was run.", rule="nothing-run")
    messages = build_verdict_prompt(context.prompt_session)
    reply = await context.ask(messages, VerdictReply, kind="verdict", render=render_partial_verdict)
    verdict = c.VerifyTurn(**reply.reply.model_dump(exclude={"kind"}))
    ends = verdict.status in ("not_shown", "bad_input", "missing_here")  # no change of the program would help
    return verdict.model_copy(update={"next_action": "complete"}) if ends else verdict
