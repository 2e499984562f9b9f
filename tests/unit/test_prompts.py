"""Every prompt of the services, as a text in `prompts/`: what a model reads in a realistic session.

    WRITE_PROMPTS=1 pytest tests/unit/test_prompts.py     writes them anew: read the difference

A prompt's reply schema is in shared/contracts/model.json.
"""

import json
import os
import re
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from flows.loading import SHIPPED
from flows.text_to_sql.flow import TextToSql
from flows.yaml_flow import YamlFlow
from packs.retail.policy import RULES
from packs.retail.specs import SPECS
from packs.waiting.pack import PROMPT as WAITING_RULES
from parley.events.values import Recalled
from parley.flow import Flow
from parley.protocol.flows import FlowPage
from parley.protocol.tools import ToolPage
from scripts.gen_contract import CONTRACT, replies
from services.generator import agentflow as answers
from services.generator import conversation as programs
from services.planner import agentflow_prompt as turns
from services.planner import conversation as text_plans
from services.planner import execution_plan_prompt as execution_plans
from services.planner import flow_prompt as paths
from services.planner.tools import ToolChoice
from services.verifier import agentflow as turn_verdicts
from services.verifier import conversation as verdicts
from shared.domain.kernel.session import Session
from shared.llm import Message
from shared.llm.sections import capabilities, prompt
from shared.settings import Settings
from shared.story import StoryLine
from sql.database import ReadOnlyDatabase
from tests.support import prompt_sessions as sessions
from tests.support.flows import Walker
from tests.support.prompt_sections import sections_of
from tests.unit.domain.spec import given
from tests.unit.test_flows_sql import opened, shop_file

PROMPTS = Path(__file__).with_name("prompts")
TASKS = json.loads(CONTRACT.read_text(encoding="utf-8"))
TRIAGE = YamlFlow(SHIPPED / "complaint_triage.yaml")
TOOLS = tuple(spec for spec in SPECS if re.search("email|get_order|cancel", spec.name))
MORE_TOOLS = ("get_order_details", "find_user_id_by_name_zip", "calculate")
RECALLED = Recalled(session_id="s0", request="Cancel one item", outcome="answered: no", lesson="offer an exchange")


PLANNING_AND_WRITING = {"text_plan", "code", "turn", "execution_plan", "path", "answer"}


def session(lines: Sequence[StoryLine]) -> Session:
    return given(*lines).session


def planning_prompts(settings: Settings) -> dict[str, list[Message]]:
    turn_tools = ToolChoice(ToolPage(tools=TOOLS[:2], total=40, others=MORE_TOOLS, rules=RULES[:4]), found=TOOLS[2:])
    plan_tools = ToolChoice(ToolPage(tools=TOOLS, total=len(TOOLS), rules=(WAITING_RULES,)))
    flows = FlowPage(flows=(sql_flow().spec(), TRIAGE.spec()), states={"text_to_sql": sessions.SQL_STATE})
    return {
        "text_plan": text_plans.build_prompt(session(sessions.JUDGED), settings),
        "code": programs.build_prompt(session(sessions.REPAIRED), settings),
        "turn": turns.build_prompt(session(sessions.DECLINED), settings, turn_tools, recalled=(RECALLED,)),
        "execution_plan": execution_plans.build_prompt(session(sessions.PLAN_RUNS), settings, plan_tools),
        "path": paths.build_prompt(session(sessions.ASKED_AGAIN), settings, flows, ()),
        "answer": answers.build_answer_prompt(session(sessions.ANSWERED), settings, RULES[:4]),
    }


def other_prompts() -> dict[str, list[Message]]:
    cancelled = session(sessions.CANCELLED)
    assert cancelled.turn
    return {
        "tests": verdicts.build_tests_prompt(session(sessions.CODED)),
        "verdict": verdicts.build_verdict_prompt(session(sessions.RUN)),
        "turn_verdict": turn_verdicts.build_turn_prompt(cancelled, cancelled.turn),
        "task": answers.build_task_prompt(session(sessions.TASK)),
    }


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[ReadOnlyDatabase]:
    shop = opened(shop_file(tmp_path))
    yield shop
    await shop.aclose()


def sql_flow(database: ReadOnlyDatabase | None = None) -> TextToSql:
    async def opens() -> ReadOnlyDatabase:
        assert database
        return database

    async def hints(user: str, question: str) -> list[tuple[str, str]]:
        return [("How many orders are there?", "SELECT count(*) FROM orders")]

    return TextToSql(opens, hints)


async def node_prompt(flow: Flow, task: str) -> list[Message]:
    state, reply = sessions.NODES[task]
    walker = Walker(flow, reply)
    await walker.run(task.rpartition(".")[2], state)
    [asked] = walker.prompts
    return prompt("executor", asked.task, asked.rules, asked.sections, zone="Europe/Berlin")


def written(messages: list[Message]) -> str:
    """The prompt as a text, with a day and a version of Python that do not change."""
    texts = [f"=== {message['role']} ===\n{message['content']}" for message in messages]
    day = "Today is 2030-01-01. It is Tuesday, 13:00 in the time zone Europe/Berlin, at UTC+01:00."
    text = re.sub(r"Today is [-\d]{10}\. It is .*? UTC[+-]\d\d:\d\d\.", day, "\n\n".join(texts))
    return re.sub(r"Python 3\.\d+", "Python 3.13", text) + "\n"


def check(task: str, messages: list[Message]) -> None:
    path, text = PROMPTS / f"{task}.txt", written(messages)
    if "WRITE_PROMPTS" in os.environ:
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, "read the change; write it with WRITE_PROMPTS=1"


def test_every_example_in_a_prompt_is_a_reply_that_is_accepted() -> None:
    examples = {
        path.stem: line
        for path in PROMPTS.glob("*.txt")
        for line in re.findall(r"^A good reply: (.*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert examples.keys() == {task for task in TASKS if "." not in task}
    for task, example in examples.items():
        replies()[task].model_validate_json(example)


async def test_the_prompts_are_those_that_were_read(database: ReadOnlyDatabase) -> None:
    sql = sql_flow(database)
    nodes = {node: await node_prompt(TRIAGE if "." in node else sql, node) for node in sessions.NODES}
    prompts = planning_prompts(Settings()) | other_prompts() | nodes
    assert prompts.keys() == TASKS.keys()
    for task, messages in prompts.items():
        check(task, messages)
    told = {task: sections_of(messages[0]["content"]).get("capabilities") for task, messages in prompts.items()}
    assert {task for task, text in told.items() if text == capabilities(Settings())} == PLANNING_AND_WRITING
    assert {task for task, text in told.items() if text} == PLANNING_AND_WRITING
