// The program with its checks and versions: read, compare, or edit it into a new version.
import { Button } from "@mantine/core";
import { lazy, useMemo, useState } from "react";
import { useCommand, useDisplayName, useSession } from "../app/sessionContext";
import { useDraftState } from "../app/useDraft";
import { ACTIONS, fill, JOURNAL, REVIEW, REVIEW_STATES, wordFor } from "../generated/words";
import type { CodeView } from "../protocol";
import { codeVersions } from "../state/versions";
import { LazyBoundary } from "../ui/LazyBoundary";
import { EditIcon } from "../ui/icons";
import { Markdown } from "../ui/Markdown";
import { Problem } from "../ui/Problem";
import { Checks } from "./Checks";
import { type CodeEdit, isCodeEdit, rebaseCode, startCodeEdit } from "./codeEdit";
import { Decision } from "./Decision";
import { DiffView } from "./DiffView";
import { authorText, VersionBar, type VersionSelection } from "./VersionBar";
import codeStyles from "../code/code.module.css";
import panelStyles from "./panel.module.css";
import typography from "../ui/typography.module.css";

const CodeEditor = lazy(() => import("../code/CodeEditor"));

export default function CodePanel({ code }: { code: CodeView }) {
  const { journal, snapshot } = useSession(({ state: { journal, snapshot } }) => ({ journal, snapshot }));
  const displayName = useDisplayName();
  const command = useCommand();
  const versions = useMemo(() => codeVersions(journal, snapshot), [journal, snapshot]);
  const [edit, setEdit] = useDraftState<CodeEdit | null>("code", () => null, (edit) => edit !== null, isCodeEdit);
  const [selection, setSelection] = useState<VersionSelection>({ shown: null, against: null });
  const [seenVersion, setSeenVersion] = useState(code.version);

  const isDirty = edit !== null && edit.text !== edit.base.code;
  const hasNewer = edit !== null && edit.base.version !== code.version;
  if (hasNewer && (!isDirty || edit.text === code.code)) setEdit(null);
  if (seenVersion !== code.version) {
    setSeenVersion(code.version);
    setSelection({ shown: null, against: null });
  }
  const shownVersion = versions.find((version) => version.version === selection.shown);
  const comparedVersion = versions.find((version) => version.version === selection.against);
  const { checks, tests } = shownVersion ? { checks: shownVersion.checks ?? [], tests: shownVersion.tests } : code;
  const explanation = shownVersion?.explanation ?? code.explanation;
  const canEdit = snapshot?.can.includes("edit_code") && !edit && !shownVersion && !comparedVersion;

  return (
    <section className={panelStyles.panel} data-testid="code-review" aria-label={fill(JOURNAL.code, { number: code.number })}>
      <header className={panelStyles.head}>
        <h2>{fill(JOURNAL.code, { number: shownVersion?.number ?? code.number })}</h2>
        <span className={typography.dimmed}>
          {authorText(shownVersion?.by ?? code.by, displayName)} · {wordFor(REVIEW_STATES, code.status) ?? code.status}
        </span>
        <VersionBar versions={versions} newest={code.version} selection={selection} onSelect={setSelection} disabled={edit !== null} />
      </header>
      {explanation && <Markdown text={explanation} />}
      {hasNewer && isDirty && (
        <p className={typography.hint} role="alert">
          {fill(REVIEW.newer, { name: fill(JOURNAL.code, { number: code.number }) })}{" "}
          <Button size="compact-xs" onClick={() => setEdit(rebaseCode(edit, code))} data-testid="apply-mine">
            {fill(ACTIONS.apply_mine, { name: fill(JOURNAL.code, { number: code.number }) })}
          </Button>{" "}
          <Button size="compact-xs" variant="light" onClick={() => setEdit(null)}>
            {fill(ACTIONS.show_newer, { name: fill(JOURNAL.code, { number: code.number }) })}
          </Button>
        </p>
      )}
      <LazyBoundary fallback={<pre className={codeStyles.waiting} data-loading>{code.code}</pre>}>
        {edit ? (
          <>
            <CodeEditor key={edit.base.version} value={edit.text} label={REVIEW.your_code} onChange={(text) => setEdit({ ...edit, text })} />
            <p className={typography.hint}>{REVIEW.leave_editor}</p>
          </>
        ) : comparedVersion ? (
          <DiffView python before={comparedVersion.code} after={shownVersion?.code ?? code.code} label={REVIEW.diff_code} />
        ) : (
          <CodeEditor value={shownVersion?.code ?? code.code} label={fill(JOURNAL.code, { number: shownVersion?.number ?? code.number })} />
        )}
      </LazyBoundary>
      <Checks checks={checks} tests={tests} />
      <Decision
        target="code"
        version={code.version}
        hash={code.hash}
        blockedReason={isDirty ? REVIEW.save_first : shownVersion ? REVIEW.other_version : ""}
      >
        {canEdit && (
          <Button variant="subtle" leftSection={<EditIcon />} data-testid="code-edit" onClick={() => setEdit(startCodeEdit(code))}>
            {ACTIONS.edit}
          </Button>
        )}
        {edit && (
          <>
            <Button
              data-testid="edit-save"
              disabled={!isDirty || hasNewer || !edit.text.trim()}
              loading={command.busy}
              onClick={() => command.send({ type: "edit", target: "code", version: edit.base.version, content: edit.text })}
            >
              {ACTIONS.save_version}
            </Button>
            <Button variant="default" data-testid="edit-discard" onClick={() => setEdit(null)}>
              {ACTIONS.discard_edits}
            </Button>
          </>
        )}
      </Decision>
      <Problem error={command.error} />
    </section>
  );
}
