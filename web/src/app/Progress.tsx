// How far a request with tools has come: its turns and sub-goals, in a line that is always at the same place.
import { UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { useFlows } from "../flow/flows";
import { titled } from "../flow/spec";
import { fill, WORK } from "../generated/words";
import type { PathView, SubGoalView } from "../protocol";
import type { Snapshot } from "../state/state";
import { useSession } from "./session";

const MARKS: Record<SubGoalView["status"], string> = { completed: "✓", failed: "✗", pending: "○" };

// What was reached first: a plan may be thought over, and then names again what was done long ago.
const ORDER: Record<SubGoalView["status"], number> = { completed: 0, failed: 1, pending: 2 };

export function Progress() {
  const { state } = useSession();
  const { snapshot } = state;
  if (snapshot?.workflow === "agentflow") return <Turns snapshot={snapshot} />;
  if (snapshot?.workflow === "flow" && snapshot.path && snapshot.phase !== "resting") return <PathProgress path={snapshot.path} />;
  return null;
}

/** Where the path is. */
function PathProgress({ path }: { path: PathView }) {
  const all = [...path.walked, ...path.remaining];
  const { flows } = useFlows();
  return (
    <div className="progress" data-testid="progress">
      <div className="progress-line">
        <span className="progress-bar" aria-hidden="true">
          {all.map((_, index) => (
            <span key={index} data-status={index < path.walked.length ? "completed" : undefined} />
          ))}
        </span>
        <span>
          {fill(WORK.node, { number: Math.min(path.current_path_index + 1, all.length), count: all.length })}
        </span>
        <span className="progress-now">{titled(flows ?? [], all[path.current_path_index] ?? "")}</span>
      </div>
    </div>
  );
}

function Turns({ snapshot }: { snapshot: Snapshot }) {
  const [open, setOpen] = useState(false);
  const { turns, max_turns, sub_goals, executed, planned } = snapshot.memory;
  const ordered = sub_goals.toSorted((a, b) => ORDER[a.status] - ORDER[b.status]);
  const done = sub_goals.filter((one) => one.status === "completed").length;
  const next = sub_goals.find((one) => one.status === "pending");
  return (
    <div className="progress" data-testid="progress">
      {open && (
        <div className="progress-more" data-testid="progress-more">
          <ol aria-label={WORK.sub_goals}>
            {ordered.map((one) => (
              <li key={one.goal} data-status={one.status} data-testid="sub-goal">
                <span aria-hidden="true">{MARKS[one.status]}</span>
                <span>{one.goal}</span>
                <span className="dimmed">{WORK[one.status]}</span>
              </li>
            ))}
          </ol>
          <p className="dimmed">
            {fill(WORK.actions, { done: executed, planned })} · {snapshot.settings.world === "own" ? WORK.own_store : WORK.shared_store}
          </p>
        </div>
      )}
      <UnstyledButton className="progress-line" onClick={() => setOpen(!open)} aria-expanded={open} data-testid="progress-line">
        <span className="progress-bar" aria-hidden="true">
          {ordered.map((one) => (
            <span key={one.goal} data-status={one.status} />
          ))}
        </span>
        <span>
          {turns === 0 ? fill(WORK.turn_limit, { most: max_turns }) : fill(WORK.turn, { number: turns, most: max_turns })}
          {sub_goals.length > 0 && ` · ${fill(WORK.sub_goals_done, { done, count: sub_goals.length })}`}
        </span>
        {next && <span className="progress-now">{fill(WORK.now, { goal: next.goal })}</span>}
        <span aria-hidden="true">{open ? "▾" : "▴"}</span>
      </UnstyledButton>
    </div>
  );
}
