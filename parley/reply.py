"""Typed replies of a model: an object with one property `reply`, which is one of the kinds that the task declares.

The field `kind` comes first, so that a model decides on the kind of its reply before it writes it:

    class Plan(Kind):
        kind: Literal["plan"] = "plan"
        goal: str
        steps: list[str]

    class PlanReply(Reply):
        reply: Annotated[Plan | QuestionDraft, ONE_OF]
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, Union, cast, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    WithJsonSchema,
    create_model,
    model_validator,
)

ONE_OF = Field(discriminator="kind")
MAX_OPTION = 500  # characters
NO_QUESTION = "no question can be asked here now: do the task with what is known"


def json_value(value: Any) -> Any:
    """The value of a JSON text; other texts stay as they are."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


JsonText = Annotated[
    JsonValue,
    BeforeValidator(json_value),
    WithJsonSchema({"type": "string", "description": 'A JSON object as text, e.g. {"id": "A-17"}'}),
]


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Kind(BaseModel):
    """One kind of reply. A subclass begins with `kind: Literal["its_name"] = "its_name"`.

    A model that is not held to the schema may ask a question beside a plan. Where all fields of `usable` are given,
    the plan counts, and the question is noted in the field `notes_in`.
    """

    # the prompt tells what a kind is for: its docstring, which is for readers of the code, is left out of the schema
    model_config = ConfigDict(extra="forbid", json_schema_extra=lambda schema: schema.pop("description", None))
    usable: ClassVar[tuple[str, ...]] = ()
    notes_in: ClassVar[str] = ""

    kind: str


class AskedQuestion(BaseModel):
    """A question. `options`: short answers to choose from. several: whether more than one of them may be chosen."""

    model_config = Kind.model_config

    text: Text
    options: list[str] = Field(default_factory=list, max_length=10)
    several: bool = False


class QuestionDraft(Kind):
    """What has to be known before the task can be done: a question, and up to two `more` that go with it."""

    kind: Literal["question"] = "question"
    text: Text
    options: list[str] = Field(default_factory=list, max_length=10)
    several: bool = False
    more: list[AskedQuestion] = Field(default_factory=list, max_length=2)


class WordsDraft(Kind):
    """An answer in words: nothing is planned, changed or done."""

    kind: Literal["answer"] = "answer"
    text: Text


class AcceptedOffer(Kind):
    """The person agrees to the offer that stands beside what waits or runs: it takes its place."""

    kind: Literal["take_offer"] = "take_offer"
    say: str = ""


class Reply(BaseModel):
    """A subclass declares `reply`: one kind, or several as `Annotated[First | Second, ONE_OF]`."""

    model_config = ConfigDict(extra="forbid")

    reply: Any

    @classmethod
    def kinds(cls) -> tuple[type[Kind], ...]:
        """The kinds that this reply may be, in the order of declaration."""
        annotation = cls.model_fields["reply"].annotation
        return get_args(annotation) or (annotation,) if annotation else ()

    @model_validator(mode="before")
    @classmethod
    def _without_schema(cls, data: Any) -> Any:
        """Repair what a model omits or adds if its output is not constrained to the schema."""
        if not isinstance(data, Mapping):
            return data
        wrapped = data if "reply" in data else {"reply": data} if "kind" in data else data
        fields = wrapped.get("reply")
        own = cls.model_fields.keys()
        if not isinstance(fields, dict) or not wrapped.keys() <= {*own, "question", "title"}:
            return wrapped
        beside = {name: value for name, value in wrapped.items() if name == "question"}
        kind_fields = _question_as_note(fields | beside, cls.kinds())
        if kind_fields.get("kind") == "question" and QuestionDraft not in cls.kinds():
            raise ValueError(NO_QUESTION)
        return {name: wrapped[name] for name in own if name in wrapped} | {"reply": kind_fields}


def content_of(partial: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of `reply` that has been streamed so far."""
    fields = partial.get("reply")
    return fields if isinstance(fields, Mapping) else {}


def streamed_list(content: Mapping[str, Any], name: str) -> list[Any]:
    """The items of a list of the reply that have been streamed so far; none of what is no list."""
    items = content.get(name)
    return items if isinstance(items, list) else []


def with_kinds[R: Reply](reply: type[R], kinds: Iterable[type[Kind]]) -> type[R]:
    """The reply type with these kinds only; each is one of its own or a subclass of one."""
    return cast(type[R], _with_kinds(reply, tuple(kinds)))


@lru_cache(maxsize=64)
def with_title[R: Reply](reply: type[R]) -> type[R]:
    """The reply type with a title for the session."""
    return cast(type[R], _with_title(reply))


def without_kinds[R: Reply](reply: type[R], *names: str) -> type[R]:
    """The reply type without the kinds of these names."""
    kinds = tuple(kind for kind in reply.kinds() if kind.model_fields["kind"].default not in names)
    return reply if kinds == reply.kinds() else with_kinds(reply, kinds)


@lru_cache(maxsize=256)
def _with_title(reply: type[Reply]) -> type[Reply]:
    return create_model(reply.__name__, __base__=reply, __doc__=reply.__doc__, title=(str, ""))


@lru_cache(maxsize=256)
def _with_kinds(reply: type[Reply], kinds: tuple[type[Kind], ...]) -> type[Reply]:
    either: Any = Union[kinds]  # noqa: UP007  built at run time
    field: Any = (Annotated[either, ONE_OF] if len(kinds) > 1 else either, ...)
    return create_model(reply.__name__, __base__=reply, __doc__=reply.__doc__, reply=field)


def _question_as_note(reply: dict[str, Any], kinds: tuple[type[Kind], ...]) -> dict[str, Any]:
    """A usable plan with a question beside it turned into a note; anything else unchanged."""
    for kind in kinds:
        name = kind.model_fields["kind"].default
        if not kind.usable or reply.get("kind") not in (name, "question") or not all(map(reply.get, kind.usable)):
            continue
        question = reply.get("question") or (reply.get("text") if reply["kind"] == "question" else "")
        if isinstance(question, str):
            note = "\n".join(filter(None, (str(reply.get(kind.notes_in) or ""), question)))
            fields = kind.model_fields.keys() | (reply.keys() - {"question", "text", "options"})
            return {field: reply[field] for field in reply if field in fields} | {"kind": name, kind.notes_in: note}
    return reply
