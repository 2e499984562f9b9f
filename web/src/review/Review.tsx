// What lies before the person: a question, something to decide, or what has been made. It keeps unsaved edits while
// others (another tab, a service) work, so it stays mounted and only hides.
import { Alert, Button, Loader, SegmentedControl } from "@mantine/core";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { useSession } from "../app/session";
import { fill, JOURNAL, REVIEW, SIGNS } from "../generated/words";
import { type Snapshot, working } from "../state/state";
import { FailurePanel } from "./FailurePanel";
import { NextPanel } from "./NextPanel";
import { QuestionPanel } from "./QuestionPanel";

const ActionsPanel = lazy(() => import("./ActionsPanel"));
const TakeOver = lazy(() => import("../takeover/TakeOver"));
const PlanPanel = lazy(() => import("./PlanPanel"));
const CodePanel = lazy(() => import("./CodePanel"));
const PathReview = lazy(() => import("../flow/PathReview"));

type Subject = "plan" | "code";

export function Review() {
  const { state } = useSession();
  const { snapshot } = state;
  if (!snapshot?.version) return null;
  const busy = working(snapshot);
  const acts = snapshot.plan?.kind === "execution";
  const deciding = snapshot.review !== null || snapshot.feedback_request !== null;
  return (
    <div className="review" data-busy={busy || undefined}>
      {snapshot.unread.length > 0 && busy && (
        <Alert variant="light" title={acts && snapshot.turn ? REVIEW.unread_plan : REVIEW.unread}>
          {snapshot.unread.join(" · ")}
        </Alert>
      )}
      <FailurePanel />
      {snapshot.approval_request && (
        <Suspense>
          <ActionsPanel />
        </Suspense>
      )}
      {snapshot.phase === "escalated" && (
        <Suspense>
          <TakeOver />
        </Suspense>
      )}
      {!busy && <QuestionPanel />}
      {!busy && <NextPanel />}
      {snapshot.plan?.kind === "path" ? (
        deciding && (
          <Suspense fallback={<Loader size="sm" aria-label={SIGNS.loading} />}>
            <PathReview plan={snapshot.plan} />
          </Suspense>
        )
      ) : (
        <Folded folded={!deciding && !(acts && snapshot.can.includes("retry"))} hidden={busy && !deciding && !(acts && snapshot.can.includes("edit"))} both={snapshot.code !== null}>
          <Subjects snapshot={snapshot} />
        </Folded>
      )}
    </div>
  );
}

/** In full where it is to be decided on; else on demand, because what happened last matters more. */
function Folded({ folded, hidden, both, children }: { folded: boolean; hidden: boolean; both: boolean; children: ReactNode }) {
  const { state } = useSession();
  const [open, setOpen] = useState(false);
  if (!state.snapshot?.plan) return null;
  return (
    <div hidden={hidden}>
      {folded && (
        <Button size="compact-sm" variant="subtle" aria-expanded={open} onClick={() => setOpen(!open)} data-testid="show-work" mb={8}>
          {both ? (open ? REVIEW.hide_plan_and_code : REVIEW.show_plan_and_code) : open ? REVIEW.hide_plan : REVIEW.show_plan}
        </Button>
      )}
      <div hidden={folded && !open}>{children}</div>
    </div>
  );
}

/** Plan and code, the one that matters now in front. */
function Subjects({ snapshot }: { snapshot: Snapshot }) {
  const { plan, code } = snapshot;
  const matters: Subject = code && code.status !== "superseded" && snapshot.review?.target !== "plan" ? "code" : "plan";
  const [chosen, choose] = useState<{ subject: Subject; at: string } | null>(null);
  const at = `${matters} ${plan?.version} ${code?.version} ${snapshot.phase}`;
  const shown = chosen?.at === at ? chosen.subject : matters;
  return (
    <>
      {plan && code && (
        <SegmentedControl
          className="review-tabs"
          aria-label={REVIEW.plan_or_code}
          size="xs"
          value={shown}
          onChange={(value) => choose({ subject: value as Subject, at })}
          data={[
            { value: "plan", label: fill(JOURNAL.plan, { number: plan.number }) },
            { value: "code", label: fill(JOURNAL.code, { number: code.number }) },
          ]}
        />
      )}
      <Suspense fallback={<Loader size="sm" aria-label={SIGNS.loading} />}>
        {plan && (
          <div hidden={shown !== "plan"}>
            <PlanPanel plan={plan} />
          </div>
        )}
        {code && (
          <div hidden={shown !== "code"}>
            <CodePanel key={code.status === "superseded" ? "old" : "new"} code={code} />
          </div>
        )}
      </Suspense>
    </>
  );
}
