"""What was said stands once in the next prompt of the service that is due, and prompts of a task begin alike.

Checked at every version of the recorded logs, of some recorded random sessions, and of random ones under today's rules.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice, pairwise

import pytest

from parley.events import SessionEvent, facts, parse_event
from parley.events.offers import OfferedCode, OfferedPlan, OfferedTurn
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.llm import Message
from shared.llm.sections import section
from tests.logs.random_sessions import play
from tests.logs.recorded import load, load_random, names
from tests.support.due_prompts import SETTINGS, DuePrompt, due_prompt

EVERY, NEW = 10, 80  # one recorded random session in twenty; this many new ones
TOKEN = 4  # bytes
LIMITS = (SETTINGS.model_transcript_limit * TOKEN, 700)  # bytes: the default, and so few that much is left out
AROUND = 120  # bytes of the tags around an entry, at most
# The artefacts at hand, what tools gave, and verdicts, which may quote what was said.
BODIES = re.compile(
    r"<((?:code|run|verdict|plan|actions|executed|state|sub_goals?)-[0-9a-f]{8})>\n.*?\n</\1>", re.DOTALL
)

SAID = ("say", "text", "goal", "notes", "explanation", "reasoning", "reason")  # fields of replies

type Log = tuple[SessionEvent, ...]
type Text = tuple[int, str, str]  # version, speaker, text


@cache
def logs() -> tuple[Log, ...]:
    recorded = [load(name) for name in names()] + list(islice(load_random(), 0, None, EVERY))
    old = [tuple(parse_event(message.data) for message in log.messages) for log in recorded]
    choice = random.Random(27)
    new = [tuple(events) for _ in range(NEW) for _, events in play(choice)]
    return (*old, *new)


def states(log: Log) -> Iterator[tuple[SessionEvent, Session, Session]]:
    """Each event, with the session before and after it."""
    session = Session(log[0].session_id)
    for event in log:
        before, session = session, evolve(session, event)
        yield event, before, session


def prompts(log: Log, limit: int) -> Iterator[tuple[DuePrompt, list[Text]]]:
    """The prompts of a log, with what was said before each."""
    told: list[Text] = []
    for event, before, after in states(log):
        speakers = carried(event) if isinstance(event, facts.SessionForked) else {event.actor: texts_of(before, event)}
        told += ((event.version, by, text) for by, texts in speakers.items() for text in texts if text)
        begun = [work for work in after.works if work.version == after.version]
        for prompt in (due_prompt(after, work, limit) for work in begun):
            if prompt:
                yield prompt, told


def texts_of(before: Session, event: SessionEvent) -> tuple[str, ...]:  # noqa: C901  one line for each event
    """What a person or a service says to the other with this event."""
    match event:
        case facts.MessageReceived() | facts.RemarkAnswered() | facts.AnswerGiven() | facts.QuestionAnswered():
            return (event.text,)
        case facts.ApprovalDenied():
            return (event.reason,)
        case facts.QuestionAsked(kind="request"):
            return (event.text,)
        case facts.OfferMade(draft=OfferedPlan() as draft):
            return event.say, draft.goal, draft.notes
        case facts.OfferMade(draft=OfferedCode() as draft):
            return event.say, draft.explanation
        case facts.OfferMade(draft=OfferedTurn() as draft):
            return event.say, draft.reasoning
        case facts.PlanDrafted() | facts.CodeDrafted() | facts.TurnPlanned() if _is_unseen(before, event):
            return ()
        case facts.PlanDrafted(path=None):
            return event.say, event.goal, event.notes
        case facts.CodeDrafted():
            return event.say, event.explanation
        case facts.TurnPlanned():
            handed_on = (str(spec.arguments["summary"]) for spec in event.actions if "summary" in spec.arguments)
            return event.say, event.reasoning, *handed_on
    return ()


def carried(event: facts.SessionForked) -> dict[str, list[str]]:
    """What was said in the parent, by speaker."""
    told: dict[str, list[str]] = {}
    for entry in event.carried.transcript:
        reply = json.loads(entry.text)["reply"] if entry.by in ("planner", "generator") else {}
        words = [entry.text] if entry.kind in ("request", "message", "answered") else []
        told.setdefault(entry.by, []).extend(words + [reply[name] for name in SAID if name in reply])
    return told


def _is_unseen(before: Session, event: facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned) -> bool:
    """Whether it is an offer that was told already, begins a plan, or was made without a newer message."""
    if event.offer or (isinstance(event, facts.TurnPlanned) and event.plan_version):
        return True
    work = before.reply or before.work
    return work is not None and any(message.version > work.version for message in before.words.unread)


def sentences(text: str) -> list[str]:
    """Its lines that have more than a word."""
    return [line.strip() for line in re.split(r'[\n"\\]+', text) if " " in line.strip()]


def occurrences(sentence: str, text: str) -> int:
    return len(re.findall(rf"(?<!\w){re.escape(sentence)}(?!\w)", text))


def conversation(prompt: DuePrompt) -> str:
    """What the messages say, without the bodies of plans, programs and runs, and replies without JSON's escapes."""
    text = "\n".join(message["content"] for message in prompt.messages[1:])
    return without_escapes(BODIES.sub("", text))


def without_escapes(text: str) -> str:
    """The text of a JSON object as it would be without the escapes in its texts."""
    return text.replace('\\"', '"').replace("\\n", "\n")


@pytest.mark.parametrize("limit", LIMITS)
def test_what_was_said_stands_once_in_the_prompt_of_the_service_that_is_due(limit: int) -> None:
    counted = Counter[str]()
    for prompt, told in (each for log in logs() for each in prompts(log, limit)):
        entries = prompt.session.transcript
        cut_in = {entries[0].version} if prompt.left_out else set()  # of a fork's first event, a part may be left out
        kept = {entry.version for entry in entries} - cut_in
        blind = ("generator",) if prompt.is_blind else ()
        there = [text for version, actor, text in told if version in kept and actor not in blind]
        everything, seen = "\n".join(there), conversation(prompt)
        begins = "\n".join(text for version, _, text in told if version not in kept)
        for sentence in {sentence for text in there for sentence in sentences(text)} - {*sentences(begins)}:
            assert occurrences(sentence, seen) == occurrences(sentence, everything), (prompt.task, sentence)
        counted[prompt.task] += len(there)
    assert min(counted[task] for task in TASKS) > 2, counted


TASKS = ("text_plan", "turn", "path", "execution_plan", "code", "tests", "verdict", "turn_verdict", "answer")


def test_the_request_stands_in_every_prompt_also_when_the_conversation_no_longer_goes_back_to_it() -> None:
    left_out = 0
    for prompt, _ in (each for log in logs() for each in prompts(log, LIMITS[1])):
        request = prompt.session.words.request
        first = prompt.session.transcript[0].version if prompt.session.transcript else 0
        if prompt.session.reply is None and request and first > max(prompt.session.words.request_version, 1):
            left_out += section("original_request", request) in prompt.messages[-1]["content"]
            assert occurrences(request, conversation(prompt)) >= 1
    assert left_out > 10


@pytest.mark.parametrize("limit", LIMITS)
def test_prompts_of_a_task_begin_alike_until_something_is_left_out(limit: int) -> None:
    alike = shortened = 0
    for log in logs():
        by_task: dict[str, list[DuePrompt]] = {}
        for prompt, _ in prompts(log, limit):
            by_task.setdefault(prompt.task, []).append(prompt)
        for before, after in (pair for made in by_task.values() for pair in pairwise(made)):
            old, new = before.session.transcript, after.session.transcript
            if not old or before.session.words.knowledge != after.session.words.knowledge:
                continue
            if new[: len(old)] != old:
                shortened += 1
                continue
            assert flat(after.messages).startswith(up_to_transcript(before)), (before.task, before.session.version)
            alike += 1
    assert alike > 200
    assert shortened == 0 if limit == LIMITS[0] else 20 < shortened < alike


def flat(messages: list[Message]) -> str:
    return "".join(f"\n\n[{message['role']}]\n{message['content']}" for message in messages)


def up_to_transcript(prompt: DuePrompt) -> str:
    """The prompt up to the end of its conversation."""
    text, entries = flat(prompt.messages), prompt.session.transcript
    hidden = ("generator", "verifier") if prompt.is_blind else ()
    shown = [entry for entry in entries if entry.by not in hidden or entry.kind == "question"]
    last = shown[-1]
    told = last.text if last.is_reply else section(last.kind, last.text)
    return text[: text.rindex(told) + len(told)]


@pytest.mark.parametrize("limit", LIMITS)
def test_the_conversation_in_a_prompt_stays_within_its_limit(limit: int) -> None:
    largest = 0
    for prompt, _ in (each for log in logs() for each in prompts(log, limit)):
        entries = prompt.session.transcript
        size = sum(entry.size for entry in entries)
        assert size <= limit
        knowledge = sum(len(known.name) + len(known.text) for known in prompt.session.words.knowledge)
        shown = len(up_to_transcript(prompt).encode()) - len(flat(prompt.messages[:1]).encode())
        assert shown <= size + knowledge + AROUND * (len(entries) + 2)
        largest = max(largest, size)
    assert limit > LIMITS[1] or largest > limit * 0.8
