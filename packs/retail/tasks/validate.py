"""Is a task sound? Named checks, each with what is wrong; the calls are replayed on a fresh world of their own."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import JsonValue, ValidationError

from packs.retail.policy import Call, violations
from packs.retail.specs import SPECS
from packs.retail.tasks import outputs, sense
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import Part, Task, TaskCall, ours, same_calls, same_words
from shared.repair import repair

SPEC = {spec.name: spec for spec in SPECS}
_KNOWN = {"order_id": "orders", "user_id": "users", "product_id": "products"}
_SHOWN = 300  # characters of a result that the report quotes


class Check(Part):
    """`ok` None: it was not looked at; `detail` says why, or what is wrong."""

    name: str
    ok: bool | None
    detail: str = ""


class Replayed(Part):
    """One call of the task, made on the fresh world."""

    name: str
    ok: bool
    result: str


class Report(Part):
    """`changed`: the documents that the calls leave different, as "orders/#W1"."""

    checks: tuple[Check, ...]
    replay: tuple[Replayed, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return all(check.ok is not False for check in self.checks)

    @property
    def wrong(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.ok is False)

    def having(self, check: Check) -> "Report":
        """The same with this check, in the place of an earlier one of its name."""
        checks = (*(one for one in self.checks if one.name != check.name), check)
        return self.model_copy(update={"checks": checks})

    def as_json(self) -> dict[str, Any]:
        return {"valid": self.valid, **self.model_dump(mode="json")}


def parse(raw: JsonValue) -> Task | Check:
    """The task (also as tau-bench writes it), or the failed check that says why it is none."""
    try:
        return Task.model_validate(ours(raw))
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        problems = [f"{'.'.join(map(str, one['loc'])) or 'task'}: {one['msg']}" for one in found[:10]]
        return Check(name="schema", ok=False, detail="; ".join(problems))


def validate(raw: JsonValue | Task, shop: Shop) -> Report:
    """Every check of one task, also after one that fails, as far as there is something to look at."""
    task = raw if isinstance(raw, Task) else parse(raw)
    if isinstance(task, Check):
        return Report(checks=(task,))
    found = sense.about(task, shop)
    before = sense.reads(found, shop)
    world = shop.fresh()
    done = [sense.made(world, call) for call in task.agt]
    empty = "no calls and nothing to be answered: whoever changes nothing is right"
    checks = [
        Check(name="schema", ok=True),
        *([] if task.agt or task.ogt else [Check(name="content", ok=None, detail=empty)]),
    ]
    problems = {
        "tools": tuple(f"{_at(at, call)}: no such tool" for at, call in enumerate(task.agt) if call.name not in SPEC),
        "arguments": tuple(_arguments(task)),
        "ids": tuple(_ids(task, shop)),
        "user": tuple(_user(task, found, shop)),
        "replay": tuple(f"{_at(at, task.agt[at])}: {call.result}" for at, call in enumerate(done) if not call.ok),
        "outputs": tuple(f"{one!r} is in no result" for one in outputs.missing(task.ogt, [*before, *done])),
        "policy": tuple(_policy(task, before, done)),
    }
    checks += [Check(name=name, ok=not found, detail="; ".join(found)) for name, found in problems.items()]
    return Report(
        checks=tuple(checks),
        replay=tuple(Replayed(name=call.tool, ok=call.ok, result=call.result[:_SHOWN]) for call in done),
        changed=tuple(f"{kind}/{document_id}" for kind, document_id in world.changed),
    )


def validate_all(raws: Sequence[JsonValue], shop: Shop) -> list[Report]:
    """The report of each, with a check for tasks that another one before it says already."""
    reports = []
    words: dict[str, list[int]] = defaultdict(list)
    calls: dict[str, list[int]] = defaultdict(list)
    for at, raw in enumerate(raws):
        report, task = validate(raw, shop), parse(raw)
        if isinstance(task, Task):
            same = [f"the same words as task {one + 1}" for one in words[same_words(task.q)][:1]]
            same += [f"the same calls as task {one + 1}" for one in calls[same_calls(task.agt)][:1] if task.agt]
            words[same_words(task.q)].append(at)
            calls[same_calls(task.agt)].append(at)
            report = report.having(Check(name="duplicates", ok=not same, detail="; ".join(same)))
        reports.append(report)
    return reports


def _at(at: int, call: TaskCall) -> str:
    return f"call {at + 1}, {call.name}"


def _arguments(task: Task) -> Iterator[str]:
    for at, call in enumerate(task.agt):
        if call.name in SPEC:
            done = repair(call.arguments, SPEC[call.name].parameters)
            yield from (f"{_at(at, call)}: {problem}" for problem in (*done.problems, *done.repairs))


def _ids(task: Task, shop: Shop) -> Iterator[str]:
    data = shop.data
    variants = {item for product in data["products"].values() for item in product["variants"]}
    methods = {method for user in data["users"].values() for method in user["payment_methods"]}
    for at, call in enumerate(task.agt):
        for name, value in call.arguments.items():
            for one in value if isinstance(value, list) else [value]:
                known: object = (
                    variants if name.endswith("item_ids") else methods if name == "payment_method_id" else None
                )
                if name in _KNOWN:
                    known = data[_KNOWN[name]]  # type: ignore[literal-required]
                if known is not None and (not isinstance(one, str) or one not in known):  # type: ignore[operator]
                    yield f"{_at(at, call)}: {name} {one!r} does not exist"


def _user(task: Task, found: sense.About, shop: Shop) -> Iterator[str]:
    if not found.users:
        yield "nobody can tell whose task it is"
    elif len(found.users) > 1:
        yield f"it is about several customers: {', '.join(found.users)}"
    elif found.users[0] not in sense.identified(task.q, shop):
        yield f"the instruction has neither e-mail nor name and postal code of {found.users[0]}"


def _policy(task: Task, before: Sequence[Call], done: Sequence[Call]) -> Iterator[str]:
    so_far = list(before)
    for at, call in enumerate(task.agt):
        if call.name in SPEC:
            yield from (f"{_at(at, call)}: {why}" for why in violations(so_far, [(call.name, call.arguments)]))
        so_far.append(done[at])
