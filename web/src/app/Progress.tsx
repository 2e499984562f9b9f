// How far a request with tools has come: its turns and sub-goals, in a line that is always at the same place.
import { UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { split, words } from "../flow/spec";
import type { PathView, SubGoalView } from "../protocol";
import type { Snapshot } from "../state/state";
import { plural } from "../ui/format";
import { useSession } from "./session";

const MARKS: Record<SubGoalView["status"], { mark: string; word: string }> = {
  completed: { mark: "✓", word: "done" },
  failed: { mark: "✗", word: "failed" },
  pending: { mark: "○", word: "to do" },
};

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
  const [, now] = split(all[path.current_path_index] ?? "");
  return (
    <div className="progress" data-testid="progress">
      <div className="progress-line">
        <span className="progress-bar" aria-hidden="true">
          {all.map((_, index) => (
            <span key={index} data-status={index < path.walked.length ? "completed" : undefined} />
          ))}
        </span>
        <span>
          node {Math.min(path.current_path_index + 1, all.length)} of {all.length}
        </span>
        <span className="progress-now">{words(now)}</span>
      </div>
    </div>
  );
}

function Turns({ snapshot }: { snapshot: Snapshot }) {
  const [open, setOpen] = useState(false);
  const { turns, max_turns, sub_goals, executed, planned } = snapshot.memory;
  const ordered = sub_goals.toSorted((a, b) => ORDER[a.status] - ORDER[b.status]);
  const done = sub_goals.filter((one) => one.status === "completed").length;
  return (
    <div className="progress" data-testid="progress">
      {open && (
        <div className="progress-more" data-testid="progress-more">
          <ol aria-label="Sub-goals">
            {ordered.map((one) => (
              <li key={one.goal} data-status={one.status} data-testid="sub-goal">
                <span aria-hidden="true">{MARKS[one.status].mark}</span>
                <span>{one.goal}</span>
                <span className="dimmed">{MARKS[one.status].word}</span>
              </li>
            ))}
          </ol>
          <p className="dimmed">
            {plural(executed, "action")} done of {planned} planned ·{" "}
            {snapshot.settings.world === "own" ? "a copy of the store of this session's own" : "the store that everybody shares"}
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
          {turns === 0 ? `at most ${plural(max_turns, "turn")}` : `turn ${turns} of ${max_turns}`}
          {sub_goals.length > 0 && ` · ${done} of ${plural(sub_goals.length, "sub-goal")} done`}
        </span>
        <span className="progress-now">{sub_goals.find((one) => one.status === "pending")?.goal}</span>
        <span aria-hidden="true">{open ? "▾" : "▴"}</span>
      </UnstyledButton>
    </div>
  );
}
