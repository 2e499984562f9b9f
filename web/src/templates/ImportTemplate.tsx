// A template from a file of one's own: YAML, or JSON.
import { Button, FileButton } from "@mantine/core";
import { useRef, useState } from "react";
import { fill, TEMPLATES } from "../generated/words";
import { importTemplate } from "../net/api";
import { useSending } from "../ui/useSending";

const LARGEST = 250_000; // bytes; the gateway takes as many characters

export function ImportTemplate({ onMade }: { onMade: () => void }) {
  const forget = useRef<() => void>(null); // the chosen file: mended, it is chosen once more
  const [made, setMade] = useState("");
  const { busy, refused, send } = useSending();
  const read = async (file: File) => {
    setMade("");
    if (file.size > LARGEST) throw new Error(TEMPLATES.import_large);
    const document = await file.text();
    if (!document) throw new Error(TEMPLATES.import_empty);
    const { template } = await importTemplate(document, /\.json$/i.test(file.name) ? "json" : "yaml");
    setMade(template.name);
    onMade();
  };
  const choose = async (file: File | null) => {
    if (file) await send(() => read(file));
    forget.current?.();
  };
  return (
    <div>
      <FileButton onChange={(file) => void choose(file)} accept=".yaml,.yml,.json" resetRef={forget}>
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
