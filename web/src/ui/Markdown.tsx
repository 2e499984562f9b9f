// Model output as Markdown: no HTML, no images, and links that send no referrer.
import { lazy } from "react";
import { LazyBoundary } from "./LazyBoundary";

const Rendered = lazy(() => import("./MarkdownRendered"));

export function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <LazyBoundary fallback={<p className="markdown-plain" dir="auto">{text}</p>} failed={<p className="markdown-failed" dir="auto">{text}</p>}>
        <Rendered text={text} />
      </LazyBoundary>
    </div>
  );
}
