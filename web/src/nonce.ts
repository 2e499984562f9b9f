// Styles created at run time must carry this page's nonce, or the browser refuses them (see the gateway's CSP).
declare global {
  var __webpack_nonce__: string | undefined;
}

const meta = typeof document === "undefined" ? null : document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]');

export const nonce = meta?.nonce ?? "";

globalThis.__webpack_nonce__ = nonce; // the scroll-lock library under dialogs reads it here
