// A searchable list of tools.
import { Loader, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { PAGE, SIGNS } from "../words";
import { fetchTools } from "../net/api";
import type { ToolSpec } from "../protocol";
import { EffectBadge } from "../ui/EffectBadge";
import { SearchIcon } from "../ui/icons";
import { errorMessage } from "../ui/useFetch";
import styles from "./ToolPicker.module.css";
import callHeadStyles from "../ui/callHead.module.css";
import typography from "../ui/typography.module.css";

const MAX_TOOLS = 30;

interface Props {
  onChoice: (tool: ToolSpec) => void;
  /** Which tools can be selected here. */
  isUsable?: (tool: ToolSpec) => boolean;
  autoFocus?: boolean;
}

export function ToolPicker({ onChoice, isUsable = () => true, autoFocus = false }: Props) {
  const [query, setQuery] = useState("");
  const { list: allTools, problem } = useTools(query);
  const tools = allTools?.filter(isUsable);
  return (
    <div>
      <TextInput
        type="search"
        label={PAGE.tool}
        placeholder={PAGE.find_tool}
        leftSection={<SearchIcon size={16} />}
        autoFocus={autoFocus}
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
        data-testid="tool-search"
      />
      {problem && <p className={typography.problem}>{problem}</p>}
      {!tools && !problem && <Loader size="sm" aria-label={SIGNS.loading} />}
      {tools?.length === 0 && <p className={typography.hint}>{PAGE.tools_none}</p>}
      <ul role="list" className={styles.tools}>
        {tools?.map((tool) => (
          <li key={tool.name}>
            <button type="button" onClick={() => onChoice(tool)} data-testid="tool">
              <span className={callHeadStyles.head}>
                <code>{tool.name}</code>
                <EffectBadge effect={tool.effect} />
              </span>
              <span className={typography.dimmed}>{tool.description}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function useTools(query: string) {
  const [result, setResult] = useState<{ list: ToolSpec[] | null; problem: string }>({ list: null, problem: "" });
  const [debouncedQuery] = useDebouncedValue(query, 200);
  useEffect(() => {
    const aborter = new AbortController();
    fetchTools(debouncedQuery.trim(), MAX_TOOLS, aborter.signal)
      .then((page) => setResult({ list: page.tools, problem: "" }))
      .catch((error: unknown) => !aborter.signal.aborted && setResult({ list: null, problem: errorMessage(error) }));
    return () => aborter.abort();
  }, [debouncedQuery]);
  return result;
}
