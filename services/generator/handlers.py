"""Generator: when a session is due for coding, write the program for the approved plan."""

from services.generator.prompt import CodeReply, brief, program, shown
from shared.domain import commands as c
from shared.llm import ModelFailed
from shared.worker import Desk


async def write_code(desk: Desk) -> c.DraftCode:
    reply = await desk.ask(brief(desk.session), CodeReply, kind="code", render=shown)
    code = program(reply.code)
    if not code.strip():
        raise ModelFailed("The model wrote no code.", raw=reply.model_dump_json())
    return c.DraftCode(code=code, explanation=reply.explanation.strip())
