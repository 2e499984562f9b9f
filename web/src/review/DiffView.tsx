import { lazy } from "react";
import { LazyBoundary } from "../ui/LazyBoundary";

const Diff = lazy(() => import("../code/Diff"));

export function DiffView(props: { before: string; after: string; label: string; python?: boolean }) {
  return (
    <LazyBoundary fallback={<pre>{props.after}</pre>}>
      <Diff {...props} />
    </LazyBoundary>
  );
}
