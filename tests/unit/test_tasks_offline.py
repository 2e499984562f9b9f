"""Validating, correcting, comparing and exporting test tasks, with only the sample store: no model, no services."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.tasks.report import measure_diversity
from packs.retail.tasks import export, outputs, task
from packs.retail.tasks.correct import correct
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.scenarios import KINDS, NoScenario, Scenario, ScenarioDeck
from packs.retail.tasks.task import RetailTask
from packs.retail.tasks.validate import TaskReport, parse, validate, validate_all
from tests.support.store import STORE

SHOP = Shop(STORE)
DECK = ScenarioDeck(SHOP.data, 5, size=100)


def drafted(scenario: Scenario, suffix: str = "") -> dict[str, Any]:
    """A task with exactly the calls and answers that the scenario expects, and a plain request text."""
    user = scenario.user
    name = f"{user['name']['first_name']} {user['name']['last_name']}"
    intents = "; ".join(intent.about for intent in scenario.intents)
    return {
        "q": f"You are {name}, your zip code is {user['address']['zip']}. You want: {intents}.{suffix}",
        "agt": [
            {"name": intent.tool, "arguments": dict(intent.arguments)} for intent in scenario.intents if intent.tool
        ],
        "ogt": [answer for intent in scenario.intents for answer in intent.answers],
    }


def task_of_kind(kind: str) -> dict[str, Any]:
    return drafted(ScenarioDeck(SHOP.data, 3, kinds=[kind])[0])


def failed_checks(raw: Any) -> dict[str, str]:
    """The detail of each failed check, by its name."""
    return {check.name: check.detail for check in validate(raw, SHOP).wrong}


# --- scenarios


@pytest.mark.parametrize("kind", KINDS)
def test_every_scenario_gives_a_valid_task(kind: str) -> None:
    deck = ScenarioDeck(SHOP.data, 1, kinds=[kind])
    for number in range(25):
        raw = drafted(deck[number])
        report = validate(raw, SHOP)
        assert report.wrong == (), raw
        assert len(report.changed) >= len({json.dumps(call) for call in raw["agt"]}) > 0 or kind == "lookup"


def test_a_batch_is_varied() -> None:
    tasks = [RetailTask.model_validate(drafted(DECK[number])) for number in range(50)]
    diversity = measure_diversity(tasks, SHOP)
    assert (diversity.tasks, diversity.users) == (50, 50)
    assert len(diversity.tools) == 7
    assert set(diversity.actions) >= {0, 1, 2, 3}
    assert set(diversity.kinds) >= {"cancel", "return", "exchange", "modify_items", "lookup", "several"}
    assert diversity.products >= 25
    assert diversity.likeness is not None
    assert 0 < diversity.likeness < 0.5


def test_scenarios_can_be_limited_to_one_customer() -> None:
    user_id = next(user for user, item in SHOP.data["users"].items() if not item["orders"])
    scenario = ScenarioDeck(SHOP.data, 1, user_id=user_id)[0]
    assert scenario.user_id == user_id
    assert {intent.kind for intent in scenario.intents} <= {"change_profile_address", "lookup"}
    with pytest.raises(NoScenario, match="can be wanted by"):
        ScenarioDeck(SHOP.data, 1, user_id=user_id, kinds=["cancel"])[0]
    with pytest.raises(NoScenario, match="no customer nobody_1"):
        ScenarioDeck(SHOP.data, 1, user_id="nobody_1")
    with pytest.raises(NoScenario, match="no tasks of kind sing"):
        ScenarioDeck(SHOP.data, 1, kinds=["sing"])


# --- validation


def test_each_check_finds_its_fault() -> None:
    good = task_of_kind("cancel")
    call = good["agt"][0]
    order_id = call["arguments"]["order_id"]

    def with_call(**arguments: Any) -> dict[str, Any]:
        return good | {"agt": [{**call, "arguments": call["arguments"] | arguments}]}

    assert failed_checks(good) == {}
    assert "q" in failed_checks({"agt": [], "ogt": []})["schema"]
    assert failed_checks(good | {"agt": [{"name": "sing", "arguments": {}}]})["tools"] == "call 1, sing: no such tool"
    assert "order_id '#W1' does not exist" in failed_checks(with_call(order_id="#W1"))["ids"]
    assert "invalid reason" in failed_checks(with_call(reason="bored"))["replay"]
    assert "reason must be one of" in failed_checks(with_call(reason="bored"))["arguments"]
    assert "no field of this tool" in failed_checks(with_call(user_id="x"))["arguments"]
    assert failed_checks(good | {"ogt": ["a unicorn"]})["outputs"] == "'a unicorn' is in no result"
    assert "non-pending" in failed_checks(good | {"agt": [call, call]})["replay"]
    assert "is cancelled" in failed_checks(good | {"agt": [call, call]})["policy"]
    assert "neither e-mail nor name" in failed_checks(good | {"q": f"You want to cancel order {order_id}."})["user"]
    no_customer = failed_checks({"q": "You want to be happy.", "agt": [], "ogt": ["42"]})
    assert no_customer["user"] == "the task names no customer"


def test_a_task_about_two_customers_is_invalid() -> None:
    first, second = task_of_kind("cancel"), drafted(ScenarioDeck(SHOP.data, 99, kinds=["cancel"])[0])
    failed = failed_checks(first | {"agt": first["agt"] + second["agt"]})
    assert failed["user"].startswith("it is about several customers")
    assert "is not one of" in failed["policy"]
    assert "replay" not in failed


def test_a_report_is_json_and_lists_the_replayed_calls() -> None:
    report = validate(task_of_kind("return"), SHOP).as_json()
    assert json.loads(json.dumps(report)) == report
    assert report["valid"] is True
    assert report["replay"][0]["name"] == "return_delivered_order_items"
    assert report["changed"][0].startswith("orders/#W")


def test_duplicates_of_earlier_tasks_are_found() -> None:
    first, second = task_of_kind("cancel"), task_of_kind("return")
    shouted = first | {"q": first["q"].upper() + " !"}
    reports = validate_all([first, second, shouted, second | {"q": second["q"] + " Be kind."}, {"q": 1}], SHOP)

    def duplicates(report: TaskReport) -> str:
        return next((check.detail for check in report.checks if check.name == "duplicates"), "-")

    findings = [duplicates(report) for report in reports]
    assert findings == ["", "", "the same words as task 1; the same calls as task 1", "the same calls as task 2", "-"]


@pytest.mark.parametrize(
    ("output", "answer", "is_answered"),
    [
        ("54.04", "You get $54.04 back.", True),
        ("1234.5", "It came to $1,234.50.", True),
        ("10", "There are 10 left.", True),
        ("1", "There are 10 left.", True),  # tau-bench counts a match inside a number, too
        ("10", "There are ten left.", False),
        ("blue, small", "The Blue small one", True),
    ],
)
def test_whether_an_answer_contains_an_expected_output(output: str, answer: str, is_answered: bool) -> None:
    assert outputs.is_answered(output, answer) is is_answered


def test_an_expected_number_may_be_a_sum_but_not_part_of_an_id() -> None:
    order = next(order for order in SHOP.data["orders"].values() if len(order["items"]) == 3)
    user = SHOP.data["users"][order["user_id"]]
    q = f"You are {user['name']['first_name']} {user['name']['last_name']}, zip {user['address']['zip']}."
    total_of_two = f"{sum(item['price'] for item in order['items'][:2]):.2f}"
    raw: dict[str, Any] = {"q": q + order["order_id"], "agt": [], "ogt": [total_of_two]}
    assert "outputs" not in failed_checks(raw)
    part_of_id = order["order_id"][3:7]
    assert "outputs" in failed_checks(raw | {"ogt": [part_of_id]})


# --- correction


def test_corrections_are_made_and_listed() -> None:
    good = task_of_kind("exchange")
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
    result = correct(bad, SHOP)
    assert result.problems == ()
    assert result.task == RetailTask.model_validate(good | {"ogt": ["12.5"]})
    assert validate(good, SHOP).valid
    fields = {item.field for item in result.corrections if item.action == 0}
    assert fields >= {"tool", "name", "kwargs", "id", "order_id", "item_ids", "payment_method_id", "user_id"}
    assert {item.field for item in result.corrections if item.action is None} >= {"agt", "ogt", "reasoning"}
    dropped = next(item for item in result.as_json() if item["field"] == "user_id")
    assert (dropped["before"], dropped["after"], dropped["action"]) == ("somebody", None, 0)


def test_missing_calls_are_not_invented() -> None:
    """An empty list of calls states that the task changes nothing, so a missing list must not become an empty one."""
    good = task_of_kind("cancel")
    for bad in ({"q": good["q"], "ogt": []}, good | {"agt": None}):
        result = correct(bad, SHOP)
        assert (result.task, result.problems) == (
            None,
            ("agt: no calls are given; [] says that nothing is to be changed",),
        )
    assert correct({"q": good["q"], "agt": []}, SHOP).task == RetailTask(q=good["q"], agt=(), ogt=())


def test_other_forms_of_a_call_are_corrected_to_the_same_task() -> None:
    call = task_of_kind("cancel")["agt"][0]
    flat = {"name": call["name"], **call["arguments"]}
    for form in (flat, {"type": "function", "function": {**call, "arguments": json.dumps(call["arguments"])}}):
        result = correct(task_of_kind("cancel") | {"agt": [form]}, SHOP)
        assert result.task == RetailTask.model_validate(task_of_kind("cancel"))
        assert result.corrections


@pytest.mark.parametrize(
    ("agt", "reason"),
    [
        ([{"name": "sing", "arguments": {}}], "there is no tool 'sing'"),
        ([{"name": "cancel_pending_order", "arguments": {"order_id": "#W1"}}], "reason is missing"),
        ("cancel my order, please", "agt"),
        ([7], "agt.0"),
    ],
)
def test_an_uncorrectable_task_is_rejected_with_a_reason(agt: Any, reason: str) -> None:
    result = correct({"q": "You are Ann.", "agt": agt, "ogt": []}, SHOP)
    assert result.task is None
    assert any(reason in problem for problem in result.problems)


# --- files


def test_every_file_format_is_read(tmp_path: Path) -> None:
    good = task_of_kind("cancel")
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
        for encoding in ("utf-8", "utf-8-sig"):
            (tmp_path / name).write_text(text, encoding=encoding)
            assert task.read_tasks(tmp_path / name) == [good], name
    (tmp_path / "tau.json").write_text(json.dumps([tau]))
    assert parse(task.read_tasks(tmp_path / "tau.json")[0]) == RetailTask.model_validate(good)
    (tmp_path / "bad").write_text("{}\nnot json")
    with pytest.raises(ValueError, match="line 2"):
        task.read_tasks(tmp_path / "bad")
    with pytest.raises(ValueError, match="cannot be read"):
        task.read_tasks(tmp_path / "none")


# The task classes of tau-bench, to load an export where no checkout of it exists.
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
def test_a_checkout_of_tau_bench_loads_an_export(tmp_path: Path, init: str) -> None:
    tasks = [RetailTask.model_validate(drafted(DECK[number], ' "It\'s" <fine>\n{{}}')) for number in range(12)]
    python, plain = export.write(tasks, SHOP, tmp_path / "out")
    trial = export.try_in_tau_bench(python, checkout(tmp_path / "tau", init))
    assert (trial.loaded, trial.problem) == (12, "")
    assert trial.how == ("tau_bench/types.py alone" if init else "tau_bench.types")
    assert [item["user_id"] for item in json.loads(plain.read_text())] == [DECK[number].user_id for number in range(12)]
    assert [parse(item) for item in task.read_tasks(plain)] == tasks


def test_a_folder_that_is_not_a_checkout_is_refused(tmp_path: Path) -> None:
    python, _ = export.write([], SHOP, tmp_path)
    assert "no checkout of tau-bench" in export.try_in_tau_bench(python, tmp_path).problem
    broken = checkout(tmp_path / "tau", "")
    (broken / "tau_bench" / "types.py").write_text("class Action: ...\n")
    assert "Task" in export.try_in_tau_bench(python, broken).problem
