/**
 * A limit that passes while the process is busy: what the other side had sent before it is read, however late the timer is. The first test shows
 * why a timer of the runtime is not enough (`src/core/lazy-timer.ts`). If it fails, the runtime has changed.
 */
import { EventEmitter, once } from "node:events";
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
/** The calls that wait for an answer. They may arrive after the request to send. */
const pending: ServerResponse[] = [];
const arrivals = new EventEmitter();
const engine = createServer(async ({ url = "" }, response) => {
	const { pathname, searchParams } = new URL(url, "http://engine");
	if (pathname === "/send") {
		while (pending.length < Number(searchParams.get("calls"))) await once(arrivals, "call");
		const answers = pending.splice(0);
		response.end();
		if (searchParams.get("sends") === "something")
			setTimeout(() => {
				for (const answer of answers) answer.end("answer");
			}, SENT_AFTER_MS);
		return;
	}
	if (pathname.endsWith("/stream")) response.writeHead(200).flushHeaders();
	pending.push(response);
	arrivals.emit("call");
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

const outcomes = new Map<string, Promise<Record<string, string>>>();

/** The outcome of a wait whose limit is noticed `late` milliseconds after it has passed. All kinds share a time in which the isolate is busy. */
async function outcome(kind: string, late: number, sends: "something" | "nothing" = "something") {
	const query = `late=${late}&sends=${sends}`;
	const shared = outcomes.get(query) ?? busyWith(query);
	outcomes.set(query, shared);
	return (await shared)[kind];
}

const busyWith = async (query: string): Promise<Record<string, string>> =>
	(await fetch(`${served?.url}/?${query}`)).json();
const TEST_MS = 10_000;

it(
	"the runtime's own timer fires before an answer that has arrived",
	async () => {
		const only = "the runtime's own timer";
		expect(await busyWith(`late=50&sends=something&only=${only}`)).toEqual({ [only]: "timeout" });
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
