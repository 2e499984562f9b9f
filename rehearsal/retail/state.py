"""What a prompt tells about the request at hand: the words, the questions and answers, the deeds and the documents."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rehearsal.prompt import Prompt
from rehearsal.retail.words import tidy

Document = dict[str, Any]
Arguments = dict[str, Any]
KINDS = {"get_user_details": "user_id", "get_order_details": "order_id", "get_product_details": "product_id"}
HANDOVER = "transfer_to_human_agents"
ONCE = (
    "cancel_pending_order",
    "modify_pending_order_items",
    "return_delivered_order_items",
    "exchange_delivered_order_items",
)
FINDERS = ("find_user_id_by_email", "find_user_id_by_name_zip")


class Need(Exception):
    """A wish cannot be resolved before these calls were made."""

    def __init__(self, *calls: "Call", leaf: bool = False) -> None:
        super().__init__(", ".join(call.tool for call in calls))
        self.calls = calls
        self.leaf = leaf  # nothing more will have to be looked up for the wish


class Ask(Exception):
    """A wish cannot be resolved before the customer has answered."""


class Vague(Ask):
    """So little is known that there may be no wish at all."""


class Refused(Exception):
    """A wish that the store's rules or its data forbid; says why."""


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: Arguments = field(hash=False)

    @property
    def key(self) -> str:
        """The same for the same call."""
        return f"{self.tool} {json.dumps(self.arguments, sort_keys=True)}"


@dataclass(frozen=True)
class Deed(Call):
    """A call that was planned before, and what became of it."""

    id: str = ""
    status: str = ""
    result: str = ""

    @property
    def refused(self) -> bool:
        return self.status == "failed" or self.result.startswith(("Error", "Unknown action"))

    @property
    def fine(self) -> bool:
        return self.status == "finished" and not self.refused

    @cached_property
    def document(self) -> Document | None:
        """The result as an object; None where it is none, or was cut off."""
        try:
            found = json.loads(self.result)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None


@dataclass(frozen=True)
class State:
    """Everything the planner decides on. Documents are as first read in this request: no write changes them here."""

    request: str
    said: tuple[tuple[str, str], ...] = ()
    feedback: str = ""
    previous: str = ""
    deeds: tuple[Deed, ...] = ()
    earlier: tuple[Deed, ...] = ()
    tools: frozenset[str] = frozenset()
    nudge: str = ""

    @property
    def handed_over(self) -> Deed | None:
        """The call that handed the request over to a person, whatever became of it: once is enough."""
        return next((deed for deed in self.deeds if deed.tool == HANDOVER), None)

    def standing(self, call: Call) -> Deed | None:
        """What became of this call; of what an order takes only once, also of one with other arguments."""
        if (deed := self.by_key.get(call.key)) is not None or call.tool not in ONCE:
            return deed
        order_id = call.arguments.get("order_id")
        made = (one for one in self.deeds if one.tool == call.tool and one.arguments.get("order_id") == order_id)
        return next((one for one in made if one.fine), None)

    @cached_property
    def by_key(self) -> dict[str, Deed]:
        """The latest deed of each call."""
        return {deed.key: deed for deed in self.deeds}

    @cached_property
    def user_id(self) -> str:
        """The customer who was found, also for an earlier request of the same session."""
        found = [deed.result for deed in (*self.deeds, *self.earlier) if deed.tool in FINDERS and deed.fine]
        return found[0].strip() if found else ""

    @cached_property
    def known(self) -> dict[str, Document]:
        """Documents by `tool id`, as first read: what was changed since then is told by the writes themselves."""
        found: dict[str, Document] = {}
        for deed in self.deeds:
            if deed.tool in KINDS and deed.fine and deed.document is not None:
                found.setdefault(f"{deed.tool} {deed.arguments.get(KINDS[deed.tool])}", deed.document)
        return found

    def look(self, tool: str, document_id: str, *, leaf: bool = False) -> Document | None:
        """The document; None where there is none of that id. Raises Need where it was not read yet."""
        if (document := self.known.get(f"{tool} {document_id}")) is not None:
            return document
        call = Call(tool, {KINDS[tool]: document_id})
        if (deed := self.by_key.get(call.key)) is not None and not deed.fine:
            return None
        raise Need(call, leaf=leaf)  # not read yet, or only the beginning of it is left in the prompt

    def order(self, order_id: str, *, leaf: bool = False) -> Document | None:
        return self.look("get_order_details", order_id, leaf=leaf)

    def product(self, product_id: str, *, leaf: bool = False) -> Document | None:
        return self.look("get_product_details", product_id, leaf=leaf)

    @cached_property
    def types(self) -> dict[str, str] | None:
        """Product ids by name, once they were listed."""
        lists = [deed for deed in self.deeds if deed.tool == "list_all_product_types" and deed.fine]
        if not lists or lists[-1].document:
            return lists[-1].document if lists else None
        products = [one for key, one in self.known.items() if key.startswith("get_product_details")]
        return {one["name"]: one["product_id"] for one in products} or None  # of the list only the beginning is left

    def answered(self, question: str) -> str | None:
        """What the customer answered to this question, known by its first sentence: the rest may list what was read."""
        stem = _stem(question)
        answers = [answer for asked, answer in self.said if _stem(asked) == stem]
        return "\n".join(answers) if answers else None

    def ask(self, question: str, *, vague: bool = False) -> str:
        """The answer. Raises Ask where it was not asked yet."""
        answer = self.answered(question)
        if answer is None:
            raise (Vague if vague else Ask)(question)
        return answer


def _stem(question: str) -> str:
    return re.split(r"(?<=[?:])\s", question, maxsplit=1)[0].strip().lower()


def together[T](parts: Iterable[Callable[[], T]]) -> list[T]:
    """The results of all; what any of them must look up first is asked for at once, because reads run side by side."""
    found: list[T] = []
    needs: list[Need] = []
    for part in parts:
        try:
            found.append(part())
        except Need as need:
            needs.append(need)
    if needs:
        calls = {call.key: call for need in needs for call in need.calls}
        raise Need(*calls.values(), leaf=all(need.leaf for need in needs))
    return found


# --- from a prompt


def read_state(prompt: Prompt) -> State:
    said = tuple(questions(prompt["dialogue"]))
    answers = {line for _, answer in said for line in answer.splitlines()}
    told = tidy(prompt["feedback"]).splitlines()
    return State(
        request=tidy(prompt["request"]),
        said=said,
        feedback="\n".join(line for line in told if line not in answers),  # answers to questions stand there too
        previous=tidy(prompt["previous"]),
        deeds=read_deeds(prompt["executed"]),
        earlier=read_deeds(prompt["earlier"]),
        tools=frozenset(line["name"] for line in json_lines(prompt["tools"]) if isinstance(line.get("name"), str)),
        nudge=prompt["nudge"],
    )


def questions(text: str) -> Iterable[tuple[str, str]]:
    """`Q: …` and `A: …`; further lines belong to what stands above them."""
    for part in re.split(r"^Q:[ \t]*", text, flags=re.MULTILINE)[1:]:
        question, _, answer = part.partition("\nA:")
        yield question.strip(), tidy(answer)


def read_deeds(text: str) -> tuple[Deed, ...]:
    """Deeds from JSON lines, as the sections `executed`, `earlier` and `actions` have them."""
    return tuple(map(_deed, json_lines(text)))


def _deed(line: Document) -> Deed:
    arguments, result = line.get("arguments"), line.get("result", "")
    return Deed(
        tool=str(line.get("tool", "")),
        arguments=dict(arguments) if isinstance(arguments, Mapping) else {},
        id=str(line.get("id", "")),
        status=str(line.get("status", "")),
        result=result if isinstance(result, str) else json.dumps(result),
    )


def json_lines(text: str) -> Iterable[Document]:
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found
