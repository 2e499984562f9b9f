// A request that walks a path through a flow, as the journal shows it.
import { Loader } from "@mantine/core";
import { useMemo, useState } from "react";
import { useSession } from "../app/session";
import { fill, SIGNS, TROUBLE } from "../generated/words";
import type { TurnEntry } from "../journal/entries";
import { useEntries } from "../journal/useEntries";
import { Verdict } from "../journal/TurnCard";
import { clock, count, plural } from "../ui/format";
import { seconds } from "../ui/values";
import { Badges, PathNotes } from "./Badges";
import { useFlows } from "./flows";
import { FlowView } from "./FlowView";
import { PathEditor } from "./PathEditor";
import { type FlowSpec, PERSON, split, words } from "./spec";
import { type Beginning, flowsOf } from "./walk";

export default function FlowCard({ entry }: { entry: TurnEntry }) {
  const { state } = useSession();
  const { flows, problem } = useFlows();
  const newest = state.snapshot?.turn?.number === entry.number;
  const [opened, setOpened] = useState<boolean | null>(null);
  const open = opened ?? newest;
  const failed = entry.actions.findLast((one) => one.state === "failed" && one.error);
  return (
    <article className="card flow" data-testid="flow-card">
      <header className="card-head">
        <button type="button" className="flow-fold" aria-expanded={open} onClick={() => setOpened(!open)} data-testid="flow-fold">
          <span aria-hidden="true">{open ? "▾" : "▸"}</span> <strong>{flowsOf(entry).map(words).join(" → ")}</strong>
        </button>
        {entry.path && <Badges path={entry.path} changed={[entry, ...entry.changes].some((one) => one.by.startsWith("user:"))} />}
        <span className="card-what" data-testid="flow-sum">
          {summed(entry)}
        </span>
        <time dateTime={entry.at}>{clock(entry.at)}</time>
      </header>
      {entry.path && open && <PathNotes path={entry.path} />}
      {entry.reasoning && open && <p className="dimmed">{entry.reasoning}</p>}
      {open && problem && <p className="problem">{fill(TROUBLE.flows, { why: problem })}</p>}
      {open && !flows && !problem && <Loader size="sm" aria-label={SIGNS.loading} />}
      {open && flows && <Walking flows={flows} entry={entry} />}
      {open && flows && newest && <PathEditor flows={flows} />}
      {failed && <p className="problem">{`${words(split(failed.spec.tool)[1])}: ${failed.error}`}</p>}
      {entry.verdict && entry.verdict.status !== "success" && <Verdict verdict={entry.verdict} />}
    </article>
  );
}

function Walking({ flows, entry }: { flows: readonly FlowSpec[]; entry: TurnEntry }) {
  return <FlowView flows={flows} turn={entry} beginning={useBeginning(entry)} />;
}

/** "7 nodes · 3.1 s · 2.4k tokens" */
function summed({ actions }: TurnEntry): string {
  const done = actions.filter((one) => one.state === "finished" && split(one.spec.tool)[1] !== PERSON);
  const time = done.reduce((sum, one) => sum + one.seconds, 0);
  const tokens = actions.reduce((sum, one) => sum + one.tokens, 0);
  return [plural(done.length, "step"), time > 0 && seconds(time), tokens > 0 && `${count(tokens)} tokens`].filter(Boolean).join(" · ");
}

/** The request of this turn, and the path of the request before. */
function useBeginning(entry: TurnEntry): Beginning {
  const all = useEntries();
  return useMemo(() => {
    const told = all.slice(0, all.findIndex((one) => one.key === entry.key));
    const request = told.findLast((one) => one.kind === "said" && (one.intent === "request" || one.intent === "remark"));
    const before = told.findLast((one) => one.kind === "turn" && one.path !== null);
    return { request: request?.kind === "said" ? request.text : "", before: before?.kind === "turn" ? before.actions : [] };
  }, [all, entry.key]);
}
