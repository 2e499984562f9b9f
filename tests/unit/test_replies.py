"""Replies of models that did not follow the schema: a missing envelope, a question beside a plan, extra fields."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from flows.text_to_sql.prompts import GenerateReply
from parley.reply import AcceptedOffer, QuestionDraft, Reply, WordsDraft, with_kinds, without_kinds
from services.generator.conversation import CodeReply
from services.planner.agentflow_prompt import TurnReply
from services.planner.conversation import PlanDraft, PlanReply
from services.planner.flow_prompt import PathReply

PLAN: dict[str, Any] = {"kind": "plan", "goal": "A game", "steps": ["Draw it"]}
WHICH = "Which colours?"


def test_a_kind_without_its_envelope_is_accepted() -> None:
    assert PlanReply.model_validate(PLAN) == PlanReply.model_validate({"reply": PLAN})
    assert PlanReply.model_validate({"kind": "question", "text": WHICH}).reply == QuestionDraft(text=WHICH)


@pytest.mark.parametrize(
    "beside",
    [
        {"reply": PLAN | {"question": WHICH}},
        {"reply": PLAN, "question": WHICH},
        {"reply": {"kind": "question", "text": WHICH, "options": ["red"], "goal": "A game", "steps": ["Draw it"]}},
        PLAN | {"question": WHICH},
    ],
)
def test_a_question_beside_a_usable_plan_is_kept(beside: dict[str, Any]) -> None:
    reply = PlanReply.model_validate(beside)
    assert reply.reply == PlanDraft.model_validate(PLAN | {"say": WHICH})
    asked = PlanReply.model_validate({"reply": PLAN | {"say": "In red.", "question": WHICH}})
    assert asked.reply == PlanDraft.model_validate(PLAN | {"say": f"In red.\n{WHICH}"})
    assert PlanReply.model_validate({"reply": PLAN | {"question": None}}).reply == PlanDraft.model_validate(PLAN)


@pytest.mark.parametrize(
    ("reply", "usable", "note"),
    [
        (TurnReply, {"actions": [{"tool": "look"}]}, "say"),
        (PathReply, {"paths": [{"flow": "tea", "nodes": ["boil"]}]}, "say"),
        (CodeReply, {"code": "print(1)"}, "say"),
        (GenerateReply, {"sql": "SELECT 1"}, "explanation"),
    ],
)
def test_a_question_beside_any_usable_reply_is_told_with_it(
    reply: type[Reply], usable: dict[str, Any], note: str
) -> None:
    kind = reply.kinds()[0].model_fields["kind"].default
    draft = reply.model_validate({"reply": usable | {"kind": kind, "question": WHICH}}).reply
    assert (draft.kind, getattr(draft, note)) == (kind, WHICH)


def test_a_question_without_a_usable_plan_is_a_question() -> None:
    question = {"kind": "question", "text": WHICH, "options": []}
    assert PlanReply.model_validate({"reply": question}).reply == QuestionDraft(text=WHICH)
    with pytest.raises(ValidationError):
        PlanReply.model_validate({"reply": question | {"goal": "", "steps": []}})


@pytest.mark.parametrize(
    "bad", [None, [], {"reply": []}, {"reply": PLAN, "mood": 1}, {"reply": PLAN | {"mood": 1}}, {}]
)
def test_other_replies_are_invalid(bad: Any) -> None:
    with pytest.raises(ValidationError):
        PlanReply.model_validate_json(json.dumps(bad))


def test_a_reply_without_some_kinds_refuses_them() -> None:
    only_plan = without_kinds(PlanReply, "changes", "question", "answer", "take_offer")
    assert issubclass(only_plan, PlanReply)
    assert (only_plan.__name__, only_plan.kinds()) == ("PlanReply", (PlanDraft,))
    assert only_plan is with_kinds(PlanReply, [PlanDraft])
    assert without_kinds(PlanReply, "unknown") is PlanReply
    with pytest.raises(ValidationError, match="no question can be asked here now"):
        only_plan.model_validate({"reply": {"kind": "question", "text": WHICH}})
    assert without_kinds(PlanReply, "plan", "changes").kinds() == (QuestionDraft, WordsDraft, AcceptedOffer)
