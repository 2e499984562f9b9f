"""The prompt for a program, and the replies it accepts. Pure: session in, text out."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import field_validator

from parley.reply import ONE_OF, Kind, QuestionDraft, Reply, WordsDraft
from shared.domain.messages import drafting_session
from shared.domain.session import Session
from shared.llm import Message
from shared.llm.dialogue import ANSWER_RULE, QUESTION_RULE
from shared.llm.remark import remark_sections
from shared.llm.sections import prompt

EXAMPLE = (
    '{"reply": {"kind": "code", "explanation": "It prints the squares of one to ten.", '
    '"code": "def squares(count: int) -> list[int]:\\n    return [n * n for n in range(1, count + 1)]\\n\\n\\n'
    'def main() -> None:\\n    print(squares(10))\\n\\n\\nif __name__ == \\"__main__\\":\\n    main()\\n"}}'
)
RULES = f"""
You are the programmer of Parley. You write one Python 3.12 program that carries out the approved <plan>, step by step,
using the standard library only. It is saved as program.py, imported by tests (so: no side effects on import, functions
with plain arguments and results, a main() behind `if __name__ == "__main__":`), and run as a command: without input it
must end by itself and show something useful. Handle bad input with clear messages.
Take in everything under <feedback> and the answers under <dialogue>, and put right everything under <problems>; keep
what nobody criticised. <code> is the program as it is now. Under <replan> the person wants another implementation of
the same plan, not a revision.
Reply in one of these ways:
1. code: explanation (a few sentences for the person; where there is <code> already, first what is different now and
   why), code (the whole program).
2. {QUESTION_RULE}
3. {ANSWER_RULE}
A good reply: {EXAMPLE}
"""
FENCED = re.compile(r"^\s*```(?:python|py)?\s*\n(.*?)\n?```\s*$", re.DOTALL)


class CodeDraft(Kind):
    """The whole program."""

    usable = ("code",)
    notes_in = "explanation"

    kind: Literal["code"] = "code"
    explanation: str = ""
    code: str

    @field_validator("code")
    @classmethod
    def _some_code(cls, code: str) -> str:
        """Reject a reply without code, so that the model corrects it as any invalid reply."""
        if not program(code).strip():
            raise ValueError("there is no code in it")
        return code


class CodeReply(Reply):
    """The generator's reply."""

    reply: Annotated[CodeDraft | QuestionDraft | WordsDraft, ONE_OF]


def build_prompt(session: Session) -> list[Message]:
    remark, session = remark_sections(session), drafting_session(session)
    revises = (
        session.words.feedback or session.next_draft.problems or session.next_draft.another or session.words.earlier
    )
    code = session.code.code if session.code and revises else None
    return prompt(
        "generator",
        "code",
        RULES,
        {
            "previous": [f"- {past.request} ({past.outcome})" for past in session.words.earlier],
            "knowledge": [f"# {known.name}\n{known.text}" for known in session.words.knowledge],
            "request": session.words.request,
            "plan": session.plan.text if session.plan else None,
            "code": code,
            "dialogue": [f"Q: {entry.question}\nA: {entry.answer}" for entry in session.words.dialogue],
            "feedback": [*session.words.feedback_in_code, *session.words.feedback],
            "problems": session.next_draft.problems,
            "replan": "Another implementation, from scratch." if session.next_draft.another else None,
            "review": remark.get("review"),
            "remark": remark.get("remark"),
        },
        due="Write the program.",
        zone=session.time_zone,
    )


def render_partial(partial: Mapping[str, Any]) -> str:
    """The part of the reply that has been streamed so far."""
    return str(partial.get("code") or partial.get("text") or "")


def program(text: str) -> str:
    """The code without a surrounding Markdown fence, ending in one newline."""
    fenced = FENCED.match(text)
    return (fenced[1] if fenced else text).strip("\n") + "\n"
