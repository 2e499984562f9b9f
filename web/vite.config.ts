import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// `npm run dev` serves the page on its own port; PARLEY_GATEWAY names the gateway.
const gateway = process.env.PARLEY_GATEWAY ?? "http://127.0.0.1:8001";

// Browsers whose CSS has `:dir()`: for older ones it would be replaced by a list of languages.
const KNOWS_DIRECTION = ["chrome120", "firefox114", "safari16.4"];

export default defineConfig({
  plugins: [react()],
  base: "./", // the gateway writes the way to its root instead of it
  html: { cspNonce: "PARLEY-NONCE" }, // the gateway replaces it with a new nonce in each response
  build: { outDir: "../services/gateway/page", emptyOutDir: true, chunkSizeWarningLimit: 700, reportCompressedSize: true, cssTarget: KNOWS_DIRECTION },
  server: {
    host: "127.0.0.1",
    proxy: { "/api": gateway, "/ws": { target: gateway, ws: true } },
  },
});
