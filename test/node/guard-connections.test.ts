import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { pairsOf, shareTokens } from "../../cli/guards.ts";
import { guardConnectionsOf } from "../../cli/workers.ts";
import { freePort } from "../../scripts/free-port.ts";
import { GUARD_SETTINGS } from "../../scripts/internal-names.ts";

/** Later than 15 ms. */
const LATE_MS = 50;

const cleanups: (() => void)[] = [];
afterEach(() => {
	for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

it("each guard has the connections that its worker can open, or its part of them if others may send requests there", () => {
	// 60% of 1,024 files without the 64 of the process, and four for each connection.
	expect(guardConnectionsOf(1_024, { count: 2, separateLarge: false })).toBe(144);
	expect(guardConnectionsOf(1_024, { count: 2, separateLarge: true })).toBe(72);
	expect(guardConnectionsOf(1_024, { count: 5, separateLarge: true })).toBe(28);
});

it("with --separate-large, a guard knows the first worker, or for that one the second, and how many guards share each", () => {
	const [one, two, three] = [{ target: "1" }, { target: "2" }, { target: "3" }] as const;
	expect(pairsOf([one, two, three], false)).toEqual([one, two, three]);
	const large = { target: "1", guardCount: 3, serves: "large" };
	expect(pairsOf([one, two, three], true)).toEqual([
		{ target: "1", guardCount: 3, peer: { target: "2", guardCount: 2, serves: "small" } },
		{ target: "2", guardCount: 2, peer: large },
		{ target: "3", peer: large },
	]);
});

it("what a guard sends reaches all others that are connected", () => {
	const received: [number, unknown][] = [];
	const guards = [0, 1, 2, 3].map((number) =>
		Object.assign(new EventEmitter(), {
			isConnected: () => number !== 3,
			send: (message: unknown) => received.push([number, message]) > 0,
		}),
	);
	for (const guard of guards) shareTokens(guard as never, () => guards as never);
	guards[1]?.emit("message", { accepted: ["a"] });
	expect(received).toEqual([
		[0, { accepted: ["a"] }],
		[2, { accepted: ["a"] }],
	]);
});

it("the process of a guard tells tokens that are new to it, and knows those that it is told", async () => {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-guard-"));
	cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
	/** A worker that answers with its name, and late. */
	const worker = async (name: string, probe: object): Promise<{ target: string; countsSocket: string }> => {
		const sockets = {
			target: join(folder, `${name}.sock`),
			countsSocket: join(folder, `${name}-counts.sock`),
		};
		const counts = createServer((request, response) => {
			request.resume();
			setTimeout(() => response.end(JSON.stringify(probe)), LATE_MS);
		});
		const server = createServer((request, response) => {
			request.resume();
			if (request.url !== "/silent") response.end(`${name};`);
		});
		for (const [one, path] of [
			[server, sockets.target],
			[counts, sockets.countsSocket],
		] as const) {
			one.listen(path);
			await once(one, "listening");
			cleanups.push(() => {
				one.closeAllConnections();
				one.close();
			});
		}
		return sockets;
	};
	const port = await freePort();
	const settings = {
		...{ host: "127.0.0.1", port, maxConnections: 20, idleMs: 60_000 },
		...(await worker("large", { position: 1, hashes: ["a"] })),
		peer: { ...(await worker("small", { position: 1, hashes: [] })), serves: "small" },
	};
	const guard = fork("cli/guard.ts", { env: { ...process.env, [GUARD_SETTINGS]: JSON.stringify(settings) } });
	cleanups.push(() => guard.kill("SIGKILL"));
	const ask = async (): Promise<string> => {
		const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { authorization: "Bearer valid" } });
		return response.text();
	};
	const told = once(guard, "message");
	// Until it listens.
	await expect.poll(ask, { timeout: 20_000 }).toBe("large;");
	const silent = fetch(`http://127.0.0.1:${port}/silent`).catch(() => {});
	expect((await told)[0]).toEqual({ accepted: ["a"] });
	// A small request of a stranger, and of a caller with an accepted token.
	expect(await ask()).toBe("large;");
	guard.send({ accepted: [createHash("sha256").update("valid").digest("hex")] });
	await expect.poll(ask).toBe("small;");
	guard.kill("SIGKILL");
	await silent;
});
