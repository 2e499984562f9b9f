"""Validates tasks with named checks. The calls are replayed in a new world."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import JsonValue, ValidationError

from packs.retail.policy import CompletedCall, violations
from packs.retail.specs import SPECS
from packs.retail.tasks import outputs, subject
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import ExpectedCall, RetailTask, TaskModel, from_tau_bench, same_calls, same_words
from shared.repair import repair

SPEC = {spec.name: spec for spec in SPECS}
_KNOWN = {"order_id": "orders", "user_id": "users", "product_id": "products"}
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
        return all(check.ok is not False for check in self.checks)

    @property
    def wrong(self) -> tuple[TaskCheck, ...]:
        return tuple(check for check in self.checks if check.ok is False)

    def with_check(self, check: TaskCheck) -> "TaskReport":
        """The report with this check, which replaces one of the same name."""
        checks = (*(earlier for earlier in self.checks if earlier.name != check.name), check)
        return self.model_copy(update={"checks": checks})

    def as_json(self) -> dict[str, Any]:
        return {"valid": self.valid, **self.model_dump(mode="json")}


def parse(raw: JsonValue) -> RetailTask | TaskCheck:
    """The task, also from tau-bench's format; or the failed check that says why it is invalid."""
    try:
        return RetailTask.model_validate(from_tau_bench(raw))
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False, include_context=False)
        problems = [f"{'.'.join(map(str, problem['loc'])) or 'task'}: {problem['msg']}" for problem in errors[:10]]
        return TaskCheck(name="schema", ok=False, detail="; ".join(problems))


def validate(raw: JsonValue | RetailTask, shop: Shop) -> TaskReport:
    """All checks of one task, also after a failed one, as far as possible."""
    task = raw if isinstance(raw, RetailTask) else parse(raw)
    if isinstance(task, TaskCheck):
        return TaskReport(checks=(task,))
    found = subject.subject_of(task, shop)
    reads = subject.expected_reads(found, shop)
    world = shop.fresh()
    replayed = [subject.replay_call(world, call) for call in task.agt]
    empty = "no calls and no outputs: an agent that changes nothing passes"
    checks = [
        TaskCheck(name="schema", ok=True),
        *([] if task.agt or task.ogt else [TaskCheck(name="content", ok=None, detail=empty)]),
    ]
    problems = {
        "tools": tuple(
            f"{_call_label(at, call)}: no such tool" for at, call in enumerate(task.agt) if call.name not in SPEC
        ),
        "arguments": tuple(_arguments(task)),
        "ids": tuple(_ids(task, shop)),
        "user": tuple(_user(task, found, shop)),
        "replay": tuple(
            f"{_call_label(at, task.agt[at])}: {call.result}" for at, call in enumerate(replayed) if not call.ok
        ),
        "outputs": tuple(
            f"{output!r} is in no result" for output in outputs.unsupported(task.ogt, [*reads, *replayed])
        ),
        "policy": tuple(_policy(task, reads, replayed)),
    }
    checks += [TaskCheck(name=name, ok=not found, detail="; ".join(found)) for name, found in problems.items()]
    return TaskReport(
        checks=tuple(checks),
        replay=tuple(ReplayedCall(name=call.tool, ok=call.ok, result=call.result[:_MAX_RESULT]) for call in replayed),
        changed=tuple(f"{kind}/{document_id}" for kind, document_id in world.changed),
    )


def validate_all(raws: Sequence[JsonValue], shop: Shop) -> list[TaskReport]:
    """The report of each task, with a check for duplicates of earlier tasks."""
    reports = []
    words: dict[str, list[int]] = defaultdict(list)
    calls: dict[str, list[int]] = defaultdict(list)
    for at, raw in enumerate(raws):
        report, task = validate(raw, shop), parse(raw)
        if isinstance(task, RetailTask):
            same = [f"the same words as task {earlier + 1}" for earlier in words[same_words(task.q)][:1]]
            same += [f"the same calls as task {earlier + 1}" for earlier in calls[same_calls(task.agt)][:1] if task.agt]
            words[same_words(task.q)].append(at)
            calls[same_calls(task.agt)].append(at)
            report = report.with_check(TaskCheck(name="duplicates", ok=not same, detail="; ".join(same)))
        reports.append(report)
    return reports


def _call_label(at: int, call: ExpectedCall) -> str:
    return f"call {at + 1}, {call.name}"


def _arguments(task: RetailTask) -> Iterator[str]:
    for at, call in enumerate(task.agt):
        if call.name in SPEC:
            repaired = repair(call.arguments, SPEC[call.name].parameters)
            yield from (f"{_call_label(at, call)}: {problem}" for problem in (*repaired.problems, *repaired.repairs))


def _ids(task: RetailTask, shop: Shop) -> Iterator[str]:
    data = shop.data
    variants = {item for product in data["products"].values() for item in product["variants"]}
    methods = {method for user in data["users"].values() for method in user["payment_methods"]}
    for at, call in enumerate(task.agt):
        for name, value in call.arguments.items():
            for value_id in value if isinstance(value, list) else [value]:
                known: object = (
                    variants if name.endswith("item_ids") else methods if name == "payment_method_id" else None
                )
                if name in _KNOWN:
                    known = data[_KNOWN[name]]  # type: ignore[literal-required]
                if known is not None and (not isinstance(value_id, str) or value_id not in known):  # type: ignore[operator]
                    yield f"{_call_label(at, call)}: {name} {value_id!r} does not exist"


def _user(task: RetailTask, task_subject: subject.TaskSubject, shop: Shop) -> Iterator[str]:
    if not task_subject.users:
        yield "the task names no customer"
    elif len(task_subject.users) > 1:
        yield f"it is about several customers: {', '.join(task_subject.users)}"
    elif task_subject.users[0] not in subject.identified_users(task.q, shop):
        yield f"the instruction has neither e-mail nor name and postal code of {task_subject.users[0]}"


def _policy(task: RetailTask, reads: Sequence[CompletedCall], replayed: Sequence[CompletedCall]) -> Iterator[str]:
    so_far = list(reads)
    for at, call in enumerate(task.agt):
        if call.name in SPEC:
            yield from (f"{_call_label(at, call)}: {why}" for why in violations(so_far, [(call.name, call.arguments)]))
        so_far.append(replayed[at])
