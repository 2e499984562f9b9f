// Badges that say how a path was made.
import { fill, PATHS } from "../words";
import type { PlannedPathView } from "../protocol";
import { Badge } from "../ui/Badge";
import { readableName } from "./spec";
import styles from "./PathBadges.module.css";
import typography from "../ui/typography.module.css";

export function PathBadges({ path, isChanged = false }: { path: PlannedPathView; isChanged?: boolean }) {
  const isPlanned = !path.fallback && path.attempts > 0;
  return (
    <span className={styles.badges} data-testid="badges">
      {path.fallback ? (
        <Badge tone="wait" title={path.why}>
          {PATHS.full}
        </Badge>
      ) : path.cached ? (
        <Badge tone="plain">{PATHS.cached}</Badge>
      ) : isPlanned ? (
        <Badge tone="plain">{PATHS.planned_by_model}</Badge>
      ) : (
        <Badge tone="plain">{PATHS.full_chosen}</Badge>
      )}
      {isChanged && <Badge tone="work">{PATHS.changed}</Badge>}
      {path.attempts > 1 && <Badge tone="plain">{fill(PATHS.tries, { count: path.attempts })}</Badge>}
      {path.examples > 0 && <Badge tone="plain">{fill(path.examples === 1 ? PATHS.example : PATHS.examples, { count: path.examples })}</Badge>}
    </span>
  );
}

/** Why the full path is used, and the node that the planner proposed. */
export function PathNotes({ path }: { path: PlannedPathView }) {
  const { proposal } = path;
  return (
    <>
      {path.fallback && path.why && (
        <p className={typography.hint} data-testid="fallback-why">
          {path.attempts > 0 ? fill(PATHS.full_why, { why: path.why }) : path.why}
        </p>
      )}
      {proposal && (
        <p className={`${typography.hint} ${styles.proposal}`} data-testid="proposal">
          {fill(PATHS.missing_node, { flow: readableName(proposal.flow) })} <strong>{readableName(proposal.name)}</strong>. {proposal.description} {proposal.why}
        </p>
      )}
    </>
  );
}
