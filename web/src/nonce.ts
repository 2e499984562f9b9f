// Styles that are made at run time carry the nonce of this page, else the browser refuses them (see the gateway's CSP).
declare global {
  var __webpack_nonce__: string | undefined;
}

const meta = typeof document === "undefined" ? null : document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]');

export const nonce = meta?.nonce ?? "";

globalThis.__webpack_nonce__ = nonce; // where the library that locks scrolling under a dialog looks for it
