/**
 * A request that waits for another one goes on in its own context when the other leaves, also in code that V8 has optimized. Two tests
 * show the fault of the runtime that `src/core/settled-elsewhere.ts` avoids. If they fail, the runtime has been mended.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { buildSync } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { runtimeSettings } from "../../scripts/settings.ts";
import { type Served, serve, singleModule } from "../../scripts/workerd.ts";

/** V8 optimizes what has run a hundred times, and requests go on when it has. */
const V8_FLAGS = ["--invocation-count-for-turbofan=100", "--no-concurrent-recompilation"];

const folder = mkdtempSync(join(tmpdir(), "ganglion-contexts-"));
/** Answers after the request that leaves has ended. */
const upstream = createServer(async (request, response) => {
	const body = await buffer(request);
	await wait(100);
	response.end(`answer to ${body}`);
});
let served: Served | undefined;

beforeAll(async () => {
	const file = join(folder, "index.js");
	const source = join(import.meta.dirname, "contexts/worker.ts");
	buildSync({ entryPoints: [source], outfile: file, bundle: true, format: "esm", target: "esnext" });
	await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
	const { compatibilityDate, compatibilityFlags = [] } = runtimeSettings();
	const { port } = upstream.address() as AddressInfo;
	served = await serve(
		{
			...{ name: "contexts", modules: singleModule(file), compatibilityDate, compatibilityFlags },
			...{ vars: { UPSTREAM: `http://127.0.0.1:${port}` }, v8Flags: V8_FLAGS, isBackground: true },
		},
		await freePort(),
		folder,
	);
}, 30_000);

afterAll(async () => {
	await served?.stop();
	upstream.closeAllConnections();
	upstream.close();
	rmSync(folder, { recursive: true, force: true });
});

/** The answer to a request that waits until another one has left. */
async function afterLeaver(kind: string): Promise<Response> {
	const url = `${served?.url}/${encodeURIComponent(kind)}`;
	expect((await fetch(url, { method: "PUT" })).status).toBe(200);
	const caller = new AbortController();
	const leaver = await fetch(url, { signal: caller.signal });
	expect(leaver.status).toBe(200);
	const waiting = fetch(url, { method: "POST", body: "a question" });
	await wait(100);
	caller.abort();
	return waiting;
}

it.each(["running", "gate", "elsewhere", "awaited"])("%s: in its own context", async (kind) => {
	const response = await afterLeaver(kind);
	expect(response.status).toBe(200);
	expect(await response.text()).toBe("answer to a question");
});

it.each(["constructed", "async function"])(
	"%s: in the context of the leaver, where its I/O fails",
	async (kind) => {
		expect((await afterLeaver(kind)).status).toBe(500);
	},
);

it("no module of the gateway uses the constructor of promises", () => {
	const modules = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) =>
		name.endsWith(".ts"),
	);
	const constructing = modules.filter((name) =>
		/\bnew Promise\s*[(<]/.test(readFileSync(join("src", name), "utf8")),
	);
	expect(modules).toContain(join("core", "settled-elsewhere.ts"));
	expect(constructing).toEqual([]);
});
