"""The reply to a request that no rule covers: a question whose options are three examples that work."""

import re
from typing import Any, Literal

from rehearsal.prompt import ParsedPrompt
from rehearsal.replies import question

type Workflow = Literal["conversation", "agentflow", "flow", "execution_plan"]

DEMO_MODEL = "I’m the demo model: I follow rules and "
CONNECT = "Connect a language model for anything else."
EXAMPLES: dict[Workflow, tuple[str, ...]] = {
    "conversation": ("Write a simple calculator", "Write a to-do list", "Write FizzBuzz"),
    "agentflow": (
        "I am jude.mendes3817@example.com. What is in my order #W3997796, and where is it?",
        "I am jude.mendes3817@example.com. Please cancel order #W4260124, I no longer need it.",
        "I am jude.mendes3817@example.com. Please send order #W3990615 to 12 Harbor View, Seattle, WA 98101, USA"
        " instead.",
    ),
    "execution_plan": (
        "I am ada.stone8163@example.com. Look up orders #W2617455 and #W4753351, and cancel #W3458309.",
        "I am ada.stone8163@example.com. Cancel order #W6054154, I ordered it by mistake.",
        'Call calculate with {"expression": "2 * 3.5"}',
    ),
    "flow": (
        "How many orders are pending?",
        "Show the number of orders by status",
        "Which 5 states have the most pending orders?",
    ),
}
KNOWS: dict[Workflow, str] = {
    "conversation": "know twelve small programs, such as these.",
    "agentflow": "serve customers of the sample store, with requests such as these.",
    "execution_plan": "plan calls of tools, for requests such as these.",
    "flow": "answer plain questions about the data, such as these.",
}
CHOOSE: dict[Workflow, str] = {
    "conversation": "This is about a program: choose “Plan and code” for it.",
    "agentflow": "This is about the store: choose “Act with tools” for it.",
    "execution_plan": "This is about several calls: choose “Plan and act” for it.",
    "flow": "This is about the data: choose “Ask the data” for it.",
}
TOPICS: dict[Workflow, re.Pattern[str]] = {
    "agentflow": re.compile(
        r"#W\d+|\b(?:cancel|return|exchange|refund|track)\b.*\b(?:orders?|items?|parcel|package)\b"
        r"|\bmy (?:\w+ )?(?:orders?|address|payment method|gift card|refund)\b",
        re.IGNORECASE,
    ),
    "flow": re.compile(r"\b(?:how many|average|sql|select .+ from|(?:which|what) .*\b(?:most|least))\b", re.IGNORECASE),
    "conversation": re.compile(
        r"\b(?:write|build|create|code|program)\b.*\b(?:program|game|app|script|calculator|list)\b", re.IGNORECASE
    ),
}


def refuse(workflow: Workflow, request: str, prompt: ParsedPrompt) -> dict[str, Any]:
    """The question for a request that this workflow has no rules for. It names the workflow that fits, if any.

    If an earlier answer was not covered either, the question says so, because no question is repeated.
    """
    other = workflow_of(request)
    begin = (
        f"I do not know “{request[:80]}” either. "
        if any(DEMO_MODEL in asked_text for asked_text, _ in prompt.dialogue())
        else ""
    )
    if other and other != workflow:
        return question(f"{begin}{CHOOSE[other]} {DEMO_MODEL}{KNOWS[workflow]}", EXAMPLES[workflow])
    return question(f"{begin}{DEMO_MODEL}{KNOWS[workflow]} {CONNECT}", EXAMPLES[workflow])


def workflow_of(request: str) -> Workflow | None:
    """The workflow whose topic the request names; None if it names none."""
    return next((workflow for workflow, topic in TOPICS.items() if topic.search(request)), None)


def effective_request(prompt: ParsedPrompt) -> str:
    """What to act on: the answer to the newest refusal, which replaces the request; without a refusal, the request."""
    answers = [answer for question_text, answer in prompt.dialogue() if answer and DEMO_MODEL in question_text]
    return answers[-1] if answers else prompt["request"]
