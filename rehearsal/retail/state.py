"""The state of a request, read from its prompt: words, answers to questions, calls made and their results."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rehearsal.prompt import Prompt, parsed
from rehearsal.refusals import DEMO_MODEL
from rehearsal.retail.words import tidy, words

Document = dict[str, Any]
READS = {"get_user_details": "user_id", "get_order_details": "order_id", "get_product_details": "product_id"}
FINDERS = ("find_user_id_by_email", "find_user_id_by_name_zip")
TYPES = "list_all_product_types"
HANDOVER = "transfer_to_human_agents"


class Need(Exception):
    """These calls must be made first."""

    def __init__(self, *calls: "Call") -> None:
        super().__init__(", ".join(call.tool for call in calls))
        self.calls = calls


class Ask(Exception):
    """The customer must answer this question first; `options` may be empty."""

    def __init__(self, question: str, options: Sequence[str] = ()) -> None:
        super().__init__(question)
        self.options = list(options)


class NotPossible(Exception):
    """The store's rules or data forbid it. The text says why."""


@dataclass(frozen=True)
class Call:
    """A tool call. `text` is the call in plain words, `done` the sentence that is true once it has succeeded."""

    tool: str
    arguments: dict[str, Any] = field(hash=False)
    text: str = ""
    done: str = ""

    @property
    def key(self) -> str:
        """The same for the same call."""
        return f"{self.tool} {json.dumps(self.arguments, sort_keys=True)}"


@dataclass(frozen=True)
class PastCall(Call):
    """An earlier call, with its status and result."""

    id: str = ""
    status: str = ""
    result: str = ""

    @property
    def fine(self) -> bool:
        return self.status == "finished" and not self.result.startswith(("Error", "Unknown"))

    @cached_property
    def document(self) -> Document | None:
        """The result as an object; None where it is none, or was cut off."""
        result = parsed(self.result)
        return result if isinstance(result, dict) else None


@dataclass(frozen=True)
class State:
    """`said`: questions with their answers. `earlier`: calls for an earlier request of the session."""

    request: str
    said: tuple[tuple[str, str], ...] = ()
    feedback: tuple[str, ...] = ()
    previous: str = ""
    past_calls: tuple[PastCall, ...] = ()
    earlier: tuple[PastCall, ...] = ()
    tools: frozenset[str] = frozenset()

    @property
    def rephrased(self) -> list[str]:
        """Answers to refusals; the newest replaces the request."""
        return [answer for asked, answer in self.said if DEMO_MODEL in asked]

    @property
    def message(self) -> str:
        return [self.request, *self.rephrased][-1]

    @property
    def user_id(self) -> str:
        """The customer who was found, also for an earlier request of the same session; "" before that."""
        results = [past.result for past in (*self.past_calls, *self.earlier) if past.tool in FINDERS and past.fine]
        return results[0].strip() if results else ""

    def past_call(self, call: Call) -> PastCall | None:
        """This call as made earlier; for a write also one with other arguments that succeeded for the same order."""
        same = [one for one in self.past_calls if one.tool == call.tool]
        exact = [one for one in same if one.key == call.key]
        order_id = call.arguments.get("order_id") if call.tool not in READS else None
        others = [one for one in same if order_id and one.fine and one.arguments.get("order_id") == order_id]
        return exact[-1] if exact else next(iter(others), None)

    def look(self, tool: str, document_id: str) -> Document | None:
        """The document as it was first read; None where there is none. Raises Need where it was not read yet."""
        call = Call(tool, {READS[tool]: document_id})
        reads = [past for past in self.past_calls if past.key == call.key]
        documents = [past.document for past in reads if past.fine and past.document is not None]
        if documents or (reads and not reads[-1].fine):
            return documents[0] if documents else None
        raise Need(call)

    @property
    def types(self) -> dict[str, str]:
        """Product ids by name. Raises Need."""
        lists = [past for past in self.past_calls if past.tool == TYPES]
        if not lists:
            raise Need(Call(TYPES, {}))
        return lists[-1].document or {}

    def answer(self, question: str) -> str:
        """The customer's answer to this question, "" before it was asked."""
        return "\n".join(answer or "-" for asked, answer in self.said if asked.startswith(question))

    def ask(self, question: str, options: Sequence[str] = ()) -> str:
        """The customer's answer to this question. Raises Ask where there is none."""
        if answer := self.answer(question):
            return answer
        raise Ask(f"{question} {'; '.join(options)}".strip(), options)

    def pick(self, question: str, options: Sequence[str], *, sure: bool = True) -> int:
        """Which option the answer means: the only one (if it is sure to be one of them), else that with most of the
        answer's words. Raises Ask, NotPossible."""
        if sure and len(options) == 1:
            return 0
        answer = set(words(self.ask(question, options)))
        common = [len(answer & set(words(option))) for option in options]
        if not max(common, default=0) or common.count(max(common)) > 1:
            raise NotPossible(f"I do not know the answer to this: {question} {'; '.join(options)}.")
        return common.index(max(common))


def together[T](parts: Iterable[Callable[[], T]]) -> list[T]:
    """The results of all parts. Raises one Need for the reads of all of them: they run side by side."""
    results: list[T] = []
    needs: list[Need] = []
    for part in parts:
        try:
            results.append(part())
        except Need as need:
            needs.append(need)
    if needs:
        raise Need(*{call.key: call for need in needs for call in need.calls}.values())
    return results


def read_state(prompt: Prompt) -> State:
    said = tuple((question, tidy(answer)) for question, answer in prompt.dialogue())
    answers = {line for _, answer in said for line in answer.splitlines()}
    return State(
        request=tidy(prompt["request"]),
        said=said,
        feedback=tuple(line for line in tidy(prompt["feedback"]).splitlines() if line not in answers),
        previous=tidy(prompt["previous"]),
        past_calls=read_past_calls(prompt.objects("executed")),
        earlier=read_past_calls(prompt.objects("earlier")),
        tools=frozenset(str(line.get("name")) for line in prompt.objects("tools")),
    )


def read_past_calls(lines: Iterable[Document]) -> tuple[PastCall, ...]:
    """The objects of the section `executed`, `earlier` or `actions`."""
    return tuple(
        PastCall(
            tool=str(line.get("tool", "")),
            arguments=dict(line.get("arguments") or {}),
            id=str(line.get("id", "")),
            status=str(line.get("status", "")),
            result=result if isinstance(result := line.get("result", ""), str) else json.dumps(result),
        )
        for line in lines
    )
