"""Judging, correcting, comparing and exporting tasks, with nothing but the store's data."""

import json
from pathlib import Path
from typing import Any

import pytest

from packs.retail.tasks import export, outputs, task
from packs.retail.tasks.briefs import KINDS, Brief, Deck, Kind, NoScenario
from packs.retail.tasks.correct import correct
from packs.retail.tasks.diversity import diversity
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import Task, TaskCall
from packs.retail.tasks.validate import Report, parse, validate, validate_all
from tests.support.store import STORE

SHOP = Shop(STORE)
DECK = Deck(SHOP.data, 5, size=100)


def drafted(brief: Brief, more: str = "") -> dict[str, Any]:
    """The task that the brief's wishes make, as somebody without imagination would write it."""
    user = brief.user
    name = f"{user['name']['first_name']} {user['name']['last_name']}"
    wishes = "; ".join(wish.about for wish in brief.wishes)
    return {
        "q": f"You are {name}, your zip code is {user['address']['zip']}. You want: {wishes}.{more}",
        "agt": [{"name": wish.tool, "arguments": dict(wish.arguments)} for wish in brief.wishes if wish.tool],
        "ogt": [answer for wish in brief.wishes for answer in wish.answers],
    }


def of_kind(kind: Kind) -> dict[str, Any]:
    return drafted(Deck(SHOP.data, 3, kinds=[kind])[0])


def wrong(raw: Any) -> dict[str, str]:
    return {check.name: check.detail for check in validate(raw, SHOP).wrong}


# --- briefs


@pytest.mark.parametrize("kind", KINDS)
def test_every_brief_can_be_carried_out(kind: Kind) -> None:
    deck = Deck(SHOP.data, 1, kinds=[kind])
    for number in range(25):
        raw = drafted(deck[number])
        report = validate(raw, SHOP)
        assert report.wrong == (), raw
        assert len(report.changed) >= len({json.dumps(call) for call in raw["agt"]}) > 0 or kind == "lookup"


def test_the_same_seed_deals_the_same_and_another_one_does_not() -> None:
    again, other = Deck(SHOP.data, 5, size=100), Deck(SHOP.data, 6, size=100)
    numbers = (3, 0, 40)
    assert [again[number].as_json() for number in numbers] == [DECK[number].as_json() for number in numbers]
    assert [other[number].as_json() for number in numbers] != [DECK[number].as_json() for number in numbers]
    json.dumps(DECK[0].as_json())


def test_a_batch_is_varied() -> None:
    tasks = [Task.model_validate(drafted(DECK[number])) for number in range(50)]
    found = diversity(tasks, SHOP)
    assert (found.tasks, found.users) == (50, 50)
    assert len(found.tools) == 7
    assert set(found.actions) >= {0, 1, 2, 3}
    assert set(found.kinds) >= {"cancel", "return", "exchange", "modify_items", "lookup", "several"}
    assert found.products >= 25
    assert found.likeness is not None
    assert 0 < found.likeness < 0.5


def test_a_customer_of_ones_own() -> None:
    user_id = next(user for user, one in SHOP.data["users"].items() if not one["orders"])
    brief = Deck(SHOP.data, 1, user_id=user_id)[0]
    assert brief.user_id == user_id
    assert {wish.kind for wish in brief.wishes} <= {"change_profile_address", "lookup"}
    with pytest.raises(NoScenario, match="can be wanted by"):
        Deck(SHOP.data, 1, user_id=user_id, kinds=["cancel"])[0]
    with pytest.raises(NoScenario, match="no customer nobody_1"):
        Deck(SHOP.data, 1, user_id="nobody_1")
    with pytest.raises(NoScenario, match="no tasks of kind sing"):
        Deck(SHOP.data, 1, kinds=["sing"])  # type: ignore[list-item]


# --- validation


def test_what_is_wrong_is_found_by_its_check() -> None:
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
    nobody = wrong({"q": "You want to be happy.", "agt": [], "ogt": ["42"]})
    assert nobody["user"] == "nobody can tell whose task it is"


def test_two_customers_in_one_task() -> None:
    one, other = of_kind("cancel"), drafted(Deck(SHOP.data, 99, kinds=["cancel"])[0])
    found = wrong(one | {"agt": one["agt"] + other["agt"]})
    assert found["user"].startswith("it is about several customers")
    assert "is not one of" in found["policy"]
    assert "replay" not in found


def test_a_report_is_json_and_says_what_was_replayed() -> None:
    report = validate(of_kind("return"), SHOP).as_json()
    assert json.loads(json.dumps(report)) == report
    assert report["valid"] is True
    assert report["replay"][0]["name"] == "return_delivered_order_items"
    assert report["changed"][0].startswith("orders/#W")


def test_tasks_that_were_there_before() -> None:
    one, other = of_kind("cancel"), of_kind("return")
    shouted = one | {"q": one["q"].upper() + " !"}
    reports = validate_all([one, other, shouted, other | {"q": other["q"] + " Be kind."}, {"q": 1}], SHOP)

    def duplicates(report: Report) -> str:
        return next((check.detail for check in report.checks if check.name == "duplicates"), "-")

    said = [duplicates(report) for report in reports]
    assert said == ["", "", "the same words as task 1; the same calls as task 1", "the same calls as task 2", "-"]


def test_replaying_leaves_the_data_as_it_was() -> None:
    before = json.dumps(SHOP.data)
    calls = [TaskCall(**call) for call in of_kind("cancel")["agt"]]
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
    assert outputs.answered(output, answer) is there


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
                        "new_item_ids": [int(one) for one in call["arguments"]["new_item_ids"]],
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
    assert done.task == Task.model_validate(good | {"ogt": ["12.5"]})
    assert validate(good, SHOP).valid
    inside = {one.field for one in done.corrections if one.action == 0}
    assert inside >= {"tool", "name", "kwargs", "id", "order_id", "item_ids", "payment_method_id", "user_id"}
    assert {one.field for one in done.corrections if one.action is None} >= {"agt", "ogt", "reasoning"}
    dropped = next(one for one in done.as_json() if one["field"] == "user_id")
    assert (dropped["before"], dropped["after"], dropped["action"]) == ("somebody", None, 0)


def test_calls_that_are_missing_are_not_made_up() -> None:
    """Without calls a task would say that nothing is to be done: that is its meaning, not its form."""
    good = of_kind("cancel")
    for bad in ({"q": good["q"], "ogt": []}, good | {"agt": None}):
        done = correct(bad, SHOP)
        assert (done.task, done.problems) == (None, ("agt: no calls are given; [] says that nothing is to be changed",))
    assert correct({"q": good["q"], "agt": []}, SHOP).task == Task(q=good["q"], agt=(), ogt=())


def test_what_is_right_needs_no_correction() -> None:
    for number in range(20):
        raw = drafted(DECK[number])
        done = correct(raw, SHOP)
        assert (done.task, done.corrections, done.problems) == (Task.model_validate(raw), (), ())


def test_every_correction_of_a_valid_task_is_one_that_was_made() -> None:
    call = of_kind("cancel")["agt"][0]
    beside = {"name": call["name"], **call["arguments"]}
    for form in (beside, {"type": "function", "function": {**call, "arguments": json.dumps(call["arguments"])}}):
        done = correct(of_kind("cancel") | {"agt": [form]}, SHOP)
        assert done.task == Task.model_validate(of_kind("cancel"))
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
def test_what_cannot_be_corrected_is_rejected_with_its_reason(agt: Any, why: str) -> None:
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
        assert task.read(tmp_path / name) == [good], name
    (tmp_path / "tau.json").write_text(json.dumps([tau]))
    assert parse(task.read(tmp_path / "tau.json")[0]) == Task.model_validate(good)
    (tmp_path / "bad").write_text("{}\nnot json")
    with pytest.raises(ValueError, match="line 2"):
        task.read(tmp_path / "bad")
    with pytest.raises(ValueError, match="cannot be read"):
        task.read(tmp_path / "none")


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
    tasks = [Task.model_validate(drafted(DECK[number], ' "It\'s" <fine>\n{{}}')) for number in range(12)]
    python, plain = export.write(tasks, SHOP, tmp_path / "out")
    tried = export.trial(python, checkout(tmp_path / "tau", init))
    assert (tried.loaded, tried.trouble) == (12, "")
    assert tried.how == ("tau_bench/types.py alone" if init else "tau_bench.types")
    assert [one["user_id"] for one in json.loads(plain.read_text())] == [DECK[number].user_id for number in range(12)]
    assert [parse(one) for one in task.read(plain)] == tasks


def test_a_folder_that_is_no_checkout(tmp_path: Path) -> None:
    python, _ = export.write([], SHOP, tmp_path)
    assert "no checkout of tau-bench" in export.trial(python, tmp_path).trouble
    broken = checkout(tmp_path / "tau", "")
    (broken / "tau_bench" / "types.py").write_text("class Action: ...\n")
    assert "Task" in export.trial(python, broken).trouble
