// The program, its checks and its versions; read, compared, or edited into a version of one's own.
import { Button } from "@mantine/core";
import { lazy, Suspense, useMemo, useState } from "react";
import { useAct, useNameOf, useSession } from "../app/session";
import { ACTIONS, fill, JOURNAL, named, REVIEW, REVIEW_STATES } from "../generated/words";
import type { CodeView } from "../protocol";
import { codeVersions } from "../state/versions";
import { Pen } from "../ui/icons";
import { useKept } from "../ui/kept";
import { Markdown } from "../ui/Markdown";
import { Problem } from "../ui/Problem";
import { Checks } from "./Checks";
import { beginCode, type CodeEdit, isCodeEdit, rebaseCode } from "./codeEdit";
import { Decision } from "./Decision";
import { DiffView } from "./DiffView";
import { authorOf, type Choice, VersionBar } from "./VersionBar";

const CodeEditor = lazy(() => import("../code/CodeEditor"));

export default function CodePanel({ code }: { code: CodeView }) {
  const { state } = useSession();
  const nameOf = useNameOf();
  const saving = useAct();
  const versions = useMemo(() => codeVersions(state.events, state.snapshot), [state.events, state.snapshot]);
  const [edit, setEdit] = useKept<CodeEdit | null>(`parley.edit.code.${state.sessionId}`, () => null, (one) => one !== null, isCodeEdit);
  const [choice, setChoice] = useState<Choice>({ shown: null, against: null });
  const [seen, setSeen] = useState(code.version);

  const dirty = edit !== null && edit.text !== edit.base.code;
  const newer = edit !== null && edit.base.version !== code.version;
  if (newer && (!dirty || edit.text === code.code)) setEdit(null);
  if (seen !== code.version) {
    setSeen(code.version);
    setChoice({ shown: null, against: null });
  }
  const shown = versions.find((one) => one.version === choice.shown);
  const against = versions.find((one) => one.version === choice.against);
  const { checks, tests } = shown ? { checks: shown.checks ?? [], tests: shown.tests } : code;
  const explanation = shown?.explanation ?? code.explanation;
  const editable = state.snapshot?.can.includes("edit_code") && !edit && !shown && !against;

  return (
    <section className="panel" data-testid="code-review" aria-label={fill(JOURNAL.code, { number: code.number })}>
      <header className="panel-head">
        <h2>{fill(JOURNAL.code, { number: shown?.number ?? code.number })}</h2>
        <span className="dimmed">
          {authorOf(shown?.by ?? code.by, nameOf)} · {named(REVIEW_STATES, code.status) ?? code.status}
        </span>
        <VersionBar versions={versions} newest={code.version} choice={choice} onChoice={setChoice} disabled={edit !== null} />
      </header>
      {explanation && <Markdown text={explanation} />}
      {newer && dirty && (
        <p className="hint" role="alert">
          {fill(REVIEW.newer, { name: fill(JOURNAL.code, { number: code.number }) })}{" "}
          <Button size="compact-xs" onClick={() => setEdit(rebaseCode(edit, code))} data-testid="apply-mine">
            {fill(ACTIONS.apply_mine, { name: fill(JOURNAL.code, { number: code.number }) })}
          </Button>{" "}
          <Button size="compact-xs" variant="light" onClick={() => setEdit(null)}>
            {fill(ACTIONS.show_newer, { name: fill(JOURNAL.code, { number: code.number }) })}
          </Button>
        </p>
      )}
      <Suspense fallback={<pre className="code-waiting">{code.code}</pre>}>
        {edit ? (
          <>
            <CodeEditor key={edit.base.version} value={edit.text} label={REVIEW.your_code} onChange={(text) => setEdit({ ...edit, text })} />
            <p className="hint">{REVIEW.leave_editor}</p>
          </>
        ) : against ? (
          <DiffView python before={against.code} after={shown?.code ?? code.code} label={REVIEW.diff_code} />
        ) : (
          <CodeEditor value={shown?.code ?? code.code} label={fill(JOURNAL.code, { number: shown?.number ?? code.number })} />
        )}
      </Suspense>
      <Checks checks={checks} tests={tests} />
      <Decision
        target="code"
        version={code.version}
        hash={code.hash}
        blocked={dirty ? REVIEW.save_first : shown ? REVIEW.other_version : ""}
      >
        {editable && (
          <Button variant="subtle" leftSection={<Pen />} data-testid="code-edit" onClick={() => setEdit(beginCode(code))}>
            {ACTIONS.edit}
          </Button>
        )}
        {edit && (
          <>
            <Button
              data-testid="edit-save"
              disabled={!dirty || newer || !edit.text.trim()}
              loading={saving.busy}
              onClick={() => saving.send({ type: "edit", target: "code", version: edit.base.version, content: edit.text })}
            >
              {ACTIONS.save_version}
            </Button>
            <Button variant="default" data-testid="edit-discard" onClick={() => setEdit(null)}>
              {ACTIONS.discard_edits}
            </Button>
          </>
        )}
      </Decision>
      <Problem error={saving.error} />
    </section>
  );
}
