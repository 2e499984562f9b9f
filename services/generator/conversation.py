"""The workflow `conversation`: write the program for the approved plan, ask, or answer a message."""

from parley.reply import without_kinds
from services.generator.conversation_prompt import (
    CodeDraft,
    CodeReply,
    EditsDraft,
    WrongTest,
    build_prompt,
    edited,
    render_partial,
)
from shared.domain import commands as c
from shared.domain.messages import MAX_TEXT
from shared.domain.program_tests import is_disputable, unfenced
from shared.llm.dialogue import code_section, refuse_repeated, reply_for, to_command
from shared.worker import WorkContext


async def write_code(context: WorkContext) -> c.DraftCode | c.NoDraft:
    session = context.session
    current, told = code_section(session) or "", session.code.explanation if session.code else ""
    withheld = [*([] if current else ["edits"]), *([] if is_disputable(session) else ["test_wrong"])]
    repeated = refuse_repeated(session)
    reply = await context.ask(
        build_prompt(context.prompt_session, context.deps.settings),
        reply_for(without_kinds(CodeReply, *withheld), session),
        kind="code",
        render=render_partial,
        refuse=lambda reply: repeated(reply) or _inapplicable(reply, current),
    )
    match reply.reply:
        case CodeDraft() as draft:
            code, explanation = unfenced(draft.code), draft.explanation
        case EditsDraft(edits=edits) as draft:
            code, explanation = edited(current, edits)[0], draft.explanation.strip() or told
        case WrongTest() as draft:
            return c.DraftCode(say=draft.say.strip(), code=current, explanation=told, disputes=draft.reason[:MAX_TEXT])
        case other:
            return to_command(other)
    words = {"say": draft.say.strip(), "explanation": explanation.strip(), "wish": draft.wish.strip()}
    return c.DraftCode(code=code, **words)


def _inapplicable(reply: CodeReply, current: str) -> str:
    return edited(current, reply.reply.edits)[1] if isinstance(reply.reply, EditsDraft) else ""
