// Imports a template from a YAML or JSON file.
import { Button, FileButton } from "@mantine/core";
import { useRef, useState } from "react";
import { fill, TEMPLATES } from "../words";
import { importTemplate } from "../net/api";
import { useSubmit } from "../ui/useSubmit";
import typography from "../ui/typography.module.css";

const MAX_BYTES = 250_000; // the gateway accepts as many characters

export function ImportTemplate({ onImported }: { onImported: () => void }) {
  const resetFile = useRef<() => void>(null); // clears the selection: a corrected file can be chosen again
  const [importedName, setImportedName] = useState("");
  const { busy, problem, submit } = useSubmit();
  const importFile = async (file: File) => {
    setImportedName("");
    if (file.size > MAX_BYTES) throw new Error(TEMPLATES.import_large);
    const document = await file.text();
    if (!document) throw new Error(TEMPLATES.import_empty);
    const { template } = await importTemplate(document, /\.json$/i.test(file.name) ? "json" : "yaml");
    setImportedName(template.name);
    onImported();
  };
  const choose = async (file: File | null) => {
    if (file) await submit(() => importFile(file));
    resetFile.current?.();
  };
  return (
    <div>
      <FileButton onChange={(file) => void choose(file)} accept=".yaml,.yml,.json" resetRef={resetFile}>
        {(props) => (
          <Button {...props} size="compact-sm" variant="default" loading={busy} data-testid="template-import">
            {TEMPLATES.import}
          </Button>
        )}
      </FileButton>
      {importedName && <p role="status">{fill(TEMPLATES.imported, { name: importedName })}</p>}
      {problem && <p className={typography.problem} role="alert" data-testid="error">{problem}</p>}
    </div>
  );
}
