// Writes a Brotli and a gzip copy of each built asset, so that the gateway need not compress them.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const folder = fileURLToPath(new URL("../../services/gateway/page/assets/", import.meta.url));
const MIN_BYTES = 1_000; // smaller files are sent uncompressed

for (const name of readdirSync(folder)) {
  const path = join(folder, name);
  if (!/\.(js|css|svg|json)$/.test(name) || statSync(path).size < MIN_BYTES) continue;
  const body = readFileSync(path);
  writeFileSync(`${path}.br`, brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: body.length } }));
  writeFileSync(`${path}.gz`, gzipSync(body, { level: 9 }));
}
