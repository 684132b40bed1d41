/**
 * `node tools/local-engine/index.ts`: measures `--engine local` with a real llama-server, and kills its processes at each phase. Linux only. The
 * weights are one small chat file under the names of several models, so the answers have no meaning.
 *
 *     LLAMA_SERVER=/usr/bin/llama-server node tools/local-engine/index.ts --only pace,batch,evict,interrupt,kill
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readOptions } from "../../scripts/options.ts";
import { stopWith } from "../../scripts/stop-with.ts";
import { tinyChat } from "../../test/node/local-engine/tiny-gguf.ts";
import { batch } from "./batch.ts";
import { evict } from "./evict.ts";
import { interrupt } from "./interrupt.ts";
import { killEach } from "./kill.ts";
import { pace } from "./pace.ts";

const PARTS = { pace, batch, evict, interrupt, kill: killEach };
const HELP = `node tools/local-engine/index.ts [options]

  --chat FILE    weights of a chat model, GGUF (random numbers)
  --only A,B     of ${Object.keys(PARTS).join(", ")} (all)
  --requests N   of pace (500) and evict (1000)`;

const { only, chat, requests } = readOptions(
	{ only: { type: "string" }, chat: { type: "string" }, requests: { type: "string" } },
	HELP,
);
if (process.platform !== "linux") stopWith("It reads /proc: it runs on Linux.");
const folder = mkdtempSync(join(tmpdir(), "ganglion-tool-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const file = chat ?? join(folder, "tiny.gguf");
// It repeats the mark of a call, so an answer is as long as requested.
if (chat === undefined) writeFileSync(file, tinyChat({ calls: true }));
const count = requests === undefined ? undefined : Number(requests);
for (const [name, part] of Object.entries(PARTS)) {
	if (only !== undefined && !only.split(",").includes(name)) continue;
	if (!(await part(file, count))) process.exitCode = 1;
}
