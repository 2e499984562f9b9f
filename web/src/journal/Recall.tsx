// Earlier sessions that the planner was told of, and the switch that ends this.
import { Switch } from "@mantine/core";
import { go, pathOf } from "../app/route";
import { useSession } from "../app/session";
import { useChoice } from "../compose/choice";
import { fill, JOURNAL } from "../generated/words";
import type { Recalled } from "../protocol";

export function Recall({ recalled }: { recalled: readonly Recalled[] }) {
  const { state } = useSession();
  const { choice, change } = useChoice(state);
  return (
    <details className="thoughts" data-testid="recalled">
      <summary>{recalled.length === 1 ? JOURNAL.recalled_one : fill(JOURNAL.recalled, { count: recalled.length })}</summary>
      <ul className="recalled">
        {recalled.map((one) => (
          <li key={one.session_id + one.request}>
            <a
              href={pathOf(one.session_id)}
              onClick={(event) => {
                if (event.metaKey || event.ctrlKey || event.shiftKey) return;
                event.preventDefault();
                go(one.session_id);
              }}
            >
              {one.request}
            </a>
            <span className="dimmed">
              {one.outcome}
              {one.lesson && ` — ${one.lesson}`}
            </span>
          </li>
        ))}
      </ul>
      <Switch
        size="sm"
        label={JOURNAL.recall_off}
        checked={!choice.recall}
        onChange={(event) => change({ recall: !event.currentTarget.checked })}
        data-testid="recall-off"
      />
    </details>
  );
}
