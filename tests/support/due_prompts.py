"""The prompts of the services that are due in a session, built as their handlers build them."""

from typing import NamedTuple

from parley.protocol.flows import FlowPage
from parley.protocol.tools import ToolPage
from services.generator import agentflow as answers
from services.generator import conversation as code
from services.planner import agentflow_prompt as turns
from services.planner import conversation as text_plans
from services.planner import execution_plan_prompt as execution_plans
from services.planner import flow_prompt as paths
from services.planner.tools import ToolChoice
from services.verifier import agentflow as turn_verdicts
from services.verifier import conversation as run_verdicts
from shared.domain.kernel.commands import Work
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.plan.approval import starts_by_setting
from shared.domain.transcript.compaction import within
from shared.domain.workflows import workflow_of_work
from shared.llm import Message
from shared.settings import Settings

NO_TOOLS, NO_FLOWS = ToolChoice(ToolPage(tools=(), total=0)), FlowPage(flows=())
SETTINGS = Settings()


class DuePrompt(NamedTuple):
    """The prompt of a service for a task. `session` has the part of the transcript that there was room for.

    `left_out`: that is not all of it.
    """

    task: str
    session: Session
    messages: list[Message]
    left_out: bool

    @property
    def is_blind(self) -> bool:
        """It is for the judge of a program, who does not know what its programmer said."""
        return self.task in ("tests", "verdict")


def due_prompt(session: Session, work: Work, limit: int) -> DuePrompt | None:
    """The prompt for this work with room for `limit` bytes of the transcript; None if the work asks no model."""
    told = replace(session, transcript=within(session.transcript, limit))
    messages = _messages(told, work)
    if messages is None:
        return None
    task = messages[0]["content"].split("\n")[1].removeprefix("Task: ")
    return DuePrompt(task, told, messages, told.transcript != session.transcript)


def _messages(session: Session, work: Work) -> list[Message] | None:  # noqa: C901  one line for each prompt
    turn = session.turn
    match work.service, session.workflow:
        case "planner", _ if starts_by_setting(session):
            return None
        case "planner", "conversation":
            return text_plans.build_prompt(session, SETTINGS)
        case "planner", "agentflow":
            return turns.build_prompt(session, SETTINGS, NO_TOOLS)
        case "planner", "execution_plan":
            return execution_plans.build_prompt(session, SETTINGS, NO_TOOLS)
        case "planner", "flow":
            return paths.build_prompt(session, SETTINGS, NO_FLOWS, ())
        case "generator", _ if session.phase == "coding" or work == session.reply:
            return code.build_prompt(session, SETTINGS)
        case "generator", _ if workflow_of_work(session).name == "agentflow":
            return answers.build_answer_prompt(session, SETTINGS)
        case "verifier", _ if turn is None:
            return run_verdicts.build_tests_prompt(session)
        case "verifier", _ if turn and turn.workflow == "conversation":
            return run_verdicts.build_verdict_prompt(session)
        case "verifier", _ if turn and turn.workflow == "agentflow":
            return turn_verdicts.build_turn_prompt(session, turn)
    return None
