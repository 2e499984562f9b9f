// The steps of an approved plan as they run: how each stands at its edge, and lines from the steps that it waits for.
import { places } from "../review/lanes";
import { railOffset, railWidth, StepRail } from "../review/StepRail";
import { inline } from "../ui/values";
import { ActionShown } from "./ActionShown";
import type { ActionEntry, TurnEntry } from "./entries";

const WIDEST = 5; // lanes; beyond, lines say nothing any more

export function PlanRun({ entry }: { entry: TurnEntry }) {
  const { actions } = entry;
  const rail = places(actions.map(({ spec }) => ({ id: spec.id, needs: spec.depends_on })));
  const lanes = Math.max(1, ...rail.map(({ lane, passing }) => Math.max(lane, ...passing) + 1));
  const drawn = lanes <= WIDEST;
  return (
    <ol className="actions plan-run" style={{ "--rail": `${drawn ? railWidth(lanes) : 24}px` } as React.CSSProperties}>
      {actions.map((action, row) => {
        const place = rail[row];
        return (
          <li key={action.key}>
            {drawn && place && <StepRail place={place} lanes={lanes} />}
            <span className="plan-dot" data-tone={action.tone} style={{ left: (drawn && place ? railOffset(place) : 0) + 7 }} aria-hidden="true" />
            <ActionShown action={action} turn={entry.number} about={aboutOf(action, actions)} />
          </li>
        );
      })}
    </ol>
  );
}

/** What tells apart steps of the same words, such as one step for several items: what they are called with. */
function aboutOf({ key, spec }: ActionEntry, actions: readonly ActionEntry[]): string {
  const twin = actions.some((one) => one.key !== key && one.spec.description === spec.description);
  return twin ? Object.values(spec.arguments).map(inline).join(", ") : "";
}
