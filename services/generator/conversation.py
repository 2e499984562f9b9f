"""The workflow `conversation`: write the program for the approved plan, ask, or answer a message."""

from services.generator.conversation_prompt import CodeDraft, CodeReply, build_prompt, program, render_partial
from shared.domain import commands as c
from shared.llm.dialogue import refuse_repeated, reply_for, to_command
from shared.worker import WorkContext


async def write_code(context: WorkContext) -> c.DraftCode | c.NoDraft:
    session = context.session
    reply = await context.ask(
        build_prompt(context.prompt_session, context.deps.settings),
        reply_for(CodeReply, session),
        kind="code",
        render=render_partial,
        refuse=refuse_repeated(session),
    )
    draft = reply.reply
    if not isinstance(draft, CodeDraft):
        return to_command(draft)
    return c.DraftCode(say=draft.say.strip(), code=program(draft.code), explanation=draft.explanation.strip())
