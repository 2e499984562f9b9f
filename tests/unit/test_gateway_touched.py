"""What a step's call names, and the changes that are made twice."""

from typing import Any

import pytest

from parley.events.values import Step
from services.gateway.views.touched import touched
from shared.plan_checks.steps import same_changes

LOOK = "{{steps.s1.output}}"


@pytest.mark.parametrize(
    ("tool", "arguments", "named"),
    [
        ("fetch_url", {"url": "https://key@shop.example:8443/a?b=c"}, [("host", "shop.example:8443")]),
        ("fetch_url", {"url": f"https://shop.example/{LOOK}"}, []),
        ("crawl", {"urls": ["http://one.example", "http://two.example", "http://one.example/x"]}, ["one", "two"]),
        ("fetch_url", {"url": "https://[broken"}, []),
        ("fetch_url", {"url": "https:///nowhere"}, []),
        ("read_file", {"name": "notes/today.md", "length": 3}, [("file", "notes/today.md")]),
        ("who_is", {"name": "Ada"}, []),
        ("put", {"path": "a.txt", "text": "b"}, [("file", "a.txt")]),
        ("put", {"path": LOOK}, []),
        ("describe_tables", {"tables": ["orders", 1, "orders"]}, [("table", "orders")]),
        ("describe_tables", {"tables": "all"}, []),
        ("list", None, []),
    ],
)
def test_servers_files_and_tables_that_a_call_names(tool: str, arguments: Any, named: list[Any]) -> None:
    found = [(one.kind, one.name) for one in touched(Step(text="Do", tool=tool, arguments=arguments))]
    assert found == [one if isinstance(one, tuple) else ("host", f"{one}.example") for one in named]


def test_a_step_that_polls_touches_what_it_looks_at() -> None:
    looks = {"tool": "read_file", "arguments": {"name": "tea.md"}, "condition": "output"}
    step = Step(text="Wait", tool="poll_until", arguments=looks, waits_for="condition")
    assert [(one.kind, one.name) for one in touched(step)] == [("file", "tea.md")]


def test_no_more_are_named_than_can_be_read() -> None:
    tables = [f"t{number}" for number in range(99)]
    assert len(touched(Step(text="Do", tool="describe_tables", arguments={"tables": tables}))) == 20


def test_a_change_that_is_made_twice_names_the_first() -> None:
    def step(name: str, effect: Any, **arguments: Any) -> Step:
        return Step(id=name, text="Do", tool="pay", arguments=arguments, effect=effect)

    steps = (
        step("s1", "write", a=1, b=2),
        step("s2", "read", a=1, b=2),
        step("s3", "write", b=2, a=1),
        step("s4", "write", a=1, b=3),
        step("s5", "irreversible", a=1, b=2),
    )
    assert same_changes(steps) == {"s3": "s1", "s5": "s1"}
