"""Validating, correcting, comparing and exporting tasks, with only the store's data."""

import json
from pathlib import Path
from typing import Any

import pytest

from packs.retail.tasks import export, outputs, task
from packs.retail.tasks.correct import correct
from packs.retail.tasks.diversity import measure_diversity
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.scenarios import KINDS, NoScenario, Scenario, ScenarioDeck, ScenarioKind
from packs.retail.tasks.task import ExpectedCall, RetailTask
from packs.retail.tasks.validate import TaskReport, parse, validate, validate_all
from tests.support.store import STORE

SHOP = Shop(STORE)
DECK = ScenarioDeck(SHOP.data, 5, size=100)


def drafted(scenario: Scenario, more: str = "") -> dict[str, Any]:
    """The task that the brief's wishes make, as somebody without imagination would write it."""
    user = scenario.user
    name = f"{user['name']['first_name']} {user['name']['last_name']}"
    intents = "; ".join(wish.about for wish in scenario.intents)
    return {
        "q": f"You are {name}, your zip code is {user['address']['zip']}. You want: {intents}.{more}",
        "agt": [{"name": wish.tool, "arguments": dict(wish.arguments)} for wish in scenario.intents if wish.tool],
        "ogt": [answer for wish in scenario.intents for answer in wish.answers],
    }


def of_kind(kind: ScenarioKind) -> dict[str, Any]:
    return drafted(ScenarioDeck(SHOP.data, 3, kinds=[kind])[0])


def wrong(raw: Any) -> dict[str, str]:
    return {check.name: check.detail for check in validate(raw, SHOP).wrong}


# --- briefs


@pytest.mark.parametrize("kind", KINDS)
def test_every_brief_can_be_carried_out(kind: ScenarioKind) -> None:
    deck = ScenarioDeck(SHOP.data, 1, kinds=[kind])
    for number in range(25):
        raw = drafted(deck[number])
        report = validate(raw, SHOP)
        assert report.wrong == (), raw
        assert len(report.changed) >= len({json.dumps(call) for call in raw["agt"]}) > 0 or kind == "lookup"


def test_the_same_seed_gives_the_same_briefs_and_another_does_not() -> None:
    again, other = ScenarioDeck(SHOP.data, 5, size=100), ScenarioDeck(SHOP.data, 6, size=100)
    numbers = (3, 0, 40)
    assert [again[number].as_json() for number in numbers] == [DECK[number].as_json() for number in numbers]
    assert [other[number].as_json() for number in numbers] != [DECK[number].as_json() for number in numbers]
    json.dumps(DECK[0].as_json())


def test_a_batch_is_varied() -> None:
    tasks = [RetailTask.model_validate(drafted(DECK[number])) for number in range(50)]
    found = measure_diversity(tasks, SHOP)
    assert (found.tasks, found.users) == (50, 50)
    assert len(found.tools) == 7
    assert set(found.actions) >= {0, 1, 2, 3}
    assert set(found.kinds) >= {"cancel", "return", "exchange", "modify_items", "lookup", "several"}
    assert found.products >= 25
    assert found.likeness is not None
    assert 0 < found.likeness < 0.5


def test_briefs_can_be_for_one_customer() -> None:
    user_id = next(user for user, item in SHOP.data["users"].items() if not item["orders"])
    brief = ScenarioDeck(SHOP.data, 1, user_id=user_id)[0]
    assert brief.user_id == user_id
    assert {wish.kind for wish in brief.intents} <= {"change_profile_address", "lookup"}
    with pytest.raises(NoScenario, match="can be wanted by"):
        ScenarioDeck(SHOP.data, 1, user_id=user_id, kinds=["cancel"])[0]
    with pytest.raises(NoScenario, match="no customer nobody_1"):
        ScenarioDeck(SHOP.data, 1, user_id="nobody_1")
    with pytest.raises(NoScenario, match="no tasks of kind sing"):
        ScenarioDeck(SHOP.data, 1, kinds=["sing"])  # type: ignore[list-item]


# --- validation


def test_each_fault_is_found_by_its_check() -> None:
    good = of_kind("cancel")
    call = good["agt"][0]
    order_id = call["arguments"]["order_id"]

    def with_call(**arguments: Any) -> dict[str, Any]:
        return good | {"agt": [{**call, "arguments": call["arguments"] | arguments}]}

    assert wrong(good) == {}
    assert "q" in wrong({"agt": [], "ogt": []})["schema"]
    assert wrong(good | {"agt": [{"name": "sing", "arguments": {}}]})["tools"] == "call 1, sing: no such tool"
    assert "order_id '#W1' does not exist" in wrong(with_call(order_id="#W1"))["ids"]
    assert "invalid reason" in wrong(with_call(reason="bored"))["replay"]
    assert "reason must be one of" in wrong(with_call(reason="bored"))["arguments"]
    assert "no field of this tool" in wrong(with_call(user_id="x"))["arguments"]
    assert wrong(good | {"ogt": ["a unicorn"]})["outputs"] == "'a unicorn' is in no result"
    assert "non-pending" in wrong(good | {"agt": [call, call]})["replay"]
    assert "is cancelled" in wrong(good | {"agt": [call, call]})["policy"]
    assert "neither e-mail nor name" in wrong(good | {"q": f"You want to cancel order {order_id}."})["user"]
    no_customer = wrong({"q": "You want to be happy.", "agt": [], "ogt": ["42"]})
    assert no_customer["user"] == "the task names no customer"


def test_two_customers_in_one_task() -> None:
    item, other = of_kind("cancel"), drafted(ScenarioDeck(SHOP.data, 99, kinds=["cancel"])[0])
    found = wrong(item | {"agt": item["agt"] + other["agt"]})
    assert found["user"].startswith("it is about several customers")
    assert "is not one of" in found["policy"]
    assert "replay" not in found


def test_a_report_is_json_and_says_what_was_replayed() -> None:
    report = validate(of_kind("return"), SHOP).as_json()
    assert json.loads(json.dumps(report)) == report
    assert report["valid"] is True
    assert report["replay"][0]["name"] == "return_delivered_order_items"
    assert report["changed"][0].startswith("orders/#W")


def test_duplicates_of_earlier_tasks_are_found() -> None:
    item, other = of_kind("cancel"), of_kind("return")
    shouted = item | {"q": item["q"].upper() + " !"}
    reports = validate_all([item, other, shouted, other | {"q": other["q"] + " Be kind."}, {"q": 1}], SHOP)

    def duplicates(report: TaskReport) -> str:
        return next((check.detail for check in report.checks if check.name == "duplicates"), "-")

    findings = [duplicates(report) for report in reports]
    assert findings == ["", "", "the same words as task 1; the same calls as task 1", "the same calls as task 2", "-"]


def test_replaying_leaves_the_data_as_it_was() -> None:
    before = json.dumps(SHOP.data)
    calls = [ExpectedCall(**call) for call in of_kind("cancel")["agt"]]
    assert SHOP.after(calls)
    assert SHOP.after(calls) == SHOP.after([*calls, *calls])
    assert SHOP.after([]) == {}
    assert json.dumps(SHOP.data) == before


@pytest.mark.parametrize(
    ("output", "answer", "there"),
    [
        ("54.04", "You get $54.04 back.", True),
        ("1234.5", "It came to $1,234.50.", True),
        ("10", "There are 10 left.", True),
        ("1", "There are 10 left.", True),  # as tau-bench judges it
        ("10", "There are ten left.", False),
        ("blue, small", "The Blue small one", True),
    ],
)
def test_what_counts_as_answered(output: str, answer: str, there: bool) -> None:
    assert outputs.is_answered(output, answer) is there


def test_numbers_are_worked_out_and_not_found_in_ids() -> None:
    order = next(order for order in SHOP.data["orders"].values() if len(order["items"]) == 3)
    user = SHOP.data["users"][order["user_id"]]
    q = f"You are {user['name']['first_name']} {user['name']['last_name']}, zip {user['address']['zip']}."
    two = f"{sum(item['price'] for item in order['items'][:2]):.2f}"
    raw: dict[str, Any] = {"q": q + order["order_id"], "agt": [], "ogt": [two]}
    assert "outputs" not in wrong(raw)
    inside = order["order_id"][3:7]
    assert "outputs" in wrong(raw | {"ogt": [inside]})


# --- correction


def test_corrections_are_made_and_listed() -> None:
    good = of_kind("exchange")
    call = good["agt"][0]
    bad = {
        "instruction": good["q"],
        "actions": json.dumps(
            [
                {
                    "tool": "exchangeDeliveredOrderItems",
                    "kwargs": {
                        "orderId": call["arguments"]["order_id"].removeprefix("#"),
                        "item_ids": str(call["arguments"]["item_ids"]),
                        "new_item_ids": [int(item) for item in call["arguments"]["new_item_ids"]],
                        "payment_method_id": f" {call['arguments']['payment_method_id']} ",
                        "user_id": "somebody",
                    },
                    "id": 3,
                }
            ]
        ),
        "outputs": 12.5,
        "reasoning": "because",
    }
    done = correct(bad, SHOP)
    assert done.problems == ()
    assert done.task == RetailTask.model_validate(good | {"ogt": ["12.5"]})
    assert validate(good, SHOP).valid
    inside = {item.field for item in done.corrections if item.action == 0}
    assert inside >= {"tool", "name", "kwargs", "id", "order_id", "item_ids", "payment_method_id", "user_id"}
    assert {item.field for item in done.corrections if item.action is None} >= {"agt", "ogt", "reasoning"}
    dropped = next(item for item in done.as_json() if item["field"] == "user_id")
    assert (dropped["before"], dropped["after"], dropped["action"]) == ("somebody", None, 0)


def test_missing_calls_are_not_invented() -> None:
    """A task without calls means that nothing is to be done, so this is not a fault of form."""
    good = of_kind("cancel")
    for bad in ({"q": good["q"], "ogt": []}, good | {"agt": None}):
        done = correct(bad, SHOP)
        assert (done.task, done.problems) == (None, ("agt: no calls are given; [] says that nothing is to be changed",))
    assert correct({"q": good["q"], "agt": []}, SHOP).task == RetailTask(q=good["q"], agt=(), ogt=())


def test_a_valid_task_is_not_corrected() -> None:
    for number in range(20):
        raw = drafted(DECK[number])
        done = correct(raw, SHOP)
        assert (done.task, done.corrections, done.problems) == (RetailTask.model_validate(raw), (), ())


def test_every_correction_of_a_valid_task_is_one_that_was_made() -> None:
    call = of_kind("cancel")["agt"][0]
    beside = {"name": call["name"], **call["arguments"]}
    for form in (beside, {"type": "function", "function": {**call, "arguments": json.dumps(call["arguments"])}}):
        done = correct(of_kind("cancel") | {"agt": [form]}, SHOP)
        assert done.task == RetailTask.model_validate(of_kind("cancel"))
        assert done.corrections


@pytest.mark.parametrize(
    ("agt", "why"),
    [
        ([{"name": "sing", "arguments": {}}], "there is no tool 'sing'"),
        ([{"name": "cancel_pending_order", "arguments": {"order_id": "#W1"}}], "reason is missing"),
        ("cancel my order, please", "agt"),
        ([7], "agt.0"),
    ],
)
def test_an_uncorrectable_task_is_rejected_with_a_reason(agt: Any, why: str) -> None:
    done = correct({"q": "You are Ann.", "agt": agt, "ogt": []}, SHOP)
    assert done.task is None
    assert any(why in problem for problem in done.problems)


# --- files


def test_every_form_of_file_is_read(tmp_path: Path) -> None:
    good = of_kind("cancel")
    actions = [{"name": call["name"], "kwargs": call["arguments"]} for call in good["agt"]]
    tau = {"user_id": "x", "instruction": good["q"], "actions": actions, "outputs": []}
    forms = {
        "list.json": json.dumps([good]),
        "one.json": json.dumps(good),
        "lines.jsonl": f"{json.dumps(good)}\n\n",
        "results.json": json.dumps([{"success": True, "task": good}]),
        "file.json": json.dumps({"tasks": [{"task": good}], "batch": {}}),
    }
    for name, text in forms.items():
        (tmp_path / name).write_text(text)
        assert task.read_tasks(tmp_path / name) == [good], name
    (tmp_path / "tau.json").write_text(json.dumps([tau]))
    assert parse(task.read_tasks(tmp_path / "tau.json")[0]) == RetailTask.model_validate(good)
    (tmp_path / "bad").write_text("{}\nnot json")
    with pytest.raises(ValueError, match="line 2"):
        task.read_tasks(tmp_path / "bad")
    with pytest.raises(ValueError, match="cannot be read"):
        task.read_tasks(tmp_path / "none")


# The shape that tau-bench's tasks have, to try the export with where no checkout is at hand.
TYPES = """
from typing import Any
from pydantic import BaseModel

class Action(BaseModel):
    name: str
    kwargs: dict[str, Any]

class Task(BaseModel):
    user_id: str
    actions: list[Action]
    instruction: str
    outputs: list[str]
"""


def checkout(folder: Path, init: str) -> Path:
    (folder / "tau_bench").mkdir(parents=True)
    (folder / "tau_bench" / "__init__.py").write_text(init)
    (folder / "tau_bench" / "types.py").write_text(TYPES)
    return folder


@pytest.mark.parametrize("init", ["", "import a_package_that_is_not_installed"])
def test_an_export_is_loaded_by_a_checkout(tmp_path: Path, init: str) -> None:
    tasks = [RetailTask.model_validate(drafted(DECK[number], ' "It\'s" <fine>\n{{}}')) for number in range(12)]
    python, plain = export.write(tasks, SHOP, tmp_path / "out")
    tried = export.try_in_tau_bench(python, checkout(tmp_path / "tau", init))
    assert (tried.loaded, tried.problem) == (12, "")
    assert tried.how == ("tau_bench/types.py alone" if init else "tau_bench.types")
    assert [item["user_id"] for item in json.loads(plain.read_text())] == [DECK[number].user_id for number in range(12)]
    assert [parse(item) for item in task.read_tasks(plain)] == tasks


def test_a_folder_that_is_not_a_checkout_is_refused(tmp_path: Path) -> None:
    python, _ = export.write([], SHOP, tmp_path)
    assert "no checkout of tau-bench" in export.try_in_tau_bench(python, tmp_path).problem
    broken = checkout(tmp_path / "tau", "")
    (broken / "tau_bench" / "types.py").write_text("class Action: ...\n")
    assert "Task" in export.try_in_tau_bench(python, broken).problem
