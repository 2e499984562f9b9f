import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";
import markdownStyles from "./Markdown.module.css";

const components: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  ),
  img: ({ src, alt }) => <span className={markdownStyles.imageOmitted}>[image: {alt || String(src)}]</span>,
  table: ({ children, dir }) => (
    <div className={markdownStyles.table}>
      <table dir={dir}>{children}</table>
    </div>
  ),
};
const remark = [remarkGfm];
const rehype = [rehypeSanitize, () => setDirection];

/** Gives each list, quote and table the direction of its first letter. CSS does so for the paragraphs in it. */
function setDirection({ children }: { children: readonly { type: string; properties?: Record<string, unknown> }[] }): void {
  for (const { properties } of children) if (properties) properties.dir = "auto";
}

function MarkdownRendered({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={remark} rehypePlugins={rehype} components={components} skipHtml>
      {text}
    </ReactMarkdown>
  );
}

export default memo(MarkdownRendered);
