// A flow of four nodes for tests: `look` may skip to `tell`, and `run` may go back to `write`.
import type { FlowSpec, NodeSpec } from "./spec";

function node(name: string, inputs: string[], outputs: string[], next: string[], overrides: Partial<NodeSpec> = {}): NodeSpec {
  return { name, description: `${name}.`, inputs, outputs, possible_next_nodes: next, optional: [], conditions: {}, asks: false, confirm: "", title: "", effect: "read", ...overrides };
}

export const FLOW: FlowSpec = {
  name: "sql",
  description: "Questions.",
  starts: ["request"],
  may_start: ["given_sql", "previous_question"],
  full_path: ["look", "write", "run", "tell"],
  nodes: [
    node("look", ["request"], ["kind"], ["write", "tell"], { conditions: { tell: 'kind == "none"' } }),
    node("write", ["request"], ["sql"], ["run"], { optional: ["previous_question", "problem"] }),
    node("run", ["sql"], ["result", "problem"], ["tell", "write"]),
    node("tell", ["request"], ["answer"], []),
  ],
};
