"""The tools of a request are chosen once; those found later are shown after the conversation."""

from parley.protocol.tools import CheckCalls, ToolPage, ToolSpec
from parley.reply import Kind
from services.planner.agentflow import plan_turn
from services.planner.agentflow_prompt import NothingToDo, Planned, TurnDraft
from services.planner.tools import choose
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.llm import Prompt, ScriptedModel
from tests.support.work import work_context
from tests.unit.domain.spec import StoryLine, act, done, given, request, say, turn, verdict

WORDS = ("pay", "ship", "mail", "print", "count")
TOOLS = {
    name: ToolSpec(name=name, description=f"To {name} it", parameters={"type": "object"}, effect="read")
    for name in WORDS
}


class Catalogue:
    """Lists the tools whose name is among the words; with `few` tools all of them. Finds those, and those in use."""

    def __init__(self, *, few: bool = False) -> None:
        self._few = few
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    async def listed(self, words: str, only: tuple[str, ...] = ()) -> ToolPage:
        return await self.search(words, (), only)

    async def search(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage:
        self.asked.append((words, used))
        allowed = [name for name in TOOLS if not only or name in only]
        found = [name for name in allowed if self._few or name in words or name in used]
        others = tuple(name for name in allowed if name not in found)
        rules = tuple(f"Rule of {name}." for name in found)
        return ToolPage(tools=tuple(TOOLS[name] for name in found), total=len(allowed), others=others, rules=rules)

    async def check(self, ask: CheckCalls) -> tuple[str, ...]:
        return ()


def names(tools: tuple[ToolSpec, ...]) -> list[str]:
    return [spec.name for spec in tools]


async def test_the_request_alone_chooses_the_page() -> None:
    catalogue = Catalogue()
    first = await choose(catalogue, "pay and ship", "")
    later = await choose(catalogue, "pay and ship", "then print it", ("mail", "pay"))
    assert names(first.page.tools) == names(later.page.tools) == ["pay", "ship"]
    assert (names(first.found), names(later.found)) == ([], ["mail", "print"])
    assert names(later.all_tools.tools) == ["pay", "ship", "mail", "print"]
    assert later.page.others == ("mail", "print", "count")
    assert (later.page.rules, later.found_rules) == (
        ("Rule of pay.", "Rule of ship."),
        ("Rule of mail.", "Rule of print."),
    ), "no rule is shown twice"


async def test_no_tool_is_shown_twice_however_often_it_is_found() -> None:
    choice = await choose(Catalogue(), "pay", "ship", ("pay", "ship"))
    again = await choice.with_matching(Catalogue(), "ship and count", ("pay", "ship"))
    assert names(again.all_tools.tools) == ["pay", "ship", "count"]
    assert again.page == choice.page, "a search never changes the beginning of the prompt"


async def test_a_tool_that_was_only_named_can_be_called() -> None:
    catalogue = Catalogue()
    choice = await choose(catalogue, "pay", "")
    assert await choice.with_named(catalogue, ("pay", "unheard")) is choice
    named = await choice.with_named(catalogue, ("pay", "print", "print", "unheard"))
    assert (names(named.found), catalogue.asked[1:]) == (["print"], [("", ("print",))])
    mail = TurnDraft(sub_goal="mail it", actions=[Planned(tool="mail", arguments={})])
    assert len(await prompts(*BEGUN, replies=(mail,))) == 1, "it is accepted at once"


async def test_a_short_list_is_shown_whole_and_searched_once() -> None:
    catalogue = Catalogue(few=True)
    choice = await choose(catalogue, "pay", "print it", ("mail",))
    assert (names(choice.page.tools), choice.found, choice.page.others) == (list(WORDS), (), ())
    assert len(catalogue.asked) == 1


async def test_only_allowed_tools_are_chosen() -> None:
    choice = await choose(Catalogue(), "pay and ship", "print and count", (), ("pay", "print"))
    assert (names(choice.page.tools), names(choice.found), choice.page.others) == (["pay"], ["print"], ("print",))


# --- the prompts of a request


async def prompts(*lines: StoryLine, replies: tuple[Kind, ...] = (NothingToDo(reason="done"),)) -> list[Prompt]:
    """What the planner asks the model in this session."""
    model = ScriptedModel(*replies)
    context = work_context("planner", given(*lines).session, model)
    await plan_turn(context, Catalogue(), no_memories)
    return model.prompts


async def no_memories(_: Session) -> tuple[()]:
    return ()


BEGUN = (request("agentflow", "pay and ship"),)
RAN = (turn(act("1.1", tool="mail")), c.Start(), done(), verdict("continue"))


async def test_all_prompts_of_a_request_begin_with_the_same_tools() -> None:
    (first,) = await prompts(*BEGUN)
    (later,) = await prompts(*BEGUN, *RAN, say("and print it"))
    assert first.messages[0] == later.messages[0], "the system text with rules and tools"
    assert names_in(first.sections("tools")) == ["pay", "ship"]
    assert (names_in(first.sections("found_tools")), names_in(later.sections("found_tools"))) == ([], ["mail", "print"])
    assert later.text.index("and print it") < later.text.index("<found_tools-"), "after the conversation"


def names_in(sections: list[str]) -> list[str]:
    return [line.split()[0] for section in sections for line in section.splitlines()]
