// Plans to use again: one's own, and those that come with Parley.
import { Button, Loader } from "@mantine/core";
import { useState } from "react";
import { fill, SIGNS, TEMPLATES } from "../generated/words";
import { deleteTemplate, templates } from "../net/api";
import type { TemplateLine } from "../protocol";
import { moment } from "../ui/format";
import { Tone } from "../ui/Tone";
import { reasonOf, useAsked } from "../ui/useAsked";
import { UseTemplate } from "./UseTemplate";

export function Templates({ onBegun }: { onBegun: () => void }) {
  const [used, setUsed] = useState<string | null>(null);
  const [asked, setAsked] = useState(0);
  const { answer: page, problem } = useAsked(templates, String(asked));
  if (used !== null) return <UseTemplate id={used} onBack={() => setUsed(null)} onBegun={onBegun} />;
  if (problem) return <p className="problem" role="alert">{problem}</p>;
  if (!page) return <Loader size="sm" aria-label={SIGNS.loading} />;
  return (
    <>
      {page.templates.length === 0 && <p className="hint">{TEMPLATES.none}</p>}
      <ul className="library-list">
        {[...page.templates, ...page.shipped].map((one) => (
          <Line key={one.id} line={one} onUse={() => setUsed(one.id)} onGone={() => setAsked(asked + 1)} />
        ))}
      </ul>
    </>
  );
}

function Line({ line, onUse, onGone }: { line: TemplateLine; onUse: () => void; onGone: () => void }) {
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
            <Button size="compact-sm" variant="default" onClick={() => setSure(false)} autoFocus>
              {TEMPLATES.keep}
            </Button>
          </>
        ) : (
          <>
            <Button size="compact-sm" variant="light" onClick={onUse} aria-label={fill(TEMPLATES.use_named, { name: line.name })} data-testid="template-use">
              {TEMPLATES.use}
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
