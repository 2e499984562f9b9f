"""The state of a request, read from its prompt: words, answers to questions, calls made and their results."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rehearsal.matching import words_of
from rehearsal.prompt import ParsedPrompt, parsed
from rehearsal.refusals import DEMO_MODEL

Document = dict[str, Any]
READS = {"get_user_details": "user_id", "get_order_details": "order_id", "get_product_details": "product_id"}
FINDERS = ("find_user_id_by_email", "find_user_id_by_name_zip")
TYPES = "list_all_product_types"
HANDOVER = "transfer_to_human_agents"


def order_ids(text: str) -> list[str]:
    """Every order id once, in the store's spelling."""
    return list(dict.fromkeys(f"#W{number}" for number in re.findall(r"(?<![\w@.-])#?[wW](\d{7})\b", text)))


class ReadsNeeded(Exception):
    """These reads must be made first."""

    def __init__(self, *calls: "Call") -> None:
        super().__init__(", ".join(call.tool for call in calls))
        self.calls = calls


class QuestionNeeded(Exception):
    """The customer must answer this question first; `options` may be empty."""

    def __init__(self, question: str, options: Sequence[str] = ()) -> None:
        super().__init__(question)
        self.options = list(options)


class NotPossible(Exception):
    """The store's rules or data forbid the request. The message says why."""


@dataclass(frozen=True)
class Call:
    """A tool call. `text` is the call in plain words, `done` the sentence that is true once it has succeeded."""

    tool: str
    arguments: dict[str, Any] = field(hash=False)
    text: str = ""
    done: str = ""

    @property
    def key(self) -> str:
        """Equal for equal calls."""
        return f"{self.tool} {json.dumps(self.arguments, sort_keys=True)}"


@dataclass(frozen=True)
class PlannedCall(Call):
    """An earlier call, with its status and result."""

    id: str = ""
    status: str = ""
    result: str = ""

    @property
    def succeeded(self) -> bool:
        return self.status == "finished" and not self.result.startswith(("Error", "Unknown"))

    @property
    def document(self) -> Document | None:
        """The result as an object; None if it is not one, or was truncated."""
        result = parsed(self.result)
        return result if isinstance(result, dict) else None


@dataclass(frozen=True)
class RequestState:
    """What a prompt tells about a request. `previous_calls`: those for an earlier request of the session."""

    request: str
    answers: tuple[tuple[str, str], ...] = ()
    feedback: tuple[str, ...] = ()
    past_calls: tuple[PlannedCall, ...] = ()
    previous_calls: tuple[PlannedCall, ...] = ()
    tools: frozenset[str] = frozenset()

    @property
    def rephrased(self) -> list[str]:
        """Answers to refusals; the newest replaces the request."""
        return [answer for question_text, answer in self.answers if DEMO_MODEL in question_text]

    @property
    def message(self) -> str:
        return [self.request, *self.rephrased][-1]

    @property
    def user_id(self) -> str:
        """The customer found for this or an earlier request of the session; "" before that."""
        results = [
            past.result for past in (*self.past_calls, *self.previous_calls) if past.tool in FINDERS and past.succeeded
        ]
        return results[0].strip() if results else ""

    def past_call(self, call: Call) -> PlannedCall | None:
        """The earlier call equal to this one; for a write also one that succeeded for the same order."""
        same = [past for past in self.past_calls if past.tool == call.tool]
        exact = [past for past in same if past.key == call.key]
        order_id = call.arguments.get("order_id") if call.tool not in READS else None
        others = [past for past in same if order_id and past.succeeded and past.arguments.get("order_id") == order_id]
        return exact[-1] if exact else next(iter(others), None)

    def document(self, tool: str, document_id: str) -> Document | None:
        """The document as first read; None if there is none. Raises ReadsNeeded if it was not read yet."""
        call = Call(tool, {READS[tool]: document_id})
        reads = [past for past in self.past_calls if past.key == call.key]
        documents = [past.document for past in reads if past.succeeded and past.document is not None]
        if documents or (reads and not reads[-1].succeeded):
            return documents[0] if documents else None
        raise ReadsNeeded(call)

    @property
    def types(self) -> dict[str, str]:
        """Product ids by name. Raises ReadsNeeded."""
        lists = [past for past in self.past_calls if past.tool == TYPES]
        if not lists:
            raise ReadsNeeded(Call(TYPES, {}))
        return lists[-1].document or {}

    def answer(self, question: str) -> str:
        """The customer's answer to this question, "" if there is none."""
        return "\n".join(answer or "-" for question_text, answer in self.answers if question_text.startswith(question))

    def ask(self, question: str, options: Sequence[str] = ()) -> str:
        """The customer's answer to this question. Raises QuestionNeeded if there is none."""
        if answer := self.answer(question):
            return answer
        raise QuestionNeeded(f"{question} {'; '.join(options)}".strip(), options)

    def pick(self, question: str, options: Sequence[str], *, sure: bool = True) -> int:
        """The index of the option meant: the only one if `sure`, else the one that shares most words with the answer.

        Raises QuestionNeeded or NotPossible.
        """
        if sure and len(options) == 1:
            return 0
        answer = set(words_of(self.ask(question, options)))
        common = [len(answer & set(words_of(option))) for option in options]
        if not max(common, default=0) or common.count(max(common)) > 1:
            raise NotPossible(f"I do not know the answer to this: {question} {'; '.join(options)}.")
        return common.index(max(common))


def gather[T](parts: Iterable[Callable[[], T]]) -> list[T]:
    """The results of all parts. Raises one ReadsNeeded for the reads of all of them, which then run in parallel."""
    results: list[T] = []
    needs: list[ReadsNeeded] = []
    for part in parts:
        try:
            results.append(part())
        except ReadsNeeded as need:
            needs.append(need)
    if needs:
        raise ReadsNeeded(*{call.key: call for need in needs for call in need.calls}.values())
    return results


def read_state(prompt: ParsedPrompt) -> RequestState:
    dialogue = tuple(prompt.dialogue())
    answers = {line for _, answer in dialogue for line in answer.splitlines()}
    return RequestState(
        request=prompt["request"],
        answers=dialogue,
        feedback=tuple(line for text in prompt.feedback for line in text.splitlines() if line not in answers),
        past_calls=read_past_calls(prompt.calls()),
        previous_calls=read_past_calls(prompt.calls(earlier=True)),
        tools=frozenset(str(line.get("name")) for line in prompt.tools()),
    )


def read_past_calls(lines: Iterable[Document]) -> tuple[PlannedCall, ...]:
    """The objects of the section `executed`, `earlier` or `actions`."""
    return tuple(
        PlannedCall(
            tool=str(line.get("tool", "")),
            arguments=dict(line.get("arguments") or {}),
            id=str(line.get("id", "")),
            status=str(line.get("status", "")),
            result=result if isinstance(result := line.get("result", ""), str) else json.dumps(result),
        )
        for line in lines
    )
