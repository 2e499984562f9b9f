// The rest of a path as a list that can be changed: each node is chosen among those that may follow the one before.
import { ActionIcon, Button, Menu, NativeSelect, Textarea } from "@mantine/core";
import { useId, useState } from "react";
import type { Act } from "../app/session";
import { ACTIONS, fill, PATHS } from "../generated/words";
import { Bin, Check, Plus } from "../ui/icons";
import { Problem } from "../ui/Problem";
import { choices, completed, inserted, insertable, type Path, withNode, without } from "./pathEdit";
import { chains, flowOf, type FlowSpec, missing, problemsOf, split, type Standing, titled, words } from "./spec";

interface Props {
  flows: readonly FlowSpec[];
  /** The path as it is. */
  path: Path;
  standing: Standing;
  /** Values may be set by hand on the way. */
  givable: boolean;
  note?: string;
  act: Act;
  save: string;
  onSave: (path: string[], given: Record<string, string>) => void;
  onClose: () => void;
}

export function PathForm({ flows, path, standing, givable, note = "", act, save, onSave, onClose }: Props) {
  const [edited, setEdited] = useState<Path>(path);
  const [given, setGiven] = useState<Record<string, string>>({});
  const title = useId();
  const lacking = givable ? lackingOf(flows, edited, standing.have) : [];
  const set = Object.fromEntries(lacking.flatMap((name) => (given[name]?.trim() ? [[name, given[name]]] : [])));
  const own = Object.keys(set);
  // who sets values begins anew with them: any node follows that has its inputs
  const problems = problemsOf(flows, edited, { after: own.length > 0 ? "" : standing.after, have: [...standing.have, ...own] });
  const same = edited.join() === path.join() && own.length === 0;
  const ending = problems.some((one) => one.startsWith("The path ends"));
  return (
    <form
      className="path-form"
      data-testid="path-form"
      aria-labelledby={title}
      onSubmit={(event) => {
        event.preventDefault();
        if (problems.length === 0 && !same) onSave([...edited], set);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <h3 id={title}>{standing.after ? fill(PATHS.after, { node: titled(flows, standing.after) }) : PATHS.title_form}</h3>
      {note && (
        <p className="hint" role="alert">
          {note}
        </p>
      )}
      <ol className="path-rows">
        {edited.map((_, at) => (
          <Row key={at} flows={flows} path={edited} at={at} after={standing.after} onChange={setEdited} />
        ))}
      </ol>
      <div className="decision-buttons">
        <Add flows={flows} label={PATHS.add_last} names={insertable(flows, edited, edited.length, standing.after)} onAdd={(tool) => setEdited(inserted(edited, edited.length, tool))}>
          {PATHS.add}
        </Add>
        {ending && (
          <Button size="compact-sm" variant="subtle" onClick={() => setEdited(completed(flows, edited, standing.after))} data-testid="path-complete">
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
        <Button type="submit" size="sm" leftSection={<Check />} disabled={problems.length > 0 || same} loading={act.busy} data-testid="path-save">
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

/** What the first flow of the path needs and nothing makes. */
function lackingOf(flows: readonly FlowSpec[], tools: Path, have: readonly string[]): string[] {
  const [first] = chains(tools);
  const flow = first && flowOf(flows, first.flow);
  return flow ? missing(flow, first.nodes, [...flow.starts, ...have]) : [];
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
