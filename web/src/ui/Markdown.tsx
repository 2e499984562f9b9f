// Model output as Markdown: no HTML, no images, and links that send no referrer.
import { lazy } from "react";
import { Part } from "./Part";

const Rendered = lazy(() => import("./MarkdownRendered"));

export function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <Part fallback={<p className="markdown-plain" dir="auto">{text}</p>} failed={<p className="markdown-failed" dir="auto">{text}</p>}>
        <Rendered text={text} />
      </Part>
    </div>
  );
}
