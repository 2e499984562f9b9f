"""The resources that a step affects, and repeated changes."""

from typing import Any

import pytest

from parley.events.values import Step
from services.gateway.views.step_sections import affected_resources
from shared.plan_checks.steps import same_changes

LOOK = "{{steps.s1.output}}"


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
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
def test_a_call_affects_the_servers_files_and_tables_in_its_arguments(
    tool: str, arguments: Any, expected: list[Any]
) -> None:
    resources = [
        (resource.kind, resource.name)
        for resource in affected_resources(Step(text="Do", tool=tool, arguments=arguments))
    ]
    assert resources == [
        resource if isinstance(resource, tuple) else ("host", f"{resource}.example") for resource in expected
    ]


def test_a_repeated_change_names_the_first_one() -> None:
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
