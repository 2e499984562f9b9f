"""The reply to a request that the rehearsal model does not know: a question whose options are examples that work."""

from typing import Any

from rehearsal.examples import EXAMPLES, Workflow
from rehearsal.prompt import ParsedPrompt
from rehearsal.replies import question

DEMO_MODEL = "I’m the demo model and know only a few examples"
CONNECT = "Connect a language model for anything else."


def refuse(workflow: Workflow, request: str, prompt: ParsedPrompt) -> dict[str, Any]:
    """The question for a request that is not known in this workflow.

    If an earlier answer was not known either, the question says so, because no question is repeated.
    """
    again = any(DEMO_MODEL in asked for asked, _ in prompt.dialogue())
    begin = f"I do not know “{request[:80]}” either. " if again else ""
    return question(f"{begin}{DEMO_MODEL}, such as these. {CONNECT}", EXAMPLES[workflow])


def effective_request(prompt: ParsedPrompt) -> str:
    """What to act on: the answer to the newest refusal, which replaces the request; without a refusal, the request."""
    answers = [answer for asked, answer in prompt.dialogue() if answer and DEMO_MODEL in asked]
    return answers[-1] if answers else prompt["request"]
