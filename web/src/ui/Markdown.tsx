// Model output as Markdown: no HTML, no images, and links that send no referrer.
import { lazy, Suspense } from "react";

const Rendered = lazy(() => import("./MarkdownRendered"));

export function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <Suspense fallback={<p className="markdown-plain" dir="auto">{text}</p>}>
        <Rendered text={text} />
      </Suspense>
    </div>
  );
}
