"""The specifications of the retail tools match their functions."""

import inspect

import pytest
from jsonschema import Draft202012Validator

from packs.retail.specs import REQUIRED, SPECS
from packs.retail.tools import READS, TOOLS, WRITES
from parley.protocol.tools import ToolSpec


def test_each_of_the_sixteen_tools_has_one_specification() -> None:
    assert len(SPECS) == 16
    assert [spec.name for spec in SPECS] == sorted(TOOLS)
    assert {spec.name for spec in SPECS if spec.effect == "read"} == set(READS)
    assert {spec.name for spec in SPECS if spec.effect == "write" and spec.keyed} == set(WRITES)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_specification_has_the_parameters_of_its_function_in_order(spec: ToolSpec) -> None:
    parameters = list(inspect.signature(TOOLS[spec.name]).parameters.values())[1:]
    names = [item.name for item in parameters if item.kind is not inspect.Parameter.VAR_POSITIONAL]
    assert list(REQUIRED[spec.name])[: len(names)] == names
    if len(parameters) > len(names):
        assert REQUIRED[spec.name][len(names) :] == ("address1", "address2", "city", "state", "country", "zip")
    else:
        assert len(REQUIRED[spec.name]) == len(names)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_schema_accepts_exactly_its_own_parameters(spec: ToolSpec) -> None:
    Draft202012Validator.check_schema(spec.parameters)
    schema = Draft202012Validator(spec.parameters)
    valid: dict[str, object] = dict.fromkeys(REQUIRED[spec.name], "no longer needed")
    valid |= {name: ["1"] for name in valid if name.endswith("item_ids")}
    assert schema.is_valid(valid)
    assert not schema.is_valid(valid | {"more": 1})
    for name in valid:
        assert not schema.is_valid({other: value for other, value in valid.items() if other != name})
        assert not schema.is_valid(valid | {name: 5})
    if "reason" in valid:
        assert not schema.is_valid(valid | {"reason": "changed my mind"})
