"""How the planner of execution plans searches for tools: a limited number of times, and what it may call."""

from parley.reply import Kind
from services.planner.agentflow_prompt import MoreTools
from services.planner.execution_plan import MAX_PROPOSALS, MAX_SEARCHES, draft_steps
from services.planner.execution_plan_prompt import StepDraft, StepsDraft, StepsReply
from shared.domain.kernel import commands as c
from shared.llm import Prompt, ScriptedModel
from tests.support.work import work_context
from tests.unit.domain.spec import given, request
from tests.unit.test_tool_choice import Catalogue

PRINT = StepsDraft(goal="Print it", steps=[StepDraft(id="s1", tool="print", text="Print it", arguments={})])
FLY = StepsDraft(goal="Fly", steps=[StepDraft(id="s1", tool="fly", text="Fly", arguments={})])


async def drafted(*replies: Kind) -> tuple[c.DraftPlan | c.NoDraft | c.Fail, list[Prompt]]:
    model = ScriptedModel(*replies)
    session = given(request("execution_plan", "pay")).session
    context = work_context("planner", session, model)
    return await draft_steps(context, Catalogue()), model.prompts


def may_search(prompt: Prompt) -> bool:
    assert issubclass(prompt.reply, StepsReply)
    return MoreTools in prompt.reply.kinds()


async def test_a_step_may_use_a_tool_that_was_only_named() -> None:
    command, prompts = await drafted(PRINT)
    assert isinstance(command, c.DraftPlan)
    assert len(prompts) == 1


async def test_the_model_may_search_a_limited_number_of_times_and_hears_what_was_wrong() -> None:
    search = MoreTools(words="count it")
    command, prompts = await drafted(FLY, *[search] * MAX_SEARCHES, *[FLY] * (MAX_PROPOSALS - 1))
    assert [may_search(prompt) for prompt in prompts] == [True] * (1 + MAX_SEARCHES) + [False] * (MAX_PROPOSALS - 1)
    (problems,) = prompts[2].sections("problems")
    assert "there is no tool “fly” here" in problems
    assert "<found_tools> has what fits “count it”" in problems
    assert isinstance(command, c.Fail)
    assert "found_tools" not in command.reason, "what is told to the model only"
