// Writes each built asset a second and a third time, compressed, so that the gateway sends them without any work.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const folder = fileURLToPath(new URL("../../services/gateway/page/assets/", import.meta.url));
const WORTH = 1_000; // bytes: what is smaller goes as it is

for (const name of readdirSync(folder)) {
  const path = join(folder, name);
  if (!/\.(js|css|svg|json)$/.test(name) || statSync(path).size < WORTH) continue;
  const body = readFileSync(path);
  writeFileSync(`${path}.br`, brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: body.length } }));
  writeFileSync(`${path}.gz`, gzipSync(body, { level: 9 }));
}
