"""The model's own count beside the log's: what may be lost to a kill, and nothing else."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from chaos.accounts import Account, Served, WorkSpan, accounts
from chaos.process import Exit
from parley.events.values import CallOutcome, ModelCall

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
REPLY = Served("planner", "ok", (10, 4))
KILLED = Exit("planner-1", -9, "SIGKILL", 0.0, at=NOON.timestamp())
OPEN = WorkSpan("planner", NOON - timedelta(seconds=5), NOON + timedelta(seconds=5))
OVER = WorkSpan("planner", NOON - timedelta(seconds=50), NOON - timedelta(seconds=40))


def paid(prompt: int = 10, completion: int = 4, *, estimated: bool = False, outcome: CallOutcome = "ok") -> ModelCall:
    tokens = {"prompt_tokens": prompt, "cached_tokens": 0, "completion_tokens": completion}
    more = {"model": "m", "role": "planner", "cost": 0, "latency": 1, "attempt": 1}
    return ModelCall.model_validate(tokens | more | {"outcome": outcome, "estimated": estimated})


REFUSED = paid(0, 0, estimated=True, outcome="failed")
INTERRUPTED = paid(10, 1, estimated=True, outcome="cancelled")


def account(
    served: Sequence[Served], calls: Sequence[ModelCall], exits: Sequence[Exit] = (), works: Sequence[WorkSpan] = ()
) -> Account:
    (found,) = accounts(served, calls, exits, works, grace=5)
    return found


def test_each_reply_is_accounted_for_once() -> None:
    assert account([REPLY, REPLY], [paid(), paid()]) == Account("planner", 4, twice=0, lost=0, allowed=0)
    assert account([REPLY], [paid(), paid()]).twice == 1
    assert account([REPLY], [paid(completion=5)]).twice == 1
    assert account([REPLY, REPLY], [paid()]).lost == 1


def test_what_a_client_could_only_estimate_is_counted() -> None:
    cut, late = Served("planner", "cut", (10, 4)), Served("planner", "cancelled", None)
    assert account([cut, late], [INTERRUPTED, INTERRUPTED]).lost == 0
    assert account([cut, late], [INTERRUPTED]).lost == 1
    assert account([cut], [REFUSED]).lost == 1, "a call that never reached the model stands for none that did"


def test_a_refusal_is_accounted_for_without_tokens() -> None:
    refusal = Served("planner", "429")
    assert account([refusal, REPLY], [REFUSED, paid()]).lost == 0
    assert account([refusal, REPLY], [paid()]).lost == 1
    assert account([], [REFUSED, REFUSED]).twice == 0, "the model was away"


def test_a_killed_process_may_lose_one_call_for_each_work_it_had_in_hand() -> None:
    lost = account([REPLY, REPLY], [paid()], [KILLED], [OPEN, OVER])
    assert (lost.lost, lost.allowed) == (1, 1)
    assert account([REPLY], [], [KILLED], [OVER]).allowed == 0
    assert account([REPLY], [], [KILLED], [OPEN._replace(service="verifier")]).allowed == 0
    assert account([REPLY], [], [KILLED], [OPEN, OPEN._replace(ended=None)]).allowed == 2
    just_ended = OPEN._replace(ended=NOON - timedelta(seconds=2))
    assert account([REPLY], [], [KILLED], [just_ended]).allowed == 0
    assert account([REPLY], [], [KILLED._replace(late=2.0)], [just_ended]).allowed == 1, "the suite saw it late"


def test_who_left_in_time_loses_nothing() -> None:
    left = KILLED._replace(asked="SIGTERM", code=0)
    assert account([REPLY], [], [left._replace(seconds=1)], [OPEN]).allowed == 0
    assert account([REPLY], [], [left._replace(seconds=5)], [OPEN]).allowed == 1, "its grace was over"
    assert account([REPLY], [], [left._replace(asked="cut")], [OPEN]).allowed == 1


def test_a_model_that_was_killed_itself_served_nothing() -> None:
    running = Served("planner", "running", None)
    assert account([running], []).lost == 0
    assert account([REPLY._replace(outcome="running")], [paid()]).twice == 0
