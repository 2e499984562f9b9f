"""Plan and code: write the program for the approved plan, ask what is missing, or answer a remark."""

from services.generator.conversation_prompt import CodeDraft, CodeReply, brief, program, shown
from shared.domain import commands as c
from shared.llm.dialogue import refuse_repeated, reply_for, to_command
from shared.worker import WorkContext


async def write_code(context: WorkContext) -> c.DraftCode | c.AnswerRemark | c.Ask:
    session = context.session
    reply = await context.ask(
        brief(session), reply_for(CodeReply, session), kind="code", render=shown, refuse=refuse_repeated(session)
    )
    made = reply.reply
    if not isinstance(made, CodeDraft):
        return to_command(made, session)
    return c.DraftCode(code=program(made.code), explanation=made.explanation.strip())
