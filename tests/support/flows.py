"""Runs one node of a flow with scripted model replies and tools."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from parley.flow import Flow, NodeResult, NodeRun, Outputs, ToolAnswer
from parley.protocol.flows import FlowSpec
from parley.reply import Reply

Tools = Mapping[str, Callable[..., ToolAnswer]]


class Prompted(NamedTuple):
    """A node's request to the model."""

    task: str
    rules: str
    sections: dict[str, Any]


class Walker:
    """Runs single nodes of one flow; `prompts` and `calls` record their requests to the model and their tool calls."""

    def __init__(self, flow: Flow, *replies: dict[str, Any], tools: Tools | None = None) -> None:
        self._flow = flow
        self._replies = list(replies)
        self._tools = tools or {}
        self.prompts: list[Prompted] = []
        self.calls: list[tuple[str, dict[str, Any], str]] = []

    async def run(self, name: str, state: Mapping[str, Any], **more: Any) -> Outputs:
        node = self._flow.node(name)
        assert node, name
        specs: tuple[FlowSpec, ...] = (self._flow.spec(),)
        result = await node.run(NodeRun(state, self._ask, self._call, flows=specs, **more))
        outputs = result.outputs if isinstance(result, NodeResult) else result
        assert set(outputs) <= set(node.spec.outputs)
        return outputs

    async def _ask[R: Reply](
        self, task: str, rules: str, sections: Mapping[str, str | Iterable[str] | None], reply: type[R]
    ) -> R:
        shown = {name: text if isinstance(text, str) or text is None else list(text) for name, text in sections.items()}
        self.prompts.append(Prompted(task, rules, shown))
        return reply.model_validate({"reply": self._replies.pop(0)})

    async def _call(self, name: str, arguments: Mapping[str, Any], key: str = "") -> ToolAnswer:
        self.calls.append((name, dict(arguments), key))
        return self._tools[name](**arguments)
