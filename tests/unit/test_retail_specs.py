"""The tools' specifications match the tools."""

import inspect

import pytest
from jsonschema import Draft202012Validator

from packs.retail.specs import REQUIRED, SPECS
from packs.retail.tools import READS, TOOLS, WRITES
from parley.protocol.tools import ToolSpec


def test_each_of_the_sixteen_tools_is_described_once() -> None:
    assert len(SPECS) == 16
    assert [spec.name for spec in SPECS] == sorted(TOOLS)
    assert {spec.name for spec in SPECS if spec.effect == "read"} == set(READS)
    assert {spec.name for spec in SPECS if spec.effect == "write" and spec.keyed} == set(WRITES)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_its_parameters_are_the_functions_own_in_their_order(spec: ToolSpec) -> None:
    taken = list(inspect.signature(TOOLS[spec.name]).parameters.values())[1:]
    names = [item.name for item in taken if item.kind is not inspect.Parameter.VAR_POSITIONAL]
    assert list(REQUIRED[spec.name])[: len(names)] == names
    if len(taken) > len(names):
        assert REQUIRED[spec.name][len(names) :] == ("address1", "address2", "city", "state", "country", "zip")
    else:
        assert len(REQUIRED[spec.name]) == len(names)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_its_schema_takes_what_it_names_and_nothing_else(spec: ToolSpec) -> None:
    Draft202012Validator.check_schema(spec.parameters)
    schema = Draft202012Validator(spec.parameters)
    right: dict[str, object] = dict.fromkeys(REQUIRED[spec.name], "no longer needed")
    right |= {name: ["1"] for name in right if name.endswith("item_ids")}
    assert schema.is_valid(right)
    assert not schema.is_valid(right | {"more": 1})
    for name in right:
        assert not schema.is_valid({other: value for other, value in right.items() if other != name})
        assert not schema.is_valid(right | {name: 5})
    if "reason" in right:
        assert not schema.is_valid(right | {"reason": "changed my mind"})
