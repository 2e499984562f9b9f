"""What the model says to a request beyond its rules: a question, with three examples that work as its options."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from rehearsal.prompt import Prompt

type Workflow = Literal["conversation", "agentflow", "flow"]

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
    "flow": (
        "How many orders are pending?",
        "Show the number of orders by status",
        "Which 5 states have the most pending orders?",
    ),
}
KNOWS: dict[Workflow, str] = {
    "conversation": "know fifteen small programs, such as these.",
    "agentflow": "serve customers of the sample store, with requests such as these.",
    "flow": "answer plain questions about the data, such as these.",
}
ELSEWHERE: dict[Workflow, str] = {
    "conversation": "This is about a program: choose “Plan and code” for it.",
    "agentflow": "This is about the store: choose “Act with tools” for it.",
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


def ask(question: str, examples: Sequence[str]) -> dict[str, Any]:
    """A reply of the planner that asks this, with the examples as options to choose from."""
    return {"question": question, "options": list(examples)}


def refuse(workflow: Workflow, request: str) -> dict[str, Any]:
    """The question for a request beyond the rules of this workflow; it names the workflow that the request is for."""
    elsewhere = workflow_of(request)
    if elsewhere and elsewhere != workflow:
        return ask(f"{ELSEWHERE[elsewhere]} {DEMO_MODEL}{KNOWS[workflow]}", EXAMPLES[workflow])
    return ask(f"{DEMO_MODEL}{KNOWS[workflow]} {CONNECT}", EXAMPLES[workflow])


def workflow_of(request: str) -> Workflow | None:
    """The workflow that the request is plainly for."""
    return next((workflow for workflow, topic in TOPICS.items() if topic.search(request)), None)


def effective_request(prompt: Prompt) -> str:
    """The words to act on: the answer to the newest refusal, which takes the place of the request; else the request."""
    if DEMO_MODEL in prompt["question"]:
        return (prompt["feedback"].splitlines() or [prompt["request"]])[-1]
    answers = [answer for question, answer in prompt.dialogue() if answer and DEMO_MODEL in question]
    return answers[-1] if answers else prompt["request"]
