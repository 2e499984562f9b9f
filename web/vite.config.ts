import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run dev` shows the page at its own port; the gateway it talks to may be elsewhere.
const gateway = process.env.PARLEY_GATEWAY ?? "http://127.0.0.1:8001";

export default defineConfig({
  plugins: [react()],
  html: { cspNonce: "PARLEY-NONCE" }, // the gateway puts a new one in its place for each answer
  build: { outDir: "../services/gateway/page", emptyOutDir: true, chunkSizeWarningLimit: 700, reportCompressedSize: true },
  server: {
    host: "127.0.0.1",
    proxy: { "/api": gateway, "/ws": { target: gateway, ws: true } },
  },
});
