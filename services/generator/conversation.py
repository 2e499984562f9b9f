"""The workflow `conversation`: write the program for the approved plan, ask, or answer a message."""

from parley.reply import without_kinds
from services.generator.conversation_prompt import (
    CodeDraft,
    CodeReply,
    WrongTest,
    build_prompt,
    program,
    render_partial,
)
from shared.domain import commands as c
from shared.domain.messages import MAX_TEXT
from shared.domain.program_tests import is_disputable
from shared.llm.dialogue import refuse_repeated, reply_for, to_command
from shared.worker import WorkContext


async def write_code(context: WorkContext) -> c.DraftCode | c.NoDraft:
    session = context.session
    kinds = without_kinds(CodeReply, *([] if is_disputable(session) else ["test_wrong"]))
    reply = await context.ask(
        build_prompt(context.prompt_session, context.deps.settings),
        reply_for(kinds, session),
        kind="code",
        render=render_partial,
        refuse=refuse_repeated(session),
    )
    code, told = (session.code.code, session.code.explanation) if session.code else ("", "")
    match reply.reply:
        case CodeDraft() as draft:
            words = {name: getattr(draft, name).strip() for name in ("say", "explanation", "wish")}
            return c.DraftCode(code=program(draft.code), **words)
        case WrongTest() as draft:
            return c.DraftCode(say=draft.say.strip(), code=code, explanation=told, disputes=draft.reason[:MAX_TEXT])
        case other:
            return to_command(other)
