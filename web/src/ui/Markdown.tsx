// Text from a model: Markdown without HTML, links that leak nothing, images that are not loaded.
import { lazy, Suspense } from "react";

const Rendered = lazy(() => import("./MarkdownRendered"));

export function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <Suspense fallback={<p className="markdown-plain">{text}</p>}>
        <Rendered text={text} />
      </Suspense>
    </div>
  );
}
