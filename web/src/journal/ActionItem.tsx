// One action: a summary line that expands to its arguments, ruling and result.
import { Button, Loader } from "@mantine/core";
import { useState } from "react";
import { useDisplayName, useSession } from "../app/sessionContext";
import { ACTIONS, fill, JOURNAL, REASONS, REVIEW, RULINGS, wordFor } from "../generated/words";
import { artefactUrl } from "../net/api";
import { Badge } from "../ui/Badge";
import { Arguments } from "../ui/Details";
import { DownloadIcon } from "../ui/icons";
import { formatBytes, formatInline, formatSeconds } from "../ui/values";
import type { ActionEntry } from "./entries";
import { isProgramRun, Result } from "./Result";
import { SkipButton } from "./SkipButton";
import styles from "./ActionItem.module.css";
import callHeadStyles from "../ui/callHead.module.css";
import typography from "../ui/typography.module.css";

interface Props {
  action: ActionEntry;
  turn: number;
  /** Text that distinguishes this action from others with the same description. */
  distinction?: string;
}

export function ActionItem({ action, turn, distinction = "" }: Props) {
  const isResting = useSession(({ state }) => state.snapshot?.phase === "resting");
  const hasFailed = action.state === "failed" || action.state === "denied";
  const isOpen = action.state === "planned" || action.state === "approved" || action.state === "waiting";
  const canSkip = isOpen || (hasFailed && isResting);
  return (
    <div className={styles.row}>
      <ActionDetails action={action} turn={turn} distinction={distinction} />
      {canSkip && <SkipButton id={action.action_id} text={action.description || action.tool} />}
    </div>
  );
}

function ActionDetails({ action, turn, distinction }: Required<Props>) {
  const { tool, state } = action;
  const displayName = useDisplayName();
  const [opened, setOpened] = useState<boolean | null>(null);
  return (
    <details
      className={styles.action}
      id={`action-${action.action_id}`}
      data-testid="action"
      data-state={state}
      open={opened ?? isProgramRun(action.result)}
      onToggle={(event) => setOpened(event.currentTarget.open)}
    >
      <summary>
        <span className={`${callHeadStyles.head} ${styles.head}`}>
          {state === "started" && <Loader size={12} aria-hidden="true" />}
          <Badge tone={action.tone}>{action.word}</Badge>
          <code>{tool}</code>
          {tool !== "run_code" && <span className={`${callHeadStyles.text} ${styles.text}`}>{action.description || argumentsText(action.arguments)}</span>}
          {distinction && <span className={`${typography.dimmed} ${styles.distinction}`}>{distinction}</span>}
          {action.seconds > 0 && <span className={`${typography.dimmed} ${styles.time}`}>{formatSeconds(action.seconds)}</span>}
        </span>
        <span className={styles.summary} data-testid="action-gist">
          {outcomeText(action, action.decided_by && displayName(action.decided_by))}
        </span>
      </summary>
      <div className={styles.body}>
        {tool !== "run_code" && <Arguments values={action.arguments} />}
        {action.repairs.length > 0 && (
          <p className={typography.dimmed} data-testid="repairs">
            {fill(REVIEW.repaired, { what: action.repairs.join("; ") })}
          </p>
        )}
        <p className={typography.dimmed}>{rulingText(action, action.decided_by && displayName(action.decided_by))}</p>
        {action.error && <p className={typography.problem}>{action.error}</p>}
        {action.result !== null && <Result result={action.result} />}
        {action.artefact && <ArtefactDownload action={action} turn={turn} />}
      </div>
    </details>
  );
}

/** The outcome in one line; if a user decided without giving a reason, the user's name. */
function outcomeText({ state, gist, error }: ActionEntry, decider: string): string {
  if (!decider || error || (state !== "approved" && state !== "denied")) return gist;
  return fill(state === "denied" ? JOURNAL.declined_by : JOURNAL.allowed_by, { who: decider });
}

function argumentsText(values: Record<string, unknown>): string {
  return Object.values(values).map(formatInline).join(", ");
}

function rulingText({ action_id, effect, sub_goal, why, approval, ruling, state }: ActionEntry, decider: string): string {
  const decided = decider ? fill(state === "denied" ? JOURNAL.declined_by : JOURNAL.allowed_by, { who: decider }) : "";
  return [`${action_id} · ${effect}`, sub_goal, why || (approval && (wordFor(REASONS, approval) ?? approval)) || RULINGS[ruling], decided].filter(Boolean).join(" · ");
}

function ArtefactDownload({ action, turn }: { action: ActionEntry; turn: number }) {
  const sessionId = useSession(({ state }) => state.sessionId);
  if (!action.artefact || sessionId === null) return null;
  return (
    <p className={`${typography.dimmed} ${styles.artefact}`}>
      {fill(JOURNAL.beginning, { size: formatBytes(action.artefact.size) })}
      <Button
        component="a"
        href={artefactUrl(sessionId, turn, action.action_id)}
        download
        size="compact-xs"
        variant="default"
        leftSection={<DownloadIcon size={14} />}
        data-testid="artefact"
      >
        {ACTIONS.download}
      </Button>
    </p>
  );
}
