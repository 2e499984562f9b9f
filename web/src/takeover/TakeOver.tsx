// A session that was escalated: why, the tools for a person to act with, and how it is handed back.
import { Button, Loader, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { useSession } from "../app/session";
import { PAGE, SIGNS } from "../generated/words";
import { tools } from "../net/api";
import type { ToolSpec } from "../protocol";
import { Search } from "../ui/icons";
import { Tone } from "../ui/Tone";
import { ToolForm } from "./ToolForm";

const SHOWN = 30;

export default function TakeOver() {
  const { state } = useSession();
  const [tool, setTool] = useState<ToolSpec | null>(null);
  const asked = state.snapshot?.escalation;
  if (!asked) return null;
  const { message: why, taken_over: mine } = asked;
  return (
    <section className="panel panel-question" data-testid="take-over" aria-label={PAGE.take_over}>
      <h2>{mine ? PAGE.acting_title : PAGE.escalated_title}</h2>
      {why && <p>{why}</p>}
      <p className="hint">{PAGE.by_hand}</p>
      {tool ? <ToolForm key={tool.name} tool={tool} onClose={() => setTool(null)} /> : <ToolChoice onChoice={setTool} />}
      <div className="decision-buttons">
        <Button variant="light" size="sm" onClick={() => document.querySelector<HTMLElement>("#composer textarea")?.focus()} data-testid="hand-back">
          {PAGE.hand_back}
        </Button>
      </div>
    </section>
  );
}

function ToolChoice({ onChoice }: { onChoice: (tool: ToolSpec) => void }) {
  const [query, setQuery] = useState("");
  const { list, problem } = useTools(query);
  return (
    <div className="tool-choice">
      <TextInput
        type="search"
        label={PAGE.tool}
        placeholder={PAGE.find_tool}
        leftSection={<Search size={16} />}
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
        data-testid="tool-search"
      />
      {problem && <p className="problem">{problem}</p>}
      {!list && !problem && <Loader size="sm" aria-label={SIGNS.loading} />}
      {list?.length === 0 && <p className="hint">{PAGE.tools_none}</p>}
      <ul className="tools">
        {list?.map((tool) => (
          <li key={tool.name}>
            <button type="button" onClick={() => onChoice(tool)} data-testid="tool">
              <span className="action-head">
                <code>{tool.name}</code>
                {tool.effect !== "read" && <Tone tone={tool.effect === "write" ? "wait" : "bad"}>{tool.effect}</Tone>}
              </span>
              <span className="dimmed">{tool.description}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function useTools(query: string) {
  const [found, setFound] = useState<{ list: ToolSpec[] | null; problem: string }>({ list: null, problem: "" });
  const [wanted] = useDebouncedValue(query, 200);
  useEffect(() => {
    const aborter = new AbortController();
    tools(wanted.trim(), SHOWN, aborter.signal)
      .then((page) => setFound({ list: page.tools, problem: "" }))
      .catch((error: unknown) => !aborter.signal.aborted && setFound({ list: null, problem: error instanceof Error ? error.message : String(error) }));
    return () => aborter.abort();
  }, [wanted]);
  return found;
}
