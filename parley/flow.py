"""What others write flows with: described nodes, found in a folder or by the entry point group `parley.flows`."""

from flows.flow import Flow
from flows.nodes import Asked, Made, NodeFailed, Outputs, Run, State, ToolAnswer, node

__all__ = ["Asked", "Flow", "Made", "NodeFailed", "Outputs", "Run", "State", "ToolAnswer", "node"]
