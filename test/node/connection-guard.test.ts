/** The connection guard of `npm run serve`, before a server of the test. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { guardConnections } from "../../scripts/connection-guard.ts";
import { freePort } from "../../scripts/free-port.ts";
import { ask, connect } from "./connections.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
	for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

describe.skipIf(process.platform === "win32")("the guard of connections", () => {
	async function guarded(
		maxConnections: number,
		{
			idleMs = 60_000,
			firstByteMs = 60_000,
			answer = (_, response) => void response.end("from the runtime"),
		}: { idleMs?: number; firstByteMs?: number; answer?: RequestListener } = {},
	): Promise<{ port: number; guard: Server; accepted: () => number }> {
		const folder = mkdtempSync(join(tmpdir(), "ganglion-guard-"));
		const target = join(folder, "http.sock");
		let accepted = 0;
		const runtime = createServer(answer);
		runtime.on("connection", () => accepted++);
		runtime.listen(target);
		await once(runtime, "listening");
		const port = await freePort();
		const guard = await guardConnections({
			host: "127.0.0.1",
			port,
			target,
			maxConnections,
			idleMs: () => idleMs,
			firstByteMs,
		});
		cleanups.push(() => {
			guard.close();
			runtime.closeAllConnections();
			runtime.close();
			rmSync(folder, { recursive: true, force: true });
		});
		return { port, guard, accepted: () => accepted };
	}

	it("passes requests and answers on", async () => {
		const { port } = await guarded(1);
		expect(await ask(port, "/", "x")).toEqual({ status: 200, body: "from the runtime" });
	});

	it("answers 503 beyond the maximum, and closes", async () => {
		const { port, accepted } = await guarded(2);
		const sockets = await Promise.all([connect(port), connect(port)]);
		const { status, body } = await ask(port, "/", "x");
		expect(status).toBe(503);
		expect(JSON.parse(body)).toEqual({
			result: null,
			success: false,
			errors: [{ code: 3040, message: "Capacity temporarily exceeded, please try again." }],
			messages: [],
		});
		expect(accepted()).toBe(0);
		for (const socket of sockets) socket.destroy();
	});

	it("closes the runtime's connection when the caller ends its side before the answer", async () => {
		const called = Promise.withResolvers<IncomingMessage>();
		const { port } = await guarded(1, { answer: (request) => called.resolve(request) });
		const caller = await connect(port);
		caller.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
		const { socket } = await called.promise;
		const closed = once(socket, "close");
		caller.end();
		await closed;
	});

	it("closes a connection that sends nothing, and its place is free again", async () => {
		const { port } = await guarded(1, { firstByteMs: 50 });
		const silent = await connect(port);
		silent.resume();
		await once(silent, "close");
		expect((await ask(port, "/", "x")).status).toBe(200);
	});

	it("closes a connection that is idle for longer than any answer takes", async () => {
		const { port } = await guarded(1, { idleMs: 50 });
		const socket = await connect(port);
		socket.write("GET / HTTP/1.1\r\n");
		socket.resume();
		await once(socket, "close");
		expect((await ask(port, "/", "x")).status).toBe(200);
	});
});
