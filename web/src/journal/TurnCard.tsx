// One turn: what it was for, its actions as they run, what came out, and the verdict.
import { fill, JOURNAL, VERDICTS } from "../generated/words";
import { useSession } from "../app/session";
import type { VerdictLine } from "../protocol";
import { clock } from "../ui/format";
import { Tone } from "../ui/Tone";
import { ActionShown } from "./ActionShown";
import type { TurnEntry } from "./entries";
import { PlanRun } from "./PlanRun";
import { Recall } from "./Recall";

export default function TurnCard({ entry, by, byPerson }: { entry: TurnEntry; by: string; byPerson: boolean }) {
  const { state } = useSession();
  const plan = entry.plan === null ? undefined : state.journal.get(entry.plan);
  const steps = plan?.kind === "plan";
  return (
    <article className="card turn" data-testid="turn">
      <header className="card-head">
        <strong>{entry.sub_goal}</strong>
        <span className="card-what">{steps ? plan.title : fill(JOURNAL.turn, { number: entry.number })}</span>
        {!steps && (
          <Tone tone={byPerson ? "work" : "plain"} data-testid="turn-by">
            {by}
          </Tone>
        )}
        <time dateTime={entry.at}>{clock(entry.at)}</time>
      </header>
      {entry.actions.length === 0 && <p className="dimmed">{JOURNAL.answer_follows}</p>}
      {steps ? (
        <PlanRun entry={entry} />
      ) : (
        <ul className="actions">
          {entry.actions.map((action) => (
            <li key={action.key}>
              <ActionShown action={action} turn={entry.number} />
            </li>
          ))}
        </ul>
      )}
      <Thoughts entry={entry} />
      {entry.recalled.length > 0 && <Recall recalled={entry.recalled} />}
      {entry.verdict && <Verdict verdict={entry.verdict} brief={steps} />}
    </article>
  );
}

/** Why it was planned so: folded, for those who want to know. */
function Thoughts({ entry }: { entry: TurnEntry }) {
  const { selected_tool: selectedTool, required_skills: skills, reasoning, final } = entry;
  if (!reasoning && skills.length === 0) return null;
  return (
    <details className="thoughts" data-testid="thoughts">
      <summary>{JOURNAL.why}</summary>
      {reasoning && <p>{reasoning}</p>}
      <p className="dimmed">
        {[selectedTool && fill(JOURNAL.tool, { name: selectedTool }), skills.length > 0 && fill(JOURNAL.skills, { names: skills.join(", ") }), final && JOURNAL.final_turn]
          .filter(Boolean)
          .join(" · ")}
      </p>
    </details>
  );
}

/** `brief`: its words are those that the answer below it begins with. */
export function Verdict({ verdict, brief = false }: { verdict: VerdictLine; brief?: boolean }) {
  const { state } = useSession();
  const event = state.events[verdict.version - 1];
  const analyses = event?.type === "turn.verified" ? [event.execution_analysis, event.memory_analysis].filter(Boolean) : [];
  return (
    <div className="verdict-box">
      <p className="verdict" data-testid="verdict" data-status={verdict.status}>
        <Tone tone={verdict.tone}>{verdict.word}</Tone>
        {!brief && <span>{verdict.text}</span>}
        <span className="dimmed" data-testid="verdict-by">
          {verdict.source} · {verdict.next}
        </span>
      </p>
      {verdict.sub_goals && (
        <ul className="actions" data-testid="sub-goal-verdicts">
          {verdict.sub_goals.map((one) => (
            <li key={one.sub_goal}>
              <Tone tone={one.tone}>{one.word}</Tone> <strong>{one.sub_goal}</strong> <span className="dimmed">{one.text}</span>
            </li>
          ))}
        </ul>
      )}
      {analyses.length > 0 && (
        <details className="thoughts">
          <summary>{VERDICTS.notes}</summary>
          {analyses.map((text) => (
            <p key={text}>{text}</p>
          ))}
        </details>
      )}
    </div>
  );
}
