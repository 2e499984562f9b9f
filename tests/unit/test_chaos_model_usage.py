"""The model's record of calls compared with the log: only calls in progress at a kill may be missing."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from chaos.model_usage import ServedRequest, UsageBalance, WorkSpan, usage_balances
from chaos.process import ProcessExit
from parley.events.values import CallOutcome, ModelCall

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
REPLY = ServedRequest("planner", "ok", (10, 4))
KILLED = ProcessExit("planner-1", -9, "SIGKILL", 0.0, at=NOON.timestamp())
OPEN = WorkSpan("planner", NOON - timedelta(seconds=5), NOON + timedelta(seconds=5))
CLOSED = WorkSpan("planner", NOON - timedelta(seconds=50), NOON - timedelta(seconds=40))


def model_call(
    prompt: int = 10, completion: int = 4, *, estimated: bool = False, outcome: CallOutcome = "ok"
) -> ModelCall:
    tokens = {"prompt_tokens": prompt, "cached_tokens": 0, "completion_tokens": completion}
    other_fields = {"model": "m", "role": "planner", "cost": 0, "latency": 1, "attempt": 1}
    return ModelCall.model_validate(tokens | other_fields | {"outcome": outcome, "estimated": estimated})


REFUSED = model_call(0, 0, estimated=True, outcome="failed")


def balance(
    served: Sequence[ServedRequest],
    calls: Sequence[ModelCall],
    exits: Sequence[ProcessExit] = (),
    works: Sequence[WorkSpan] = (),
) -> UsageBalance:
    (result,) = usage_balances(served, calls, exits, works, grace=5)
    return result


def test_each_reply_is_accounted_for_once() -> None:
    assert balance([REPLY, REPLY], [model_call(), model_call()]) == UsageBalance(
        "planner", 4, overcounted=0, lost=0, allowed_losses=0
    )
    assert balance([REPLY], [model_call(), model_call()]).overcounted == 1
    assert balance([REPLY], [model_call(completion=5)]).overcounted == 1
    assert balance([REPLY, REPLY], [model_call()]).lost == 1


def test_a_refusal_is_accounted_for_without_tokens() -> None:
    refusal = ServedRequest("planner", "429")
    assert balance([refusal, REPLY], [REFUSED, model_call()]).lost == 0
    assert balance([refusal, REPLY], [model_call()]).lost == 1
    assert balance([], [REFUSED, REFUSED]).overcounted == 0, "the model was down"


def test_a_killed_process_may_lose_one_call_for_each_open_work_span() -> None:
    lost = balance([REPLY, REPLY], [model_call()], [KILLED], [OPEN, CLOSED])
    assert (lost.lost, lost.allowed_losses) == (1, 1)
    assert balance([REPLY], [], [KILLED], [CLOSED]).allowed_losses == 0
    assert balance([REPLY], [], [KILLED], [OPEN._replace(service="verifier")]).allowed_losses == 0
    assert balance([REPLY], [], [KILLED], [OPEN, OPEN._replace(ended=None)]).allowed_losses == 2
    just_ended = OPEN._replace(ended=NOON - timedelta(seconds=2))
    assert balance([REPLY], [], [KILLED], [just_ended]).allowed_losses == 0
    assert balance([REPLY], [], [KILLED._replace(late_seconds=2.0)], [just_ended]).allowed_losses == 1, (
        "the suite noticed it late"
    )
