/**
 * A limit that passes while the process is busy: what the other side had sent before it is read, however late the timer is. The first test shows
 * why a timer of the runtime is not enough (`src/core/lazy-timer.ts`). If it fails, the runtime has changed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildSync } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import { type Served, serve, singleModule } from "../../scripts/workerd.ts";

const LIMIT_MS = 400;
/** The engine sends so long after the isolate is busy. */
const SENT_AFTER_MS = 50;

const folder = mkdtempSync(join(tmpdir(), "ganglion-pauses-"));
/** The call that waits for an answer. It may arrive after the request to send. */
let pending = Promise.withResolvers<ServerResponse>();
const engine = createServer(async ({ url = "" }, response) => {
	if (url.startsWith("/send")) {
		const answer = await pending.promise;
		pending = Promise.withResolvers();
		response.end();
		if (!url.includes("nothing")) setTimeout(() => answer.end("answer"), SENT_AFTER_MS);
		return;
	}
	pending.resolve(response);
	if (url === "/stream") response.writeHead(200).flushHeaders();
});
let served: Served | undefined;

beforeAll(async () => {
	const file = join(folder, "index.js");
	const source = join(import.meta.dirname, "pauses/worker.ts");
	buildSync({
		entryPoints: [source],
		outfile: file,
		bundle: true,
		format: "esm",
		target: "esnext",
		external: ["node:*"],
	});
	await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve));
	const { compatibilityDate, compatibilityFlags = [] } = runtimeSettings();
	const { port } = engine.address() as AddressInfo;
	served = await serve(
		{
			...{ name: "pauses", modules: singleModule(file), compatibilityDate, compatibilityFlags },
			...{ vars: { ENGINE: `http://127.0.0.1:${port}`, LIMIT_MS: String(LIMIT_MS) }, isBackground: true },
		},
		await freePort(),
		folder,
	);
}, 30_000);

afterAll(async () => {
	await served?.stop();
	engine.closeAllConnections();
	engine.close();
	rmSync(folder, { recursive: true, force: true });
});

/** The outcome of a wait whose limit is noticed `late` milliseconds after it has passed. */
async function outcome(kind: string, late: number, sends: "something" | "nothing" = "something") {
	const response = await fetch(`${served?.url}/${encodeURIComponent(kind)}?late=${late}&sends=${sends}`);
	return response.text();
}
const TEST_MS = 10_000;

it(
	"the runtime's own timer fires before an answer that has arrived",
	async () => {
		expect(await outcome("the runtime's own timer", 50)).toBe("timeout");
	},
	TEST_MS,
);

describe.each([
	"a timer",
	"a header",
	"a complete answer",
	"the next piece of a stream",
	"a piece of a store",
	"a short call",
	"an attempt of a gateway",
	"the answer of a hedged call",
])("the limit for %s", (kind) => {
	it.each([1, 20, 60, 99])(
		"passed %d ms ago: what has arrived is read",
		async (late) => {
			expect(await outcome(kind, late)).toBe("answered");
		},
		TEST_MS,
	);

	it(
		"ends the wait for an engine that has sent nothing",
		async () => {
			expect(await outcome(kind, 20, "nothing")).toBe("timeout");
		},
		TEST_MS,
	);
});
