/** The guard of one of two workers sends requests to both while one of them is behind (`scripts/connections/worker-choice.ts`). */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createConnection, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ConnectionGuard, guardConnections } from "../../scripts/connections/guard.ts";
import { freePort } from "../../scripts/free-port.ts";
import { receives } from "./connections.ts";

const LONG_MS = 60_000;
const LATE_MS = 1_000;
const HEAD = "host: x\r\nauthorization: Bearer valid\r\n";
const SMALL = `GET / HTTP/1.1\r\n${HEAD}\r\n`;
const BODY = "x".repeat(100_000);
const LARGE = `POST / HTTP/1.1\r\n${HEAD}content-length: ${BODY.length}\r\n\r\n${BODY}`;

const cleanups: (() => void)[] = [];
let folder = "";
/** Connections of each worker that are open. */
let open = { large: 0, small: 0 };

beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-separated-"));
	open = { large: 0, small: 0 };
});
afterEach(() => {
	for (const cleanup of cleanups.splice(0)) cleanup();
	rmSync(folder, { recursive: true, force: true });
});

/** Answers with its name and the number of bytes that it received. `/silent`: with nothing. */
async function worker(name: keyof typeof open): Promise<{ target: string }> {
	const target = join(folder, `${name}.sock`);
	const server = createServer({ keepAliveTimeout: LONG_MS }, async (request, response) => {
		let size = 0;
		for await (const bytes of request) size += bytes.length;
		if (request.url !== "/silent") response.end(`${name} ${size};`);
	});
	server.on("connection", (socket) => {
		const connections = open;
		connections[name]++;
		socket.once("close", () => connections[name]--);
	});
	server.listen(target);
	await once(server, "listening");
	cleanups.push(() => {
		server.closeAllConnections();
		server.close();
	});
	return { target };
}

describe.skipIf(process.platform === "win32").each([
	["large", "small"],
	["small", "large"],
] as const)("the guard of the worker for %s requests", (own, serves) => {
	async function start(): Promise<{ guard: ConnectionGuard; caller: Socket }> {
		const port = await freePort();
		const guard = await guardConnections({
			...(await worker(own)),
			peer: { ...(await worker(serves)), serves },
			...{ host: "127.0.0.1", port, maxConnections: 2, idleMs: () => LONG_MS },
		});
		guard.callers.accept([createHash("sha256").update("valid").digest("hex")]);
		const caller = createConnection({ host: "127.0.0.1", port }).on("error", () => {});
		cleanups.push(
			() => caller.destroy(),
			() => guard.server.close(),
		);
		await once(caller, "connect");
		return { guard, caller };
	}

	it("changes the worker of a connection between two requests, and closes the connection to the one before", async () => {
		const { guard, caller } = await start();
		const ask = async (request: string, answer: string): Promise<void> => {
			const received = receives(caller, answer);
			caller.write(request);
			await received;
		};
		await ask(SMALL, `${own} 0;`);
		guard.pace.probed(LATE_MS);
		await ask(SMALL, "small 0;");
		await expect.poll(() => open).toEqual({ large: 0, small: 1 });
		await ask(LARGE, `large ${BODY.length};`);
		await expect.poll(() => open).toEqual({ large: 1, small: 0 });
		await ask(SMALL, "small 0;");
		await expect.poll(() => open).toEqual({ large: 0, small: 1 });
		expect(guard.counts().connections).toMatchObject({ used: 1, refused: 0 });
		caller.destroy();
		await expect.poll(() => open).toEqual({ large: 0, small: 0 });
		expect(guard.counts().connections.used).toBe(0);
	});

	it("takes a caller who has sent much within a second for one of large requests", async () => {
		const { guard, caller } = await start();
		guard.pace.probed(LATE_MS);
		for (let turn = 0; turn < 2; turn++) {
			const answer = receives(caller, `large ${BODY.length};`);
			caller.write(LARGE);
			await answer;
		}
		const answer = receives(caller, "large 0;");
		caller.write(SMALL);
		await answer;
	});

	it("sends requests that arrive together to one worker, in their order", async () => {
		const { guard, caller } = await start();
		guard.pace.probed(LATE_MS);
		const answers = receives(caller, `small ${BODY.length};`);
		caller.write(`${SMALL}${LARGE}`);
		await answers;
		const next = receives(caller, `large ${BODY.length};`);
		caller.write(LARGE);
		await next;
	});

	it("ends the request at the worker that has it when its caller leaves", async () => {
		const { guard, caller } = await start();
		guard.pace.probed(LATE_MS);
		caller.write(LARGE.replace("POST /", "POST /silent"));
		await expect.poll(() => open.large).toBe(1);
		caller.destroy();
		await expect.poll(() => open.large).toBe(0);
	});
});
