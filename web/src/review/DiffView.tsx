import { lazy, Suspense } from "react";

const Diff = lazy(() => import("../code/Diff"));

export function DiffView(props: { before: string; after: string; label: string; python?: boolean }) {
  return (
    <Suspense fallback={<pre>{props.after}</pre>}>
      <Diff {...props} />
    </Suspense>
  );
}
