// The rest of a path as a list that can be changed: each node is chosen among those that may follow the one before.
import { ActionIcon, Button, Menu, NativeSelect, Textarea } from "@mantine/core";
import { useEffect, useEffectEvent, useId, useState } from "react";
import { type Act, useSession } from "../app/session";
import { ACTIONS, fill, PATHS } from "../generated/words";
import { checkPath } from "../net/api";
import type { PathCheck } from "../protocol";
import { Bin, Check, Plus } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { choices, inserted, insertable, type Path, withNode, without } from "./pathEdit";
import { type FlowSpec, split, titled, words } from "./spec";

interface Props {
  flows: readonly FlowSpec[];
  /** The path as it is. */
  path: Path;
  /** The node that has run before it. */
  after?: string;
  note?: string;
  act: Act;
  save: string;
  onSave: (path: string[], given: Record<string, string>) => void;
  onClose: () => void;
}

export function PathForm({ flows, path, after = "", note = "", act, save, onSave, onClose }: Props) {
  const [edited, setEdited] = useState<Path>(path);
  const [given, setGiven] = useState<Record<string, string>>({});
  const title = useId();
  const { problems, lacking, rest, checked, set } = useCheck(edited, given);
  const same = edited.join() === path.join() && Object.keys(set).length === 0;
  const savable = checked && problems.length === 0 && !same;
  return (
    <form
      className="path-form"
      data-testid="path-form"
      aria-labelledby={title}
      onSubmit={(event) => {
        event.preventDefault();
        if (savable) onSave([...edited], set);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <h3 id={title}>{after ? fill(PATHS.after, { node: titled(flows, after) }) : PATHS.title_form}</h3>
      {note && (
        <p className="hint" role="alert">
          {note}
        </p>
      )}
      <ol className="path-rows">
        {edited.map((_, at) => (
          <Row key={at} flows={flows} path={edited} at={at} after={after} onChange={setEdited} />
        ))}
      </ol>
      <div className="decision-buttons">
        <Add flows={flows} label={PATHS.add_last} names={insertable(flows, edited, edited.length, after)} onAdd={(tool) => setEdited(inserted(edited, edited.length, tool))}>
          {PATHS.add}
        </Add>
        {rest.length > 0 && (
          <Button size="compact-sm" variant="subtle" onClick={() => setEdited([...edited, ...rest])} data-testid="path-complete">
            {PATHS.complete}
          </Button>
        )}
      </div>
      {lacking.map((name) => (
        <Textarea
          key={name}
          label={fill(PATHS.set_by_hand, { name: words(name) })}
          autosize
          minRows={1}
          maxRows={8}
          value={given[name] ?? ""}
          onChange={(event) => setGiven({ ...given, [name]: event.currentTarget.value })}
          data-testid={`given-${name}`}
        />
      ))}
      <ul className="path-problems" aria-live="polite" data-testid="path-problems">
        {problems.map((one) => (
          <li key={one} className="problem">
            {one}
          </li>
        ))}
      </ul>
      <div className="decision-buttons">
        <Button type="submit" size="sm" leftSection={<Check />} disabled={!savable} loading={act.busy} data-testid="path-save">
          {save}
        </Button>
        <Button size="sm" variant="subtle" onClick={onClose} data-testid="path-close">
          {ACTIONS.cancel}
        </Button>
      </div>
      <Problem error={act.error} />
    </form>
  );
}

interface Checked extends PathCheck {
  /** What was checked is what stands there now. */
  checked: boolean;
  /** Those of the values set by hand that the path lacks. */
  set: Record<string, string>;
}

/** The gateway's word on a path, asked for with each change; until it comes, the last one stands. */
function useCheck(path: Path, given: Record<string, string>): Checked {
  const { state } = useSession();
  const [found, setFound] = useState<{ of: string; check: PathCheck }>({ of: "", check: { problems: [], lacking: [], rest: [] } });
  const set = Object.fromEntries(found.check.lacking.flatMap((name) => (given[name]?.trim() ? [[name, given[name]]] : [])));
  const asked = JSON.stringify([path, set, state.snapshot?.path_standing]);
  const id = state.sessionId;
  const ask = useEffectEvent(async (signal: AbortSignal) => {
    try {
      setFound({ of: asked, check: await checkPath(id ?? "", path, set, signal) });
    } catch {
      // What is saved is checked again there: a check that cannot be had is in nobody's way.
      if (!signal.aborted) setFound({ of: asked, check: { ...found.check, problems: [] } });
    }
  });
  useEffect(() => {
    const asking = new AbortController();
    void ask(asking.signal);
    return () => asking.abort();
  }, [asked]);
  return { ...found.check, checked: found.of === asked, set };
}

interface RowProps {
  flows: readonly FlowSpec[];
  path: Path;
  at: number;
  after: string;
  onChange: (path: Path) => void;
}

function Row({ flows, path, at, after, onChange }: RowProps) {
  const tool = path[at] ?? "";
  const [flow] = split(tool);
  const allowed = choices(flows, path, at, after);
  const data = [...(allowed.includes(tool) ? [] : [tool]), ...allowed].map((one) => ({ value: one, label: titled(flows, one) }));
  return (
    <li className="path-row" data-testid="path-row">
      <span className="step-number">{at + 1}</span>
      <NativeSelect size="sm" aria-label={fill(PATHS.node, { number: at + 1 })} autoFocus={at === 0} value={tool} data={data} error={!allowed.includes(tool)} onChange={(event) => onChange(withNode(path, at, event.currentTarget.value))} data-testid="path-node" />
      <Add flows={flows} label={fill(PATHS.insert, { node: titled(flows, tool) })} names={insertable(flows, path, at, after).filter((one) => split(one)[0] === flow || at === 0)} onAdd={(name) => onChange(inserted(path, at, name))} />
      <ActionIcon variant="subtle" color="gray" size="md" aria-label={fill(PATHS.remove, { node: titled(flows, tool) })} onClick={() => onChange(without(path, at))} data-testid="path-remove">
        <Bin size={16} />
      </ActionIcon>
    </li>
  );
}

function Add({ flows, label, names, onAdd, children }: { flows: readonly FlowSpec[]; label: string; names: readonly string[]; onAdd: (tool: string) => void; children?: string }) {
  if (names.length === 0) return null;
  return (
    <Menu position="bottom-start" withinPortal shadow="md">
      <Menu.Target>
        {children ? (
          <Button size="compact-sm" variant="subtle" leftSection={<Plus size={15} />} data-testid="path-add">
            {children}
          </Button>
        ) : (
          <ActionIcon variant="subtle" color="gray" size="md" aria-label={label} title={label} data-testid="path-insert">
            <Plus size={16} />
          </ActionIcon>
        )}
      </Menu.Target>
      <Menu.Dropdown aria-label={label}>
        {names.map((tool) => (
          <Menu.Item key={tool} onClick={() => onAdd(tool)} data-testid="path-choice">
            {titled(flows, tool)}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
