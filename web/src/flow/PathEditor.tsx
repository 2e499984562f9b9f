// Edits the part of a path that has not started.
import { Button } from "@mantine/core";
import { useState } from "react";
import { useCan, useCommand, useSnapshot } from "../app/sessionContext";
import { PATHS } from "../words";
import { EditIcon } from "../ui/icons";
import { PathForm } from "./PathForm";
import type { FlowSpec } from "./spec";

/** The edited rest of the path. `hasMoved`: the path changed during the edit, so the form was restarted. */
interface EditedRest {
  pathKey: string;
  isSent: boolean;
  hasMoved: boolean;
}

export function PathEditor({ flows }: { flows: readonly FlowSpec[] }) {
  const snapshot = useSnapshot();
  const can = useCan();
  const command = useCommand();
  const [edited, setEdited] = useState<EditedRest | null>(null);
  const [restoreFocus, setRestoreFocus] = useState(false); // return focus to the button when the form closes
  const path = snapshot?.path;
  if (!snapshot?.turn || !path || !can("edit_path")) return null;
  const { after: id, tool } = snapshot.path_standing ?? { after: "", tool: "" };
  const pathKey = `${snapshot.turn.number} ${id} ${path.remaining.join()}`;
  if (edited === null)
    return (
      <Button mt={8} size="compact-sm" variant="subtle" leftSection={<EditIcon size={15} />} autoFocus={restoreFocus} onClick={() => setEdited({ pathKey, isSent: false, hasMoved: false })} data-testid="path-edit">
        {PATHS.edit_rest}
      </Button>
    );
  // The path changed. If it was the user's edit, close the form; otherwise restart it with the remaining nodes.
  if (edited.pathKey !== pathKey) setEdited(edited.isSent && !command.error ? null : { pathKey, isSent: false, hasMoved: true });
  return (
    <PathForm
      key={edited.pathKey}
      note={edited.hasMoved ? PATHS.moved : ""}
      flows={flows}
      path={path.remaining}
      after={tool}
      command={command}
      saveLabel={PATHS.use}
      onSave={(nodes, overrides) => {
        setEdited({ ...edited, isSent: true });
        command.send({ type: "edit_path", after: id, nodes, given: overrides });
      }}
      onClose={() => {
        setRestoreFocus(true);
        setEdited(null);
      }}
    />
  );
}
