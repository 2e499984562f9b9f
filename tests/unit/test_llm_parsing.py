"""Which object of a model's text is taken: thoughts, drafts, envelopes, cut replies, and texts built to take long."""

import asyncio
import json
import time
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from parley.reply import Kind, Reply
from shared.llm.completion import ErrorAnswer, PartialReply
from shared.llm.faults import InvalidReply, TransientFault
from shared.llm.parsing import REPAIR_LIMIT, parse_reply, read_reply
from shared.llm.text_objects import partial_object, without_thoughts
from tests.support.cpu_time import takes_at_most


class Plan(Kind):
    kind: Literal["plan"] = "plan"
    goal: str
    steps: list[str]


class PlanReply(Reply):
    reply: Plan


def plan(goal: str, *steps: str) -> str:
    return json.dumps({"reply": {"kind": "plan", "goal": goal, "steps": steps or ["Boil water"]}}, ensure_ascii=False)


RIGHT, WRONG = plan("Right"), plan("Wrong")
FENCE = "```"
THOUGHTS = {
    "a pair": f"<think>Perhaps {WRONG}</think>{RIGHT}",
    "a closing tag alone": f"Perhaps {WRONG}, but better:</think>{RIGHT}",
    "braces before a closing tag": f'Maybe {{"a": 1}}?</think>{RIGHT}',
    "nested": f"<think>a <think>b</think> Perhaps {WRONG}</think>{RIGHT}",
    "opened twice": f"<think>\n<think>{WRONG}</think>{RIGHT}",
    "capitals": f"<THINK>{WRONG}</THINK>{RIGHT}",
    "an attribute": f"<think lang='en'>{WRONG}</think>{RIGHT}",
    "thinking": f"<thinking>{WRONG}</thinking>{RIGHT}",
    "reasoning": f"<reasoning>{WRONG}</reasoning>{RIGHT}",
    "reflection": f"<reflection>{WRONG}</reflection><answer>{RIGHT}</answer>",
    "a namespace": f"<seed:think>{WRONG}</seed:think>{RIGHT}",
    "square brackets": f"[THINK]{WRONG}[/THINK]{RIGHT}",
    "triangles": f"◁think▷{WRONG}◁/think▷{RIGHT}",
    "special tokens": f"<|START_THINKING|>{WRONG}<|END_THINKING|><|START_RESPONSE|>{RIGHT}<|END_RESPONSE|>",
    "a thought channel": f"<|channel>thought\n{WRONG}<channel|>{RIGHT}",
    "harmony": f"<|channel|>analysis<|message|>{WRONG}<|end|><|start|>assistant<|channel|>final<|message|>{RIGHT}",
    "harmony without its tokens": f"analysisPerhaps {WRONG}assistantfinal{RIGHT}",
    "a harmony preamble": f"<|channel|>commentary<|message|>{WRONG}<|end|><|channel|>final<|message|>{RIGHT}",
    "a closing tag too much": f"<think>hm</think>\n{RIGHT}\n</think>",
    "a closing tag too much after a fence": f"Perhaps {WRONG}</think>\n{FENCE}json\n{RIGHT}\n{FENCE}\n</think>\n",
    "a harmony recipient in the role": f"<|channel|>analysis<|message|>{WRONG}<|end|><|start|>assistant "
    f"to=functions.Reply<|channel|>commentary json<|message|>{RIGHT}<|call|>",
    "a harmony recipient in the channel": f"<|channel|>analysis<|message|>{WRONG}<|end|><|start|>assistant"
    f"<|channel|>analysis to=functions.Reply <|constrain|>json<|message|>{RIGHT}<|call|>",
    "after the answer": f"{RIGHT}<think>Is {WRONG} better? No.</think>",
    "an unfinished draft": f'Perhaps {{"reply": {{"goal": "half </think>{RIGHT}',
    "a closing tag within a draft": f"<think>{plan('Wrong </think> x')} hm</think>{RIGHT}",
    "tags in the sentence before": f"I cut from <think> to </think>.\n{RIGHT}",
    "an opening tag in the sentence before": f"I remove the <think> tag.\n{RIGHT}",
    "tags in the sentence after": f"{RIGHT}\nThis strips `<think>` and `</think>`.",
}
OTHER_BRACES = {
    "a set": f"Using the set {{a, b}}:\n{FENCE}json\n{RIGHT}\n{FENCE}",
    "a fence of bash": f"{FENCE}bash\necho {{}}\n{FENCE}\n{FENCE}json\n{RIGHT}\n{FENCE}\n",
    "a fence of JavaScript": f'{FENCE}js\nif (x) {{ const o = {{"a": 1, b}} }}\n{FENCE}\n{RIGHT}',
    "an open brace of prose": f"if (x) {{ {RIGHT}",
    "an example before": f'A reply looks like {{"kind": "plan"}}. Here it is:\n{RIGHT}',
    "an example after": f'{RIGHT}\nIt looks like {{"kind": "plan"}}.',
    "quoted words": f'With the keys {{"a", "b"}}:\n{RIGHT}',
    "a Python dict": f"config = {{'x': 1}}\n{RIGHT}",
    "the schema": f"{json.dumps(PlanReply.model_json_schema())}\n{RIGHT}",
    "a corrected reply": f"First: {WRONG}\nBetter: {RIGHT}",
    "a list around it": f"[{RIGHT}]",
    "a JSON string": json.dumps(RIGHT),
    "a JSON string in a fence": f"{FENCE}json\n{json.dumps(RIGHT)}\n{FENCE}",
    "a tool call": f'<tool_call>{{"name": "PlanReply", "arguments": {RIGHT}}}</tool_call>',
    "a tool call with a text": f'{{"name": "PlanReply", "parameters": {json.dumps(RIGHT)}}}',
    "tool calls": json.dumps({"tool_calls": [{"type": "function", "function": {"name": "x", "arguments": RIGHT}}]}),
    "a draft and a final one": json.dumps({"draft": json.loads(WRONG), "final": json.loads(RIGHT)}),
    "a key beside it": json.dumps({"thoughts": "short", **json.loads(RIGHT)}),
    "no wrapper": json.dumps(json.loads(RIGHT)["reply"]),
}
MALFORMED = {
    "single quotes": str(json.loads(RIGHT)),
    "trailing commas": '{"reply": {"kind": "plan", "goal": "Right", "steps": ["Boil water",],},}',
    "a missing comma": '{"reply": {"kind": "plan" "goal": "Right", "steps": ["Boil water"]}}',
    "comments": '{ // it\'s\n"reply": {"kind": "plan", "goal": "Right", /* a } */ "steps": ["Boil water"]}}',
}


LOSSLESS = {  # the source of the goal, and the goal
    '"say "hi" now"': 'say "hi" now',
    '"print("done")"': 'print("done")',
    r'"C:\Program Files\New",': r"C:\Program Files\New",
    '"print("a", "b")", "count": 5,': 'print("a", "b")',
    '"if x == "a" or y: "': 'if x == "a" or y: ',
    r'"re: \d+\.\w"': r"re: \d+\.\w",
    '"x = {"a": {"b": "c"}}\nprint(x)"': 'x = {"a": {"b": "c"}}\nprint(x)',
    r'"caf\u00e9 \ud83d\ude00 \"x\"",': 'café 🚀 "x"'.replace("🚀", "\U0001f600"),
    '"see http://x.y", // "no" text\n # it\'s none either\n': "see http://x.y",
    "'it\\'s', 'note': None, 'price': 12.50, 'ok': True": "it's",
    "'say \"x\"'": 'say "x"',
    '"two\nlines",': "two\nlines",
}
LOSSY = [
    '"print(f"{x}")\nprint("done")"',
    '"use "{x}" here"',
    '"""ok"""',
    '"x: "y", z: "w""',
    '"use x: "y", z: "w" ok"',
    '"print("")"',
    '"f = {"}"',
    'say("}")',
    r'"re.sub("\d", "", x)"',
    '"x", "steps": ["print("")"]',
    '"x", "steps": ["print(" ")"]',
    '"x", "steps": ["print("a")", "print("b")"],,',
    '" "tool": null,\n "arguments": null"',
    '"request = {"subject": inbox, "size": 5}"',
    '"x", "steps": ["part = ""\n  else:\n    x", "c"]',
    "`x = 1`",
    r'"Open C:\Users\bob"',
    r'"Open C:\users\tom"',
    r'"re.findall(\b\d+)"',
    r'"two lines\n",',
    '"two lines\n",',
    '"x", "goal": "y",',
    '"x", "rows": [1, 2, ...]',
    '007, "b": "c",',
    '"copy } all", "note": "say "} now"',
]


class Goal(BaseModel):
    """A reply that ignores other names, where a part of a text might go."""

    goal: str
    steps: list[str] = []
    note: str | None = None
    price: float = 0
    count: int = 0
    ok: bool = False


@pytest.mark.parametrize("source", LOSSLESS)
def test_malformed_json_is_repaired_where_no_text_is_lost(source: str) -> None:
    assert parse_reply(f'{{"goal": {source}}}', Goal).goal == LOSSLESS[source]


@pytest.mark.parametrize("source", LOSSY)
@pytest.mark.parametrize("before", ["", '{"goal": "Wrong"}\nBetter:\n'])
def test_malformed_json_is_refused_where_text_would_be_lost(source: str, before: str) -> None:
    with pytest.raises(InvalidReply, match=r"broken|Extra inputs"):
        parse_reply(f'{before}{{"goal": {source}}}', Goal)


@pytest.mark.parametrize("goal", ['write "} and go', 'write "} and go", "note": "x', 'write "} else {" there'])
@pytest.mark.parametrize("end", ['"}', '", "count": 5}', f'"}}\n{FENCE}\n'])
def test_an_object_that_is_closed_within_a_text_is_refused(goal: str, end: str) -> None:
    with pytest.raises(InvalidReply, match=r"broken|goal: Field required"):
        parse_reply(f'{{"goal": "{goal}{end}', Goal)


@pytest.mark.parametrize("wrapped", ["%s", "[%s]", "Perhaps %s</think>{}", "%s,", "<think>%s"])
def test_a_number_of_thousands_of_digits_is_no_error_of_ours(wrapped: str) -> None:
    text = wrapped % f'{{"reply": {"7" * 5_000}}}'
    with pytest.raises(InvalidReply):
        parse_reply(text, PlanReply)
    assert "7" not in str(partial_object(text))
    assert isinstance(without_thoughts(text), str)


@pytest.mark.parametrize("text", [*THOUGHTS.values(), *OTHER_BRACES.values(), *MALFORMED.values()])
def test_the_object_of_the_answer_is_taken(text: str) -> None:
    assert parse_reply(text, PlanReply).reply == Plan(goal="Right", steps=["Boil water"])


@pytest.mark.parametrize("text", [*THOUGHTS.values(), *OTHER_BRACES.values()])
def test_the_partial_object_is_never_a_draft_after_the_answer_has_begun(text: str) -> None:
    whole = partial_object(text, ["reply"])
    assert whole is None or whole["reply"] == json.loads(RIGHT)["reply"]
    for end in range(len(text) - len(RIGHT) + 20, len(text), 7):
        assert "Wrong" not in str(partial_object(text[:end], ["reply"])) or text.index("Wrong") > text.index("Right")


@pytest.mark.parametrize(
    "text",
    [
        "Strip <think> tags",
        "Remove <think>…</think> blocks",
        "re.sub(r'<think>.*?</think>', '', text)",
        "LIKE '%<think>%' AND text LIKE '%</think>%'",
        "[THINK] and </thinking> and <|channel|>final<|message|>",
        'a "quoted" </think> and {braces}',
    ],
)
def test_a_tag_in_a_text_of_the_answer_is_content(text: str) -> None:
    for reply in (plan(text, text), f"<think>well, {text!r}</think>{plan(text, text)}"):
        assert parse_reply(reply, PlanReply).reply == Plan(goal=text, steps=[text])
    begun = plan(text, text)[: -len(text) - 5]
    partial = partial_object(begun)
    assert partial is not None
    assert partial["reply"]["goal"] == text


@pytest.mark.parametrize(
    "text",
    [
        RIGHT[:-1],
        RIGHT[:-2] + "}",
        '{"reply": {"kind": "plan", "goal": "x", "steps": ["copy all of them", "delete {x}',
        '{"reply": {"kind": "plan", "goal": "x", "steps": ["if (a) { b } else { c }}}',
        '{"reply": {"kind": "plan", "goal": "x", "steps": ["say \\"hi\\" {x}}}',
        '{"reply": {"kind": "plan", "goal": "x", "steps": ["a"}}',
        "{'reply': {'kind': 'plan', 'goal': 'x', 'steps': ['copy', 'delete {x}",
        "{'reply': {'kind': 'plan', 'goal': 'x', 'steps': ['copy', 'delete x}]}}",
        f"{FENCE}json\n{RIGHT[:-3]}\n{FENCE}",
        f"{WRONG}\nBetter: {RIGHT[:-2]}",
        '{"reply": {"kind": "plan", "goal": "x", "steps": [], "of": {"kind": "plan", "goal": "y", "steps": []}',
    ],
)
def test_an_unfinished_object_is_never_completed(text: str) -> None:
    with pytest.raises(InvalidReply, match="ends in the middle") as refused:
        parse_reply(text, PlanReply)
    assert refused.value.unfinished
    assert not refused.value.no_object


@given(st.text("{}[]\"'\\:,a </>think`\n"), st.text("{}[]\"'\\:,a </>think`\n"), st.data())
def test_no_prefix_of_a_reply_is_taken(goal: str, step: str, data: st.DataObject) -> None:
    text = plan(goal, step)
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(InvalidReply):
        parse_reply(text[:cut], PlanReply)
    assert parse_reply(text, PlanReply).reply == Plan(goal=goal, steps=[step])


@given(st.text("{}[]\"'\\:,a1 </>think|`\n\ud83d\ude80"))
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert partial_object(text) is None or isinstance(partial_object(text), dict)
    with pytest.raises(InvalidReply):
        parse_reply(text, PlanReply)


def test_a_later_reply_that_does_not_fit_is_not_passed_over_for_a_draft() -> None:
    with pytest.raises(InvalidReply, match=r"reply\.goal"):
        parse_reply(f'{WRONG}\nBetter: {{"reply": {{"kind": "plan", "goal": 5, "steps": []}}}}', PlanReply)


QUOTES = '"a"b"' * 10_000
HOSTILE = [
    "{",
    '{"',
    '{"a":',
    '{"a":[',
    '{"a":1}',
    "{'a'",
    '{"x}',
    '{"<think>',
    "<",
    "<think></think>",
    "{'a':'b' 'c'}",
    "/*",
    "//",
    "to=a",
]


@pytest.mark.parametrize("piece", [*HOSTILE, '{"a":"', "<|channel|>final ", '\\"', "</think>{'a': '"])
def test_a_text_built_to_take_long_is_refused_soon(piece: str) -> None:
    """At the limit of a reply's size it takes up to two seconds on a loaded machine; without bounds, hours."""
    text = '{"a" ' + piece * (1_000_000 // len(piece))

    def read() -> None:
        with pytest.raises(InvalidReply):
            parse_reply(text, PlanReply)
        partial_object(text)

    assert takes_at_most(20, read)


async def test_a_repair_that_takes_long_is_ended_and_does_not_block_the_event_loop() -> None:
    """The repair of this text would take a minute."""
    reading = asyncio.create_task(asyncio.to_thread(parse_reply, f'{{"goal": "x", "steps": [{QUOTES}]}}', Goal))
    began, longest = time.monotonic(), 0.0
    while not reading.done():
        before = time.monotonic()
        await asyncio.sleep(0.01)
        longest = max(longest, time.monotonic() - before)
    with pytest.raises(InvalidReply, match="broken"):
        await reading
    assert longest < REPAIR_LIMIT
    assert time.monotonic() - began < 3 * REPAIR_LIMIT


def draft(finish: Any = "stop", *, ended: bool = True, **message: Any) -> PartialReply:
    reply = PartialReply()
    reply.take({"choices": [{"index": 0, "delta": message, "finish_reason": finish}]})
    reply.stream_done = ended
    return reply


def call(arguments: object) -> list[dict[str, Any]]:
    return [{"index": 0, "id": "a", "function": {"name": "PlanReply", "arguments": arguments}}]


@pytest.mark.parametrize(
    "reply",
    [
        draft(reasoning_content=RIGHT),
        draft(reasoning=f"{FENCE}json\n{RIGHT}\n{FENCE}", content=""),
        draft(thinking=f"<think>\n{RIGHT}", content=None),
        draft(reasoning_content=f"Perhaps {WRONG}</think>{RIGHT}"),
        draft(content=f"<think>\n{RIGHT}"),
        draft(reasoning_content="Let me think.", content=f"{RIGHT}\n</think>"),
        draft(reasoning_content=WRONG, content=f"{RIGHT}\n</think>"),
        draft(reasoning_details=[{"type": "reasoning.text", "text": RIGHT}]),
        draft("tool_calls", tool_calls=call(RIGHT)),
        draft("tool_calls", tool_calls=call(json.loads(RIGHT)), content="I call it."),
        draft("tool_calls", tool_calls=[*call('{"sku": 1}'), *call(RIGHT)]),
        draft(None, function_call={"name": "PlanReply", "arguments": RIGHT}),
        draft("unknown_reason", content=RIGHT),
        draft(None, ended=False, content=f"{FENCE}\n{RIGHT}\n{FENCE}\n"),
        draft(None, content=f"{RIGHT} That is all."),
    ],
    ids=range(15),
)
def test_the_answer_may_stand_elsewhere_or_end_without_a_reason(reply: PartialReply) -> None:
    assert read_reply(reply, PlanReply).reply.goal == "Right"


@pytest.mark.parametrize(
    ("reply", "why", "no_object"),
    [
        (draft(content=""), "it is empty", True),
        (draft(reasoning_content=f"Perhaps {WRONG}"), "put into the thoughts", True),
        (draft(reasoning_content=WRONG, content="Yes."), "no JSON object", True),
        (draft(content=f"<think>Perhaps {WRONG}</think>"), "put into the thoughts", True),
        (draft(content=f"Perhaps {WRONG}</think>"), "put into the thoughts", True),
        (draft("tool_calls", tool_calls=call('{"sku": 1}')), r"tool call \(PlanReply\)", True),
        (draft(content='{"reply": 5}'), "reply", False),
        (draft(None, content="I cannot."), "no JSON object", True),
    ],
)
def test_a_reply_without_its_object_is_explained(reply: PartialReply, why: str, no_object: bool) -> None:
    with pytest.raises(InvalidReply, match=why) as refused:
        read_reply(reply, PlanReply)
    assert refused.value.no_object is no_object


@pytest.mark.parametrize(
    "thoughts",
    [
        "<longcat_think>%s</longcat_think>",
        "<ant-thinking>%s</ant-thinking>",
        "<unused94>thought\n%s<unused95>",
        "[unused16]%s[unused17]",
        "analysisWe draft %sassistantfinal",
    ],
)
def test_a_draft_is_not_taken_if_the_answer_is_a_question(thoughts: str) -> None:
    with pytest.raises(InvalidReply, match="no JSON object"):
        read_reply(draft(content=f"{thoughts % WRONG}Which tea?"), PlanReply)


def test_a_word_for_the_end_of_thoughts_in_a_sentence_is_content() -> None:
    assert parse_reply(f"{RIGHT}\nThis strips assistantfinal from texts.", PlanReply).reply.goal == "Right"


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ({"code": "x", "message": "busy"}, ErrorAnswer),
        ("Internal Server Error", ErrorAnswer),
        ({"id": "x", "usage": {"prompt_tokens": 2}}, InvalidReply),
        ({"type": "ping"}, InvalidReply),
    ],
)
def test_only_words_after_the_last_piece_are_an_error(last: object, expected: type[Exception]) -> None:
    reply = draft(None, content="I cannot.")
    reply.take(last)
    with pytest.raises(expected):
        read_reply(reply, PlanReply)
    reply.take({"choices": [{"index": 0, "delta": {"content": RIGHT}}]})
    assert read_reply(reply, PlanReply).reply.goal == "Right"


@pytest.mark.parametrize(
    "reply",
    [
        draft(None, content=RIGHT[:-1]),
        draft(None, ended=False, content="I think"),
        draft(None, ended=False, content=f"{WRONG} But better"),
        draft(None, ended=False, reasoning_content=RIGHT),
        draft(None, ended=False),
    ],
    ids=range(5),
)
def test_a_reply_that_stops_without_a_reason_is_cut_off(reply: PartialReply) -> None:
    with pytest.raises(TransientFault, match="cut off"):
        read_reply(reply, PlanReply)
