"""Verifier: check the code before a person sees it; judge a run against the plan."""

import asyncio
from collections.abc import Awaitable, Callable

from services.verifier.checks import lints, parses, passes
from services.verifier.paths import walked
from services.verifier.prompt import (
    TestsReply,
    TurnVerdictReply,
    VerdictReply,
    tests_brief,
    tests_shown,
    turn_brief,
    verdict_brief,
    verdict_shown,
)
from services.verifier.rules import certain
from shared import sandbox
from shared.domain import commands as c
from shared.domain.session import Session
from shared.domain.state import Turn
from shared.events.values import Check
from shared.worker import Desk

LOOK_AGAIN = ("reads-answered", "change-shown")  # what a thorough session has a model judge besides


async def verify(desk: Desk) -> c.VerifyCode | c.VerifyTurn:
    turn = desk.session.turn
    return await _judge(desk, turn) if turn else await _check(desk, desk.session)


async def _check(desk: Desk, session: Session) -> c.VerifyCode:
    code = session.code.code if session.code else ""
    checks = [parses(code)]
    if not checks[0].ok:
        return c.VerifyCode(checks=tuple(checks))
    checks.append(await lints(code))
    if missing := await asyncio.to_thread(sandbox.available):
        return c.VerifyCode(checks=(*checks, Check(name="tests", ok=None, detail=f"Not run: {missing}")))
    tests = (await desk.ask(tests_brief(session), TestsReply, kind="tests", render=tests_shown)).reply.tests
    return c.VerifyCode(checks=(*checks, await passes(code, tests)), tests=tests)


async def _judge(desk: Desk, turn: Turn) -> c.VerifyTurn:
    """Of a walked path, a run of approved code, or a turn of tools."""
    judge = JUDGES.get(turn.workflow, _judge_turn)
    return await judge(desk, turn)


async def _judge_turn(desk: Desk, turn: Turn) -> c.VerifyTurn:
    """By rules where they are certain; else by a model, unless the session saves its calls."""
    quality = desk.session.settings.quality
    ruled = certain(turn)
    if ruled and (quality != "thorough" or ruled.rule not in LOOK_AGAIN):
        return ruled
    if quality == "economy":
        why = "No rule is certain of this outcome, and no model is asked for it."
        return c.VerifyTurn(status="partial", next_action="continue", reasoning=why, rule="not-judged")
    brief = turn_brief(desk.session, turn)
    reply = await desk.ask(brief, TurnVerdictReply, kind="verdict", render=verdict_shown)
    return c.VerifyTurn(**reply.reply.model_dump(exclude={"kind"}))


async def _judge_run(desk: Desk, turn: Turn) -> c.VerifyTurn:
    """A run that did not happen, or was cut short, needs no model to be judged."""
    if all(action.status in ("skipped", "denied") for action in turn.actions):
        return c.VerifyTurn(status="failure", next_action="complete", reasoning="Nothing was run.", rule="nothing-run")
    brief = verdict_brief(desk.session, turn)
    reply = await desk.ask(brief, VerdictReply, kind="verdict", render=verdict_shown)
    return c.VerifyTurn(**reply.reply.model_dump(exclude={"kind"}))


async def _judge_path(_: Desk, turn: Turn) -> c.VerifyTurn:
    return walked(turn)


JUDGES: dict[str, Callable[[Desk, Turn], Awaitable[c.VerifyTurn]]] = {"conversation": _judge_run, "flow": _judge_path}
