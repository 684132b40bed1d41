/**
 * Callers who leave, over real sockets: the engine's connection must close with theirs. Before the first byte of an
 * answer workerd by itself does not notice that a caller has left (its `request.signal` does not fire then); what the
 * signal stops is tested in test/surfaces/rest/run.test.ts.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ACCOUNT, type StartedGateway, startGateway } from "./gateway.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const CHUNK = `data: ${JSON.stringify({
	id: "1",
	object: "chat.completion.chunk",
	created: 1,
	model: "m",
	choices: [{ index: 0, delta: { content: "word " }, finish_reason: null }],
})}\n\n`;

/** An engine that streams for as long as somebody listens. */
const engine = createServer((request, response) => {
	request.resume();
	arrived(response);
	response.writeHead(200, { "content-type": "text/event-stream" });
	const timer = setInterval(() => response.write(CHUNK), 10);
	response.once("close", () => clearInterval(timer));
});
let arrived: (response: ServerResponse) => void = () => {};
let gateway: StartedGateway;

beforeAll(async () => {
	await new Promise<void>((done) => engine.listen(0, "127.0.0.1", done));
	const url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1`;
	gateway = await startGateway({
		BACKENDS: JSON.stringify({ engine: { kind: "openai", url } }),
		ROUTES: JSON.stringify({ "*": [{ backend: "engine" }] }),
	});
});
afterAll(async () => {
	await gateway?.stop();
	engine.closeAllConnections();
	engine.close();
});

/** Asks, leaves after the first piece of the answer, and waits for the engine to notice. */
async function leave(path: string, body: object): Promise<void> {
	const reached = new Promise<ServerResponse>((resolve) => {
		arrived = resolve;
	});
	const leaving = new AbortController();
	const response = await fetch(`${gateway.baseURL}/accounts/${ACCOUNT}/ai${path}`, {
		method: "POST",
		body: JSON.stringify(body),
		signal: leaving.signal,
	});
	const upstream = await reached;
	await response.body?.getReader().read();
	const closed = new Promise((resolve) => upstream.once("close", resolve));
	leaving.abort();
	await closed;
	expect(upstream.writableEnded).toBe(false);
}

const messages = [{ role: "user", content: "Hi" }];

describe("a caller who leaves", () => {
	it.each([
		["a native stream", `/run/${LLAMA}`, { messages, stream: true }],
		["a chat stream", "/v1/chat/completions", { model: LLAMA, messages, stream: true }],
		["a responses stream", "/v1/responses", { model: LLAMA, input: "Hi", stream: true }],
	])("closes the engine's connection in the midst of %s", async (_, path, body) => {
		await leave(path, body);
	});
});
