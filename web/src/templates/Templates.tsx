// The user's templates, and those that come with Parley.
import { Button, Loader } from "@mantine/core";
import { useState } from "react";
import { ACTIONS, fill, SIGNS, TEMPLATES } from "../words";
import { deleteTemplate, fetchTemplates, templateFileUrl } from "../net/api";
import type { TemplateLine } from "../protocol";
import { Badge } from "../ui/Badge";
import { formatDateTime } from "../ui/format";
import { errorMessage, useFetch } from "../ui/useFetch";
import { ImportTemplate } from "./ImportTemplate";
import { ScheduleTemplate } from "./ScheduleTemplate";
import { UseTemplate } from "./UseTemplate";
import buttons from "../ui/buttons.module.css";
import libraryStyles from "../library/Library.module.css";
import typography from "../ui/typography.module.css";

export function Templates({ onStarted }: { onStarted: () => void }) {
  const [opened, setOpened] = useState<{ id: string; to: "use" | "schedule" } | null>(null);
  const [loadCount, setLoadCount] = useState(0);
  const { data: page, problem } = useFetch(fetchTemplates, String(loadCount));
  const back = () => {
    setOpened(null);
    setLoadCount(loadCount + 1);
  };
  if (opened?.to === "use") return <UseTemplate id={opened.id} onBack={back} onStarted={onStarted} />;
  if (opened) return <ScheduleTemplate id={opened.id} onBack={back} />;
  if (problem) return <p className={typography.problem} role="alert">{problem}</p>;
  if (!page) return <Loader size="sm" aria-label={SIGNS.loading} />;
  return (
    <>
      <ImportTemplate onImported={() => setLoadCount(loadCount + 1)} />
      {page.templates.length === 0 && <p className={typography.hint}>{TEMPLATES.none}</p>}
      <ul role="list">
        {[...page.templates, ...page.shipped].map((template) => (
          <TemplateItem key={template.id} template={template} onOpen={(to) => setOpened({ id: template.id, to })} onDeleted={() => setLoadCount(loadCount + 1)} />
        ))}
      </ul>
    </>
  );
}

function TemplateItem({ template, onOpen, onDeleted }: { template: TemplateLine; onOpen: (to: "use" | "schedule") => void; onDeleted: () => void }) {
  const [isConfirming, setConfirming] = useState(false);
  const [problem, setProblem] = useState("");
  const remove = async () => {
    try {
      await deleteTemplate(template.id);
      onDeleted();
    } catch (error) {
      setProblem(errorMessage(error));
    }
  };
  const notes = [template.steps === 1 ? TEMPLATES.steps_one : fill(TEMPLATES.steps, { count: template.steps }), template.shipped && TEMPLATES.shipped, template.next_run && fill(TEMPLATES.next_run, { at: formatDateTime(template.next_run) })];
  return (
    <li className={libraryStyles.item} data-testid="template">
      <p>
        <strong>{template.name}</strong> {template.status === "draft" && <Badge tone="wait">{TEMPLATES.draft}</Badge>}
      </p>
      {template.description && <p className={typography.dimmed}>{template.description}</p>}
      {isConfirming && (
        <p role="alert">{fill(TEMPLATES.delete_sure, { name: template.name })}</p>
      )}
      <div className={buttons.row}>
        {isConfirming ? (
          <>
            <Button size="compact-sm" color="red" onClick={() => void remove()} data-testid="template-delete-sure">
              {TEMPLATES.delete}
            </Button>
            <Button key="keep" size="compact-sm" variant="default" onClick={() => setConfirming(false)} autoFocus>
              {TEMPLATES.keep}
            </Button>
          </>
        ) : (
          <>
            <Button size="compact-sm" variant="light" onClick={() => onOpen("use")} aria-label={fill(TEMPLATES.use_named, { name: template.name })} data-testid="template-use">
              {TEMPLATES.use}
            </Button>
            {!template.shipped && (
              <Button size="compact-sm" variant="subtle" color="gray" onClick={() => onOpen("schedule")} aria-label={fill(TEMPLATES.schedule_named, { name: template.name })} data-testid="template-schedule">
                {TEMPLATES.schedule}
              </Button>
            )}
            <Button component="a" href={templateFileUrl(template.id)} download size="compact-sm" variant="subtle" color="gray" aria-label={fill(TEMPLATES.download_named, { name: template.name })} data-testid="template-download">
              {ACTIONS.download}
            </Button>
            {!template.shipped && (
              <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setConfirming(true)} aria-label={fill(TEMPLATES.delete_named, { name: template.name })} data-testid="template-delete">
                {TEMPLATES.delete}
              </Button>
            )}
          </>
        )}
        <span className={typography.dimmed}>{notes.filter(Boolean).join(" · ")}</span>
      </div>
      {problem && <p className={typography.problem} role="alert">{problem}</p>}
    </li>
  );
}
