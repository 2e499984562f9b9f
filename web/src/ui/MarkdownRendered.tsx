import { memo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import rehypeSanitize from "rehype-sanitize";
import remarkGfm from "remark-gfm";

const components: Components = {
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  ),
  img: ({ src, alt }) => <span className="image-omitted">[image: {alt || String(src)}]</span>,
  table: ({ children }) => (
    <div className="markdown-table">
      <table>{children}</table>
    </div>
  ),
};
const remark = [remarkGfm];
const rehype = [rehypeSanitize];

function MarkdownRendered({ text }: { text: string }) {
  return (
    <ReactMarkdown remarkPlugins={remark} rehypePlugins={rehype} components={components} skipHtml>
      {text}
    </ReactMarkdown>
  );
}

export default memo(MarkdownRendered);
