import { lazy } from "react";
import { Part } from "../ui/Part";

const Diff = lazy(() => import("../code/Diff"));

export function DiffView(props: { before: string; after: string; label: string; python?: boolean }) {
  return (
    <Part fallback={<pre>{props.after}</pre>}>
      <Diff {...props} />
    </Part>
  );
}
