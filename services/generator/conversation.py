"""The workflow `conversation`: write the program for the approved plan, ask, or answer a message."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints, field_validator

from parley.reply import (
    ONE_OF,
    AcceptedOffer,
    Kind,
    QuestionDraft,
    Reply,
    Text,
    WordsDraft,
    streamed_list,
    without_kinds,
)
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.plan.program_tests import failed_tests, is_disputable, unfenced
from shared.domain.transcript.messages import MAX_TEXT
from shared.llm import Message
from shared.llm.dialogue import (
    ANSWER_RULE,
    CONVERSATION,
    KINDS,
    OFFER_RULE,
    QUESTION_RULE,
    SAY,
    code_section,
    knowledge_section,
    plan_section,
    refuse_repeated,
    reply_for,
    request_section,
    to_command,
    waiting_sections,
)
from shared.llm.sections import capabilities, prompt
from shared.settings import Settings
from shared.worker import WorkContext

NOT_ONCE = (
    "Edit {number} cannot be applied: its find, which begins “{begin}”, occurs {times} times in the program, not once. "
    "Nothing was changed. Reply with the kind code and the whole program."
)
EXAMPLE = (
    '{"reply": {"kind": "code", "say": "", "explanation": "It prints the squares of one to ten.", "wish": "", '
    '"code": "def squares(count: int) -> list[int]:\\n    return [n * n for n in range(1, count + 1)]\\n\\n\\n'
    'def main() -> None:\\n    print(squares(10))\\n\\n\\nif __name__ == \\"__main__\\":\\n    main()\\n"}}'
)
RULES = f"""
You are the programmer of Parley. You write one Python program that carries out the approved <plan>, step by step, in
the version and within the limits that <capabilities> states. It is saved as program.py, imported by tests (so: no side
effects on import, functions with plain arguments and results, a main() behind `if __name__ == "__main__":`) and run as
a command: without input it must end by itself and show something useful. Handle bad input with clear messages.

{CONVERSATION}

<code> is the program as it is now. Write or edit it with all that was said since; fix what the last checks or the last
verdict found, and keep the rest as it is, lines that the person wrote above all, unless they ask otherwise.
<failing_tests> are those tests that failed, as a tester wrote them who knows the plan and the conversation, but not
your thoughts: mend the program, or say that a test is wrong. After "wants another one, from scratch" write another
implementation of the same plan. If the plan and what the person said contradict each other, their newest wish counts.

{KINDS}
1. code: say ({SAY}), explanation (a few sentences on how the program works), wish (what the person has asked for since
   that the <plan> does not say, in one line, or ""), code (the whole program).
2. test_wrong: a failed test asks for what neither the plan nor the person wants; the program stays as it is, and the
   test is written anew. reason: which test, and what is wrong with it; say as above.
3. edits: say, explanation ("" if it is as before) and wish as above, and edits (a list of {{find, replace}}, one after
   the other: find is copied exactly and stands only once in the program, so add lines around it as needed), if little
   of the <code> changes.
4. {QUESTION_RULE}
5. {ANSWER_RULE}
6. {OFFER_RULE}

A good reply: {EXAMPLE}
"""


class Replacement(BaseModel):
    """`find`, which stands in the program exactly once, becomes `replace`."""

    model_config = Kind.model_config

    find: Annotated[str, StringConstraints(min_length=1)]
    replace: str


class EditsDraft(Kind):
    """The program with some of its lines changed."""

    kind: Literal["edits"] = "edits"
    say: str = ""
    explanation: str = ""
    wish: str = ""
    edits: list[Replacement] = Field(min_length=1, max_length=100)


def edited(code: str, edits: Sequence[Replacement]) -> tuple[str, str]:
    """The program after the edits, one after the other; and why they cannot be applied exactly, "" if they can."""
    after = code
    for number, edit in enumerate(edits, 1):
        times = len(re.findall(f"(?={re.escape(edit.find)})", after))
        if times != 1:
            return code, NOT_ONCE.format(number=number, begin=edit.find[:80], times=times)
        after = after.replace(edit.find, edit.replace)
    if after == code or not after.strip():
        return code, "The edits change nothing." if after == code else "The edits leave no program."
    return after, ""


def render_edits(edits: Iterable[Any]) -> str:
    """The edits that have been streamed so far, as removed and added lines."""
    signs = {"find": "-", "replace": "+"}
    parts = ((edit.get(name), sign) for edit in edits if isinstance(edit, Mapping) for name, sign in signs.items())
    return "\n".join(f"{sign} {line}" for text, sign in parts if text for line in str(text).rstrip("\n").split("\n"))


class CodeDraft(Kind):
    """The whole program."""

    usable = ("code",)
    notes_in = "say"

    kind: Literal["code"] = "code"
    say: str = ""
    explanation: str = ""
    wish: str = ""
    code: str

    @field_validator("code")
    @classmethod
    def _some_code(cls, code: str) -> str:
        """Reject a reply without code, so that the model corrects it as any invalid reply."""
        if not unfenced(code).strip():
            raise ValueError("there is no code in it")
        return code


class WrongTest(Kind):
    """The program stays as it is: a test that failed is wrong."""

    kind: Literal["test_wrong"] = "test_wrong"
    say: str = ""
    reason: Text


class CodeReply(Reply):
    """The generator's reply."""

    reply: Annotated[CodeDraft | EditsDraft | WrongTest | QuestionDraft | WordsDraft | AcceptedOffer, ONE_OF]


def build_prompt(session: Session, settings: Settings) -> list[Message]:
    return prompt(
        "generator",
        "code",
        RULES,
        {
            "original_request": request_section(session),
            "plan": plan_section(session),
            "code": code_section(session),
            "failing_tests": failed_tests(session.code).values(),
            **waiting_sections(session),
        },
        system={"capabilities": capabilities(settings)},
        opening={"knowledge": knowledge_section(session)},
        transcript=session.transcript,
        due="Write the program, or answer the person.",
        zone=session.time_zone,
    )


def render_partial(partial: Mapping[str, Any]) -> str:
    """The part of the reply that has been streamed so far."""
    words = partial.get("code") or partial.get("text") or partial.get("reason")
    return str(words or render_edits(streamed_list(partial, "edits")))


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
