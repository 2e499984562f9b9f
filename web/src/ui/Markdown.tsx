// Model output as Markdown: no HTML, no images, and links that send no referrer.
import { lazy } from "react";
import { LazyBoundary } from "./LazyBoundary";
import styles from "./Markdown.module.css";

const Rendered = lazy(() => import("./MarkdownRendered"));

export function Markdown({ text }: { text: string }) {
  return (
    <div className={styles.markdown} data-markdown>
      <LazyBoundary fallback={<p className={styles.plain} data-loading dir="auto">{text}</p>} failed={<p className={styles.failed} dir="auto">{text}</p>}>
        <Rendered text={text} />
      </LazyBoundary>
    </div>
  );
}
