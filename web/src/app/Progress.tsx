// One line of progress for a request: its turns and sub-goals, or the position in a path.
import { UnstyledButton } from "@mantine/core";
import { useState } from "react";
import { useFlows } from "../flow/flows";
import { toolTitle } from "../flow/spec";
import { fill, WORK } from "../words";
import type { PathView, SubGoalView } from "../protocol";
import type { Snapshot } from "../state/state";
import { useSnapshot } from "./sessionContext";
import styles from "./Progress.module.css";
import typography from "../ui/typography.module.css";

const MARKS: Record<SubGoalView["status"], string> = { completed: "✓", failed: "✗", pending: "○" };

// Completed sub-goals come first: a revised plan may list again what was completed long ago.
const ORDER: Record<SubGoalView["status"], number> = { completed: 0, failed: 1, pending: 2 };

export function Progress() {
  const snapshot = useSnapshot();
  if (snapshot?.workflow === "agentflow") return <TurnProgress snapshot={snapshot} />;
  if (snapshot?.workflow === "flow" && snapshot.path && snapshot.phase !== "resting") return <PathProgress path={snapshot.path} />;
  return null;
}

/** The current position in the path. */
function PathProgress({ path }: { path: PathView }) {
  const nodes = [...path.walked, ...path.remaining];
  const { flows } = useFlows();
  return (
    <div className={styles.progress} data-testid="progress">
      <div className={styles.line}>
        <span className={styles.bar} aria-hidden="true">
          {nodes.map((_, index) => (
            <span key={index} data-status={index < path.walked.length ? "completed" : undefined} />
          ))}
        </span>
        <span>
          {fill(WORK.node, { number: Math.min(path.current_path_index + 1, nodes.length), count: nodes.length })}
        </span>
        <span className={styles.now}>{toolTitle(flows ?? [], nodes[path.current_path_index] ?? "")}</span>
      </div>
    </div>
  );
}

function TurnProgress({ snapshot }: { snapshot: Snapshot }) {
  const [open, setOpen] = useState(false);
  const { turns, max_turns, sub_goals, executed, planned } = snapshot.memory;
  const ordered = sub_goals.toSorted((a, b) => ORDER[a.status] - ORDER[b.status]);
  const done = sub_goals.filter((subGoal) => subGoal.status === "completed").length;
  const next = sub_goals.find((subGoal) => subGoal.status === "pending");
  return (
    <div className={styles.progress} data-testid="progress">
      {open && (
        <div className={styles.details} data-testid="progress-more">
          <ol role="list" aria-label={WORK.sub_goals}>
            {ordered.map((subGoal) => (
              <li key={subGoal.goal} data-status={subGoal.status} data-testid="sub-goal">
                <span aria-hidden="true">{MARKS[subGoal.status]}</span>
                <span>{subGoal.goal}</span>
                <span className={typography.dimmed}>{WORK[subGoal.status]}</span>
              </li>
            ))}
          </ol>
          <p className={typography.dimmed}>
            {fill(WORK.actions, { done: executed, planned })} · {snapshot.settings.world === "own" ? WORK.own_store : WORK.shared_store}
          </p>
        </div>
      )}
      <UnstyledButton className={styles.line} onClick={() => setOpen(!open)} aria-expanded={open} data-testid="progress-line">
        <span className={styles.bar} aria-hidden="true">
          {ordered.map((subGoal) => (
            <span key={subGoal.goal} data-status={subGoal.status} />
          ))}
        </span>
        <span>
          {turns === 0 ? fill(WORK.turn_limit, { most: max_turns }) : fill(WORK.turn, { number: snapshot.turn?.number ?? turns })}
          {sub_goals.length > 0 && ` · ${fill(WORK.sub_goals_done, { done, count: sub_goals.length })}`}
        </span>
        {next && <span className={styles.now}>{fill(WORK.now, { goal: next.goal })}</span>}
        <span aria-hidden="true">{open ? "▾" : "▴"}</span>
      </UnstyledButton>
    </div>
  );
}
