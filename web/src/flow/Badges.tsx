// How a path came about, in a few words each.
import { Tone } from "../ui/Tone";
import type { PlannedPathView } from "../protocol";
import { plural } from "../ui/format";
import { words } from "./spec";

export function Badges({ path, changed = false }: { path: PlannedPathView; changed?: boolean }) {
  const planned = !path.fallback && path.attempts > 0;
  return (
    <span className="flow-badges" data-testid="badges">
      {path.fallback ? (
        <Tone tone="wait" title={path.why}>
          full graph
        </Tone>
      ) : path.cached ? (
        <Tone tone="plain">from the cache</Tone>
      ) : planned ? (
        <Tone tone="plain">planned by the model</Tone>
      ) : (
        <Tone tone="plain">full graph, as you chose</Tone>
      )}
      {changed && <Tone tone="work">changed by a person</Tone>}
      {path.attempts > 1 && <Tone tone="plain">{path.attempts} tries</Tone>}
      {path.examples > 0 && <Tone tone="plain">{plural(path.examples, "example")}</Tone>}
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
          {path.attempts > 0 && "No plan could be walked, so the full graph is: "}
          {path.why}
        </p>
      )}
      {proposal && (
        <p className="hint flow-proposal" data-testid="proposal">
          The model misses a node in {words(proposal.flow)}: <strong>{words(proposal.name)}</strong>. {proposal.description} {proposal.why}
        </p>
      )}
    </>
  );
}
