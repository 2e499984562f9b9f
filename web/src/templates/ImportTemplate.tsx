// A template from a file of one's own: YAML, or JSON.
import { Button, FileButton } from "@mantine/core";
import { useRef, useState } from "react";
import { fill, TEMPLATES } from "../generated/words";
import { importTemplate } from "../net/api";
import { reasonOf } from "../ui/useAsked";

const LARGEST = 250_000; // characters, as the gateway takes them

export function ImportTemplate({ onMade }: { onMade: () => void }) {
  const forget = useRef<() => void>(null); // the chosen file: mended, it is chosen once more
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState("");
  const [refused, setRefused] = useState("");
  const read = async (file: File | null) => {
    if (!file) return;
    setMade("");
    setRefused("");
    setBusy(true);
    try {
      const document = file.size > LARGEST ? "" : await file.text();
      if (!document) throw new Error(file.size > LARGEST ? TEMPLATES.import_large : TEMPLATES.import_empty);
      setMade((await importTemplate(document, /\.json$/i.test(file.name) ? "json" : "yaml", crypto.randomUUID())).template.name);
      onMade();
    } catch (error) {
      setRefused(reasonOf(error));
    }
    forget.current?.();
    setBusy(false);
  };
  return (
    <div>
      <FileButton onChange={(file) => void read(file)} accept=".yaml,.yml,.json" resetRef={forget}>
        {(props) => (
          <Button {...props} size="compact-sm" variant="default" loading={busy} data-testid="template-import">
            {TEMPLATES.import}
          </Button>
        )}
      </FileButton>
      {made && <p role="status">{fill(TEMPLATES.imported, { name: made })}</p>}
      {refused && <p className="problem" role="alert" data-testid="error">{refused}</p>}
    </div>
  );
}
