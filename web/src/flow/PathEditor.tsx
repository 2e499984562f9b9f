// What of the path has not begun, changed while it is walked.
import { Button } from "@mantine/core";
import { useState } from "react";
import { useAct, useCan, useSession } from "../app/session";
import { PATHS } from "../generated/words";
import { Pen } from "../ui/icons";
import { PathForm } from "./PathForm";
import type { FlowSpec } from "./spec";

/** Which rest of the path is being changed. `moved`: it went on meanwhile, and what was being changed is over. */
interface Open {
  seen: string;
  sent: boolean;
  moved: boolean;
}

export function PathEditor({ flows }: { flows: readonly FlowSpec[] }) {
  const { state } = useSession();
  const can = useCan();
  const act = useAct();
  const [open, setOpen] = useState<Open | null>(null);
  const [back, setBack] = useState(false); // the focus returns to the button when the form is left
  const { snapshot } = state;
  const path = snapshot?.path;
  if (!snapshot?.turn || !path || !can("edit_path")) return null;
  const { after: id, tool } = snapshot.path_standing ?? { after: "", tool: "" };
  const seen = `${snapshot.turn.number} ${id} ${path.remaining.join()}`;
  if (open === null)
    return (
      <Button className="path-edit" size="compact-sm" variant="subtle" leftSection={<Pen size={15} />} autoFocus={back} onClick={() => setOpen({ seen, sent: false, moved: false })} data-testid="path-edit">
        {PATHS.edit_rest}
      </Button>
    );
  // The path is the one that was asked for, or has gone on: then the form begins anew with what is left.
  if (open.seen !== seen) setOpen(open.sent && !act.error ? null : { seen, sent: false, moved: true });
  return (
    <PathForm
      key={open.seen}
      note={open.moved ? PATHS.moved : ""}
      flows={flows}
      path={path.remaining}
      after={tool}
      act={act}
      save={PATHS.use}
      onSave={(nodes, given) => {
        setOpen({ ...open, sent: true });
        act.send({ type: "edit_path", after: id, nodes, given });
      }}
      onClose={() => {
        setBack(true);
        setOpen(null);
      }}
    />
  );
}
