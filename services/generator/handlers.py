"""Generator: when a session is due for coding, write the program for the approved plan."""

from services.generator.prompt import CodeReply, brief, program, shown
from shared.domain import commands as c
from shared.worker import Desk


async def write_code(desk: Desk) -> c.DraftCode:
    reply = await desk.ask(brief(desk.session), CodeReply, kind="code", render=shown)
    return c.DraftCode(code=program(reply.code), explanation=reply.explanation.strip())
