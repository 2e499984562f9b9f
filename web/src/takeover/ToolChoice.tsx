// The tools there are, found by words.
import { Loader, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { PAGE, SIGNS } from "../generated/words";
import { tools } from "../net/api";
import type { ToolSpec } from "../protocol";
import { Search } from "../ui/icons";
import { EffectTone } from "../ui/EffectTone";

const SHOWN = 30;

interface Props {
  onChoice: (tool: ToolSpec) => void;
  /** Which of them can be chosen here. */
  usable?: (tool: ToolSpec) => boolean;
  autoFocus?: boolean;
}

export function ToolChoice({ onChoice, usable = () => true, autoFocus = false }: Props) {
  const [query, setQuery] = useState("");
  const { list: found, problem } = useTools(query);
  const list = found?.filter(usable);
  return (
    <div className="tool-choice">
      <TextInput
        type="search"
        label={PAGE.tool}
        placeholder={PAGE.find_tool}
        leftSection={<Search size={16} />}
        autoFocus={autoFocus}
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
                <EffectTone effect={tool.effect} />
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
