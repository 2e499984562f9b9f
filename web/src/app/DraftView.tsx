// What a service is writing at this moment.
import { Loader } from "@mantine/core";
import { DRAFTS, named } from "../generated/words";
import type { Draft } from "../state/state";
import { Markdown } from "../ui/Markdown";

export function DraftView({ draft, workflow, answers }: { draft: Draft; workflow: string; answers: boolean }) {
  const title = answers ? DRAFTS.reply : named(DRAFTS, `${workflow}_${draft.kind}`) ?? DRAFTS[draft.kind];
  const text = draft.torn ? "…" : draft.text;
  const asCode = draft.kind === "code" || draft.kind === "tests" || /^\s*[{[]/.test(text);
  return (
    <section className="draft" data-testid="draft" aria-label={title} aria-busy="true">
      <h2 className="draft-title">
        <Loader size={14} type="dots" aria-hidden="true" /> {title}
      </h2>
      {asCode ? <pre className="draft-code">{unfenced(text)}</pre> : <Markdown text={text} />}
    </section>
  );
}

function unfenced(text: string): string {
  return text.replace(/^\s*```\w*\n/, "").replace(/\n```\s*$/, "");
}
