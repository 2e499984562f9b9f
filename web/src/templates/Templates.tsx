// Plans to use again: one's own, and those that come with Parley.
import { Button, Loader } from "@mantine/core";
import { useState } from "react";
import { ACTIONS, fill, SIGNS, TEMPLATES } from "../generated/words";
import { deleteTemplate, templateFile, templates } from "../net/api";
import type { TemplateLine } from "../protocol";
import { moment } from "../ui/format";
import { Tone } from "../ui/Tone";
import { reasonOf, useAsked } from "../ui/useAsked";
import { ImportTemplate } from "./ImportTemplate";
import { ScheduleTemplate } from "./ScheduleTemplate";
import { UseTemplate } from "./UseTemplate";

export function Templates({ onBegun }: { onBegun: () => void }) {
  const [opened, setOpened] = useState<{ id: string; to: "use" | "schedule" } | null>(null);
  const [asked, setAsked] = useState(0);
  const { answer: page, problem } = useAsked(templates, String(asked));
  const back = () => {
    setOpened(null);
    setAsked(asked + 1);
  };
  if (opened?.to === "use") return <UseTemplate id={opened.id} onBack={back} onBegun={onBegun} />;
  if (opened) return <ScheduleTemplate id={opened.id} onBack={back} />;
  if (problem) return <p className="problem" role="alert">{problem}</p>;
  if (!page) return <Loader size="sm" aria-label={SIGNS.loading} />;
  return (
    <>
      <ImportTemplate onMade={() => setAsked(asked + 1)} />
      {page.templates.length === 0 && <p className="hint">{TEMPLATES.none}</p>}
      <ul className="library-list">
        {[...page.templates, ...page.shipped].map((one) => (
          <Line key={one.id} line={one} onOpen={(to) => setOpened({ id: one.id, to })} onGone={() => setAsked(asked + 1)} />
        ))}
      </ul>
    </>
  );
}

function Line({ line, onOpen, onGone }: { line: TemplateLine; onOpen: (to: "use" | "schedule") => void; onGone: () => void }) {
  const [sure, setSure] = useState(false);
  const [problem, setProblem] = useState("");
  const remove = async () => {
    try {
      await deleteTemplate(line.id);
      onGone();
    } catch (error) {
      setProblem(reasonOf(error));
    }
  };
  const notes = [line.steps === 1 ? TEMPLATES.steps_one : fill(TEMPLATES.steps, { count: line.steps }), line.shipped && TEMPLATES.shipped, line.next_run && fill(TEMPLATES.next_run, { at: moment(line.next_run) })];
  return (
    <li className="library-item" data-testid="template">
      <p className="library-question">
        <strong>{line.name}</strong> {line.status === "draft" && <Tone tone="wait">{TEMPLATES.draft}</Tone>}
      </p>
      {line.description && <p className="dimmed">{line.description}</p>}
      {sure && (
        <p role="alert">{fill(TEMPLATES.delete_sure, { name: line.name })}</p>
      )}
      <div className="decision-buttons">
        {sure ? (
          <>
            <Button size="compact-sm" color="red" onClick={() => void remove()} data-testid="template-delete-sure">
              {TEMPLATES.delete}
            </Button>
            <Button key="keep" size="compact-sm" variant="default" onClick={() => setSure(false)} autoFocus>
              {TEMPLATES.keep}
            </Button>
          </>
        ) : (
          <>
            <Button size="compact-sm" variant="light" onClick={() => onOpen("use")} aria-label={fill(TEMPLATES.use_named, { name: line.name })} data-testid="template-use">
              {TEMPLATES.use}
            </Button>
            {!line.shipped && (
              <Button size="compact-sm" variant="subtle" color="gray" onClick={() => onOpen("schedule")} aria-label={fill(TEMPLATES.schedule_named, { name: line.name })} data-testid="template-schedule">
                {TEMPLATES.schedule}
              </Button>
            )}
            <Button component="a" href={templateFile(line.id)} download size="compact-sm" variant="subtle" color="gray" aria-label={fill(TEMPLATES.download_named, { name: line.name })} data-testid="template-download">
              {ACTIONS.download}
            </Button>
            {!line.shipped && (
              <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setSure(true)} aria-label={fill(TEMPLATES.delete_named, { name: line.name })} data-testid="template-delete">
                {TEMPLATES.delete}
              </Button>
            )}
          </>
        )}
        <span className="dimmed">{notes.filter(Boolean).join(" · ")}</span>
      </div>
      {problem && <p className="problem" role="alert">{problem}</p>}
    </li>
  );
}
