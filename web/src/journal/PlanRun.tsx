// The steps of an approved plan as they run, with their state and with lines from the steps they depend on.
import { layoutLanes } from "../review/lanes";
import { railOffset, railWidth, StepRail } from "../review/StepRail";
import { formatInline } from "../ui/values";
import { ActionItem } from "./ActionItem";
import type { ActionEntry, TurnEntry } from "./entries";
import actionItemStyles from "./ActionItem.module.css";

const MAX_LANES = 5; // more lanes would be unreadable

export function PlanRun({ entry }: { entry: TurnEntry }) {
  const { actions } = entry;
  const places = layoutLanes(actions.map(({ action_id, depends_on }) => ({ id: action_id, needs: depends_on })));
  const lanes = Math.max(1, ...places.map(({ lane, passing }) => Math.max(lane, ...passing) + 1));
  const hasRail = lanes <= MAX_LANES;
  return (
    <ol role="list" className={actionItemStyles.planRun} style={{ "--rail": `${hasRail ? railWidth(lanes) : 24}px` } as React.CSSProperties}>
      {actions.map((action, row) => {
        const place = places[row];
        return (
          <li key={action.key}>
            {hasRail && place && <StepRail place={place} lanes={lanes} />}
            <span className={actionItemStyles.planDot} data-tone={action.tone} style={{ left: (hasRail && place ? railOffset(place) : 0) + 7 }} aria-hidden="true" />
            <ActionItem action={action} turn={entry.number} distinction={distinctionOf(action, actions)} />
          </li>
        );
      })}
    </ol>
  );
}

/** For steps with the same description, such as one step for several items: the arguments that differ. */
function distinctionOf({ key, description, arguments: values }: ActionEntry, actions: readonly ActionEntry[]): string {
  const hasTwin = actions.some((action) => action.key !== key && action.description === description);
  return hasTwin ? Object.values(values).map(formatInline).join(", ") : "";
}
