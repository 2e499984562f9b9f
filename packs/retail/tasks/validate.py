"""Validates tasks with named checks. The calls are replayed in a new world."""

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import JsonValue, ValidationError

from packs.retail.known_records import CompletedCall
from packs.retail.policy import violations
from packs.retail.specs import SPECS
from packs.retail.tasks.outputs import unsupported
from packs.retail.tasks.replay import Shop, TaskSubject, expected_reads, identified_users, subject_of
from packs.retail.tasks.task import EarlierTasks, ExpectedCall, RetailTask, TaskModel
from shared.repair import repair

SPEC = {spec.name: spec for spec in SPECS}
_MAX_RESULT = 300  # characters of a result in the report


class TaskCheck(TaskModel):
    """One check. `ok` is None if it was not made; `detail` says why, or what is wrong."""

    name: str
    ok: bool | None
    detail: str = ""


class ReplayedCall(TaskModel):
    """One call of the task, replayed in a new world."""

    name: str
    ok: bool
    result: str


class TaskReport(TaskModel):
    """The checks of a task. `changed` are the documents that the calls change, as "orders/#W1"."""

    checks: tuple[TaskCheck, ...]
    replay: tuple[ReplayedCall, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.wrong

    @property
    def wrong(self) -> tuple[TaskCheck, ...]:
        return tuple(check for check in self.checks if check.ok is False)

    def with_check(self, name: str, problems: Sequence[str]) -> "TaskReport":
        return self.model_copy(update={"checks": (*self.checks, _check(name, problems))})

    def as_json(self) -> dict[str, Any]:
        return {"valid": self.valid, **self.model_dump(mode="json")}


def parse(raw: JsonValue) -> RetailTask | TaskCheck:
    """The task, also from tau-bench's format; or the failed check that says why it is invalid."""
    try:
        return RetailTask.model_validate(raw)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False, include_context=False)
        return _check("schema", [f"{'.'.join(map(str, each['loc'])) or 'task'}: {each['msg']}" for each in errors[:10]])


def validate(raw: JsonValue | RetailTask, shop: Shop) -> TaskReport:
    """All checks of one task, also after a failed one, as far as possible."""
    task = raw if isinstance(raw, RetailTask) else parse(raw)
    if isinstance(task, TaskCheck):
        return TaskReport(checks=(task,))
    subject, world = subject_of(task, shop), shop.fresh()
    reads = expected_reads(subject, shop)
    replayed = [world.complete(call.name, call.arguments) for call in task.agt]
    checks = [_check("schema", ())]
    if not task.agt and not task.ogt:
        empty = "no calls and no outputs: an agent that changes nothing passes"
        checks.append(TaskCheck(name="content", ok=None, detail=empty))
    problems = {
        "tools": [f"{_label(at, call)}: no such tool" for at, call in enumerate(task.agt) if call.name not in SPEC],
        "arguments": list(_argument_problems(task)),
        "ids": list(_unknown_ids(task, shop)),
        "user": list(_user_problems(task, subject, shop)),
        "replay": [f"{_label(at, task.agt[at])}: {call.result}" for at, call in enumerate(replayed) if not call.ok],
        "outputs": [f"{output!r} is in no result" for output in unsupported(task.ogt, [*reads, *replayed])],
        "policy": list(_policy_problems(task, reads, replayed)),
    }
    return TaskReport(
        checks=(*checks, *(_check(name, found) for name, found in problems.items())),
        replay=tuple(ReplayedCall(name=call.tool, ok=call.ok, result=call.result[:_MAX_RESULT]) for call in replayed),
        changed=tuple(f"{kind}/{document_id}" for kind, document_id in world.changed),
    )


def validate_all(raws: Sequence[JsonValue], shop: Shop) -> list[TaskReport]:
    """The report of each task, with a check for duplicates of earlier tasks."""
    reports, earlier = [], EarlierTasks()
    for number, raw in enumerate(raws, 1):
        task = parse(raw)
        if isinstance(task, TaskCheck):
            reports.append(TaskReport(checks=(task,)))
        else:
            reports.append(validate(task, shop).with_check("duplicates", earlier.repeated(task)))
            earlier.add(task, number)
    return reports


def _check(name: str, problems: Sequence[str]) -> TaskCheck:
    return TaskCheck(name=name, ok=not problems, detail="; ".join(problems))


def _label(at: int, call: ExpectedCall) -> str:
    return f"call {at + 1}, {call.name}"


def _argument_problems(task: RetailTask) -> Iterator[str]:
    for at, call in enumerate(task.agt):
        if call.name in SPEC:
            repaired = repair(call.arguments, SPEC[call.name].parameters)
            yield from (f"{_label(at, call)}: {problem}" for problem in (*repaired.problems, *repaired.repairs))


def _unknown_ids(task: RetailTask, shop: Shop) -> Iterator[str]:
    for at, call in enumerate(task.agt):
        for name, value in call.arguments.items():
            for value_id in value if isinstance(value, list) else [value]:
                if name in shop.ids and (not isinstance(value_id, str) or value_id not in shop.ids[name]):
                    yield f"{_label(at, call)}: {name} {value_id!r} does not exist"


def _user_problems(task: RetailTask, subject: TaskSubject, shop: Shop) -> Iterator[str]:
    if not subject.users:
        yield "the task names no customer"
    elif len(subject.users) > 1:
        yield f"it is about several customers: {', '.join(subject.users)}"
    elif subject.users[0] not in identified_users(task.q, shop):
        yield f"the instruction has neither e-mail nor name and postal code of {subject.users[0]}"


def _policy_problems(
    task: RetailTask, reads: Sequence[CompletedCall], replayed: Sequence[CompletedCall]
) -> Iterator[str]:
    for at, call in enumerate(task.agt):
        if call.name in SPEC:
            past = [*reads, *replayed[:at]]
            yield from (f"{_label(at, call)}: {why}" for why in violations(past, [(call.name, call.arguments)]))
