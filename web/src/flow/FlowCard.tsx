// A request that follows a path through a flow, as a journal entry.
import { Loader } from "@mantine/core";
import { useMemo, useState } from "react";
import { useSession } from "../app/sessionContext";
import { fill, SIGNS, TROUBLE } from "../generated/words";
import type { TurnEntry } from "../journal/entries";
import { Verdict } from "../journal/TurnCard";
import { useEntries } from "../journal/useEntries";
import { formatCount, formatTime, pluralize } from "../ui/format";
import { formatSeconds } from "../ui/values";
import { type FlowContext, flowNames } from "./flowProgress";
import { useFlows } from "./flows";
import { FlowView } from "./FlowView";
import { PathBadges, PathNotes } from "./PathBadges";
import { PathEditor } from "./PathEditor";
import { type FlowSpec, readableName, splitTool, USER_NODE } from "./spec";
import styles from "./FlowCard.module.css";
import cardStyles from "../journal/card.module.css";
import typography from "../ui/typography.module.css";

export default function FlowCard({ entry }: { entry: TurnEntry }) {
  const isNewest = useSession(({ state }) => state.snapshot?.turn?.number === entry.number);
  const { flows, problem } = useFlows();
  const [opened, setOpened] = useState<boolean | null>(null);
  const isOpen = opened ?? isNewest;
  const failed = entry.actions.findLast((action) => action.state === "failed" && action.error);
  return (
    <article className={cardStyles.card} data-testid="flow-card">
      <header className={`${cardStyles.head} ${styles.head}`}>
        <button type="button" className={styles.toggle} aria-expanded={isOpen} onClick={() => setOpened(!isOpen)} data-testid="flow-fold">
          <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> <strong>{flowNames(entry).map(readableName).join(" → ")}</strong>
        </button>
        {entry.path && <PathBadges path={entry.path} isChanged={[entry, ...entry.changes].some((change) => change.by.startsWith("user:"))} />}
        <span className={cardStyles.summary} data-testid="flow-sum">
          {totalsText(entry)}
        </span>
        <time dateTime={entry.at}>{formatTime(entry.at)}</time>
      </header>
      {entry.path && isOpen && <PathNotes path={entry.path} />}
      {entry.reasoning && isOpen && <p className={typography.dimmed}>{entry.reasoning}</p>}
      {isOpen && problem && <p className={typography.problem}>{fill(TROUBLE.flows, { why: problem })}</p>}
      {isOpen && !flows && !problem && <Loader size="sm" aria-label={SIGNS.loading} />}
      {isOpen && flows && <FlowProgressView flows={flows} entry={entry} />}
      {isOpen && flows && isNewest && <PathEditor flows={flows} />}
      {failed && <p className={typography.problem}>{`${readableName(splitTool(failed.tool)[1])}: ${failed.error}`}</p>}
      {entry.verdict && entry.verdict.status !== "success" && <Verdict verdict={entry.verdict} />}
    </article>
  );
}

function FlowProgressView({ flows, entry }: { flows: readonly FlowSpec[]; entry: TurnEntry }) {
  return <FlowView flows={flows} turn={entry} context={useFlowContext(entry)} />;
}

/** For example "7 steps · 3.1 s · 2.4k tokens". */
function totalsText({ actions }: TurnEntry): string {
  const finished = actions.filter((action) => action.state === "finished" && splitTool(action.tool)[1] !== USER_NODE);
  const time = finished.reduce((sum, action) => sum + action.seconds, 0);
  const tokens = actions.reduce((sum, action) => sum + action.tokens, 0);
  return [pluralize(finished.length, "step"), time > 0 && formatSeconds(time), tokens > 0 && `${formatCount(tokens)} tokens`].filter(Boolean).join(" · ");
}

/** The request of this turn, and the actions of the previous path. */
function useFlowContext(entry: TurnEntry): FlowContext {
  const entries = useEntries();
  return useMemo(() => {
    const earlier = entries.slice(0, entries.findIndex((item) => item.key === entry.key));
    const request = earlier.findLast((entry) => entry.kind === "said" && (entry.intent === "request" || entry.intent === "remark"));
    const previous = earlier.findLast((entry) => entry.kind === "turn" && entry.path !== null);
    return { request: request?.kind === "said" ? request.text : "", previousActions: previous?.kind === "turn" ? previous.actions : [] };
  }, [entries, entry.key]);
}
