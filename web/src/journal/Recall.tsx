// Earlier sessions that the planner used as hints, with a switch to turn this off.
import { Switch } from "@mantine/core";
import { navigate, sessionPath } from "../app/route";
import { useRequestChoice } from "../compose/requestChoice";
import { fill, JOURNAL } from "../words";
import type { Recalled } from "../protocol";
import styles from "./Recall.module.css";
import detailsStyles from "../ui/Details.module.css";
import typography from "../ui/typography.module.css";

export function Recall({ recalled }: { recalled: readonly Recalled[] }) {
  const { choice, change } = useRequestChoice();
  return (
    <details className={detailsStyles.disclosure} data-testid="recalled">
      <summary>{recalled.length === 1 ? JOURNAL.recalled_one : fill(JOURNAL.recalled, { count: recalled.length })}</summary>
      <ul role="list" className={styles.recalled}>
        {recalled.map((recall) => (
          <li key={recall.session_id + recall.request}>
            <a
              href={sessionPath(recall.session_id)}
              onClick={(event) => {
                if (event.metaKey || event.ctrlKey || event.shiftKey) return;
                event.preventDefault();
                navigate(recall.session_id);
              }}
            >
              {recall.request}
            </a>
            <span className={typography.dimmed}>
              {recall.outcome}
              {recall.lesson && ` — ${recall.lesson}`}
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
