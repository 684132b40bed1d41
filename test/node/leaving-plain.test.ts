/**
 * A caller who leaves while the engine is silent, in plain workerd without the guard of `ganglion serve`. A caller that closes its connection in
 * the normal way may still read, so workerd reports it only with the next bytes that it cannot write (docs/choices.md).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { Gateway } from "../../tools/soak/gateway.ts";

interface Call {
	response: ServerResponse;
	/** Whether the gateway has ended the call. */
	ended: boolean;
}

it("ends the call at once for a reset, and for a closed connection with the engine's next bytes", async () => {
	const calls: Call[] = [];
	const engine = createServer((request: IncomingMessage, response: ServerResponse) => {
		const call = { response, ended: false };
		calls.push(call);
		request.resume();
		response.on("close", () => {
			call.ended = true;
		});
	});
	await new Promise<void>((listening) => engine.listen(0, "127.0.0.1", listening));
	const folder = mkdtempSync(join(tmpdir(), "ganglion-leaving-"));
	const gateway = await Gateway.start(folder, {
		BACKENDS: {
			engine: { kind: "openai", url: `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1` },
		},
		ROUTES: { "*": [{ backend: "engine", model: "engine-model" }] },
	});
	const { hostname, port } = new URL(gateway.url);
	/** A chat whose engine has the request and says nothing. */
	async function ask(): Promise<{ caller: Socket; call: Call }> {
		const body = JSON.stringify({ prompt: "Hi", stream: true });
		const caller = connect(Number(port), hostname);
		caller.write(
			`POST /client/v4/accounts/acme/ai/run/@cf/meta/llama-3.1-8b-instruct-fp8 HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: ${Gateway.operator}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
		);
		const before = calls.length;
		await expect.poll(() => calls.length).toBe(before + 1);
		const call = calls.at(-1);
		if (!call) throw new Error("no call");
		return { caller, call };
	}
	try {
		const reset = await ask();
		reset.caller.resetAndDestroy();
		await expect.poll(() => reset.call.ended, { timeout: 5_000 }).toBe(true);

		const closed = await ask();
		closed.caller.destroy();
		await wait(1_000);
		expect(closed.call.ended).toBe(false);
		const { response } = closed.call;
		response.writeHead(200, { "content-type": "text/event-stream" });
		const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "Hi" } }] })}\n\n`;
		const timer = setInterval(() => response.write(event), 50);
		await expect.poll(() => closed.call.ended, { timeout: 5_000 }).toBe(true);
		clearInterval(timer);
	} finally {
		await gateway.stop();
		engine.closeAllConnections();
		engine.close();
		rmSync(folder, { recursive: true, force: true });
	}
});

/** More than the guard or the runtime would hold back. */
const PIECE = "x".repeat(40_000);
const SWEEP_MS = 2_500;

it.each([
	["a JSON body", "/client/v4/accounts/acme/ai/run/@cf/meta/llama-3.1-8b-instruct-fp8", "application/json"],
	["a file", "/client/v4/accounts/acme/ai/tomarkdown", "application/octet-stream"],
	["vectors", "/client/v4/accounts/acme/vectorize/v2/indexes/left/insert", "application/x-ndjson"],
])(
	"a caller who leaves during %s leaves no promise behind that another request settles, and is no failure of the gateway",
	async (_, path, type) => {
		const folder = mkdtempSync(join(tmpdir(), "ganglion-leaving-"));
		const gateway = await Gateway.start(folder, { DEFAULT_BACKEND: "simulator" });
		const { hostname, port } = new URL(gateway.url);
		try {
			const created = await fetch(`${gateway.url}/client/v4/accounts/acme/vectorize/v2/indexes`, {
				method: "POST",
				headers: { authorization: Gateway.operator, "content-type": "application/json" },
				body: JSON.stringify({ name: "left", config: { dimensions: 32, metric: "cosine" } }),
			});
			expect(created.ok).toBe(true);
			const head = `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: ${Gateway.operator}\r\ncontent-type: ${type}\r\ncontent-length: 1000000\r\n\r\n`;
			for (let caller = 0; caller < 5; caller++) {
				const socket = connect(Number(port), hostname).on("error", () => {});
				socket.write(head + PIECE);
				await wait(50);
				if (caller % 2) socket.resetAndDestroy();
				else socket.destroy();
			}
			await wait(SWEEP_MS);
			expect(gateway.output()).not.toContain("different request context");
			expect(gateway.output()).not.toContain("executionFailed");
		} finally {
			await gateway.stop();
			rmSync(folder, { recursive: true, force: true });
		}
	},
);
