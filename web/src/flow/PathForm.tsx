// The rest of a path as an editable list: each node is chosen from those that may follow the previous one.
import { ActionIcon, Button, Menu, NativeSelect, Textarea } from "@mantine/core";
import { useEffect, useEffectEvent, useId, useState } from "react";
import { type CommandSender, useSession } from "../app/sessionContext";
import { ACTIONS, fill, PATHS } from "../words";
import { checkPath } from "../net/api";
import type { PathCheck } from "../protocol";
import { TrashIcon, CheckIcon, PlusIcon } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { allowedNodes, insertableNodes, type Path } from "./pathEdit";
import { type FlowSpec, readableName, splitTool, toolTitle } from "./spec";
import styles from "./PathForm.module.css";
import buttons from "../ui/buttons.module.css";
import stepNumberStyles from "../review/stepNumber.module.css";
import typography from "../ui/typography.module.css";

interface Props {
  flows: readonly FlowSpec[];
  /** The path before editing. */
  path: Path;
  /** The node that ran last before this path. */
  after?: string;
  note?: string;
  command: CommandSender;
  saveLabel: string;
  onSave: (path: string[], overrides: Record<string, string>) => void;
  onClose: () => void;
}

export function PathForm({ flows, path, after = "", note = "", command, saveLabel, onSave, onClose }: Props) {
  const [edited, setEdited] = useState<Path>(path);
  const [typedValues, setTypedValues] = useState<Record<string, string>>({});
  const title = useId();
  const { problems, lacking, rest, isCurrent, overrides } = usePathCheck(edited, typedValues);
  const isUnchanged = edited.join() === path.join() && Object.keys(overrides).length === 0;
  const canSave = isCurrent && problems.length === 0 && !isUnchanged;
  return (
    <form
      className={styles.form}
      data-testid="path-form"
      aria-labelledby={title}
      onSubmit={(event) => {
        event.preventDefault();
        if (canSave) onSave([...edited], overrides);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <h3 id={title}>{after ? fill(PATHS.after, { node: toolTitle(flows, after) }) : PATHS.title_form}</h3>
      {note && (
        <p className={typography.hint} role="alert">
          {note}
        </p>
      )}
      <ol role="list" className={styles.rows}>
        {edited.map((_, index) => (
          <PathRow key={index} flows={flows} path={edited} index={index} after={after} onChange={setEdited} />
        ))}
      </ol>
      <div className={buttons.row}>
        <AddNodeMenu flows={flows} label={PATHS.add_last} tools={insertableNodes(flows, edited, edited.length, after)} onAdd={(tool) => setEdited([...edited, tool])}>
          {PATHS.add}
        </AddNodeMenu>
        {rest.length > 0 && (
          <Button size="compact-sm" variant="subtle" onClick={() => setEdited([...edited, ...rest])} data-testid="path-complete">
            {PATHS.complete}
          </Button>
        )}
      </div>
      {lacking.map((name) => (
        <Textarea
          key={name}
          label={fill(PATHS.set_by_hand, { name: readableName(name) })}
          autosize
          minRows={1}
          maxRows={8}
          value={typedValues[name] ?? ""}
          onChange={(event) => setTypedValues({ ...typedValues, [name]: event.currentTarget.value })}
          data-testid={`given-${name}`}
        />
      ))}
      <ul role="list" className={styles.problems} aria-live="polite" data-testid="path-problems">
        {problems.map((problem) => (
          <li key={problem} className={typography.problem}>
            {problem}
          </li>
        ))}
      </ul>
      <div className={buttons.row}>
        <Button type="submit" size="sm" leftSection={<CheckIcon />} disabled={!canSave} loading={command.busy} data-testid="path-save">
          {saveLabel}
        </Button>
        <Button size="sm" variant="subtle" onClick={onClose} data-testid="path-close">
          {ACTIONS.cancel}
        </Button>
      </div>
      <Problem error={command.error} />
    </form>
  );
}

interface CheckedPath extends PathCheck {
  /** Whether the result is for the path on the screen. */
  isCurrent: boolean;
  /** The user's values for inputs that the path lacks. */
  overrides: Record<string, string>;
}

/** Checks a path with the gateway after each change; the previous result stays until the new one arrives. */
function usePathCheck(path: Path, typedValues: Record<string, string>): CheckedPath {
  const sessionId = useSession(({ state }) => state.sessionId);
  const standing = useSession(({ state }) => state.snapshot?.path_standing);
  const [result, setResult] = useState<{ key: string; check: PathCheck }>({ key: "", check: { problems: [], lacking: [], rest: [] } });
  const overrides = Object.fromEntries(result.check.lacking.flatMap((name) => (typedValues[name]?.trim() ? [[name, typedValues[name]]] : [])));
  const key = JSON.stringify([path, overrides, standing]);
  const check = useEffectEvent(async (signal: AbortSignal) => {
    try {
      setResult({ key, check: await checkPath(sessionId ?? "", path, overrides, signal) });
    } catch {
      // Saving checks the path again, so a failed check does not block the user.
      if (!signal.aborted) setResult({ key, check: { ...result.check, problems: [] } });
    }
  });
  useEffect(() => {
    const aborter = new AbortController();
    void check(aborter.signal);
    return () => aborter.abort();
  }, [key]);
  return { ...result.check, isCurrent: result.key === key, overrides };
}

interface PathRowProps {
  flows: readonly FlowSpec[];
  path: Path;
  index: number;
  after: string;
  onChange: (path: Path) => void;
}

function PathRow({ flows, path, index, after, onChange }: PathRowProps) {
  const tool = path[index] ?? "";
  const [flow] = splitTool(tool);
  const allowed = allowedNodes(flows, path, index, after);
  const data = [...(allowed.includes(tool) ? [] : [tool]), ...allowed].map((node) => ({ value: node, label: toolTitle(flows, node) }));
  return (
    <li className={styles.row} data-testid="path-row">
      <span className={stepNumberStyles.number}>{index + 1}</span>
      <NativeSelect size="sm" aria-label={fill(PATHS.node, { number: index + 1 })} autoFocus={index === 0} value={tool} data={data} error={!allowed.includes(tool)} onChange={(event) => onChange(path.with(index, event.currentTarget.value))} data-testid="path-node" />
      <AddNodeMenu flows={flows} label={fill(PATHS.insert, { node: toolTitle(flows, tool) })} tools={insertableNodes(flows, path, index, after).filter((node) => splitTool(node)[0] === flow || index === 0)} onAdd={(name) => onChange(path.toSpliced(index, 0, name))} />
      <ActionIcon variant="subtle" color="gray" size="md" aria-label={fill(PATHS.remove, { node: toolTitle(flows, tool) })} onClick={() => onChange(path.toSpliced(index, 1))} data-testid="path-remove">
        <TrashIcon size={16} />
      </ActionIcon>
    </li>
  );
}

function AddNodeMenu({ flows, label, tools, onAdd, children }: { flows: readonly FlowSpec[]; label: string; tools: readonly string[]; onAdd: (tool: string) => void; children?: string }) {
  if (tools.length === 0) return null;
  return (
    <Menu position="bottom-start" withinPortal shadow="md">
      <Menu.Target>
        {children ? (
          <Button size="compact-sm" variant="subtle" leftSection={<PlusIcon size={15} />} data-testid="path-add">
            {children}
          </Button>
        ) : (
          <ActionIcon variant="subtle" color="gray" size="md" aria-label={label} title={label} data-testid="path-insert">
            <PlusIcon size={16} />
          </ActionIcon>
        )}
      </Menu.Target>
      <Menu.Dropdown aria-label={label}>
        {tools.map((tool) => (
          <Menu.Item key={tool} onClick={() => onAdd(tool)} data-testid="path-choice">
            {toolTitle(flows, tool)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
