// One turn: its sub-goal, its actions, and the verdict.
import { useSession } from "../app/sessionContext";
import { fill, JOURNAL, VERDICTS } from "../generated/words";
import type { VerdictLine } from "../protocol";
import { Badge } from "../ui/Badge";
import { formatTime } from "../ui/format";
import { ActionItem } from "./ActionItem";
import type { TurnEntry } from "./entries";
import { PlanRun } from "./PlanRun";
import { Recall } from "./Recall";
import styles from "./TurnCard.module.css";
import callHeadStyles from "../ui/callHead.module.css";
import cardStyles from "./card.module.css";
import detailsStyles from "../ui/Details.module.css";
import typography from "../ui/typography.module.css";

export default function TurnCard({ entry, by, byPerson }: { entry: TurnEntry; by: string; byPerson: boolean }) {
  const plan = useSession(({ state }) => (entry.plan === null ? undefined : state.journal.get(entry.plan)));
  const isPlanRun = plan?.kind === "plan";
  return (
    <article className={cardStyles.card} data-testid="turn">
      <header className={cardStyles.head}>
        <strong>{entry.sub_goal}</strong>
        <span className={cardStyles.summary}>{isPlanRun ? plan.title : fill(JOURNAL.turn, { number: entry.number })}</span>
        {!isPlanRun && (
          <Badge tone={byPerson ? "work" : "plain"} data-testid="turn-by">
            {by}
          </Badge>
        )}
        <time dateTime={entry.at}>{formatTime(entry.at)}</time>
      </header>
      {entry.actions.length === 0 && <p className={typography.dimmed}>{JOURNAL.answer_follows}</p>}
      {isPlanRun ? (
        <PlanRun entry={entry} />
      ) : (
        <ul role="list">
          {entry.actions.map((action) => (
            <li key={action.key}>
              <ActionItem action={action} turn={entry.number} />
            </li>
          ))}
        </ul>
      )}
      <Reasoning entry={entry} />
      {entry.recalled.length > 0 && <Recall recalled={entry.recalled} />}
      {entry.verdict && <Verdict verdict={entry.verdict} hideText={isPlanRun} />}
    </article>
  );
}

/** The planner's reasoning, collapsed. */
function Reasoning({ entry }: { entry: TurnEntry }) {
  const { selected_tool: selectedTool, required_skills: skills, reasoning, final } = entry;
  if (!reasoning && skills.length === 0) return null;
  return (
    <details className={detailsStyles.disclosure} data-testid="thoughts">
      <summary>{JOURNAL.why}</summary>
      {reasoning && <p>{reasoning}</p>}
      <p className={typography.dimmed}>
        {[selectedTool && fill(JOURNAL.tool, { name: selectedTool }), skills.length > 0 && fill(JOURNAL.skills, { names: skills.join(", ") }), final && JOURNAL.final_turn]
          .filter(Boolean)
          .join(" · ")}
      </p>
    </details>
  );
}

/** `hideText`: the answer below starts with the same words. */
export function Verdict({ verdict, hideText = false }: { verdict: VerdictLine; hideText?: boolean }) {
  const analyses = [verdict.execution_analysis, verdict.memory_analysis].filter(Boolean);
  return (
    <div className={styles.verdict}>
      <p className={callHeadStyles.head} data-testid="verdict" data-status={verdict.status}>
        <Badge tone={verdict.tone}>{verdict.word}</Badge>
        {!hideText && <span>{verdict.text}</span>}
        <span className={typography.dimmed} data-testid="verdict-by">
          {verdict.source} · {verdict.next}
        </span>
      </p>
      {verdict.sub_goals && (
        <ul role="list" data-testid="sub-goal-verdicts">
          {verdict.sub_goals.map((subGoal) => (
            <li key={subGoal.sub_goal}>
              <Badge tone={subGoal.tone}>{subGoal.word}</Badge> <strong>{subGoal.sub_goal}</strong> <span className={typography.dimmed}>{subGoal.text}</span>
            </li>
          ))}
        </ul>
      )}
      {analyses.length > 0 && (
        <details className={detailsStyles.disclosure}>
          <summary>{VERDICTS.notes}</summary>
          {analyses.map((text) => (
            <p key={text}>{text}</p>
          ))}
        </details>
      )}
    </div>
  );
}
