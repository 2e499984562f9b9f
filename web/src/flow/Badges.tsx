// How a path came about, in a few words each.
import { fill, PATHS } from "../generated/words";
import { Tone } from "../ui/Tone";
import type { PlannedPathView } from "../protocol";
import { words } from "./spec";

export function Badges({ path, changed = false }: { path: PlannedPathView; changed?: boolean }) {
  const planned = !path.fallback && path.attempts > 0;
  return (
    <span className="flow-badges" data-testid="badges">
      {path.fallback ? (
        <Tone tone="wait" title={path.why}>
          {PATHS.full}
        </Tone>
      ) : path.cached ? (
        <Tone tone="plain">{PATHS.cached}</Tone>
      ) : planned ? (
        <Tone tone="plain">{PATHS.planned_by_model}</Tone>
      ) : (
        <Tone tone="plain">{PATHS.full_chosen}</Tone>
      )}
      {changed && <Tone tone="work">{PATHS.changed}</Tone>}
      {path.attempts > 1 && <Tone tone="plain">{fill(PATHS.tries, { count: path.attempts })}</Tone>}
      {path.examples > 0 && <Tone tone="plain">{fill(path.examples === 1 ? PATHS.example : PATHS.examples, { count: path.examples })}</Tone>}
    </span>
  );
}

/** Why the whole graph is walked, and the node that the planner wished for. */
export function PathNotes({ path }: { path: PlannedPathView }) {
  const { proposal } = path;
  return (
    <>
      {path.fallback && path.why && (
        <p className="hint" data-testid="fallback-why">
          {path.attempts > 0 ? fill(PATHS.full_why, { why: path.why }) : path.why}
        </p>
      )}
      {proposal && (
        <p className="hint flow-proposal" data-testid="proposal">
          {fill(PATHS.missing_node, { flow: words(proposal.flow) })} <strong>{words(proposal.name)}</strong>. {proposal.description} {proposal.why}
        </p>
      )}
    </>
  );
}
