/** A caller's trace arrives at the engine, through the whole Worker in plain workerd. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Gateway } from "../../tools/soak/gateway.ts";

const MODEL = "traced/chat";
const received: (string | string[] | undefined)[] = [];
const engine = createServer((request, response) => {
	received.push(request.headers.traceparent);
	request.resume();
	const message = { role: "assistant", content: "Hi" };
	response
		.writeHead(200, { "content-type": "application/json" })
		.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: "stop" }] }));
});
const folder = mkdtempSync(join(tmpdir(), "ganglion-trace-"));
let gateway: Gateway | undefined;

beforeAll(async () => {
	await new Promise<void>((done) => engine.listen(0, "127.0.0.1", done));
	const url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}`;
	gateway = await Gateway.start(folder, {
		BACKENDS: { engine: { kind: "openai", url } },
		ROUTES: { [MODEL]: [{ backend: "engine" }] },
	});
});
afterAll(async () => {
	await gateway?.stop();
	engine.close();
	rmSync(folder, { recursive: true, force: true });
});

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

it.each([
	["as it is", { traceparent: TRACE }, TRACE],
	["also of a request that another gateway has sent", { traceparent: TRACE, "x-ganglion-hop": "1" }, TRACE],
	["not without one", {}, undefined],
	["not if it is invalid", { traceparent: "00-0-0-01" }, undefined],
])("passes a trace on, %s", async (_, headers, expected) => {
	received.length = 0;
	const answer = await fetch(`${gateway?.url}/client/v4/accounts/traced/ai/v1/chat/completions`, {
		method: "POST",
		headers: { authorization: Gateway.operator, "content-type": "application/json", ...headers },
		body: JSON.stringify({ model: MODEL, messages: [{ role: "user", content: "Hi" }] }),
	});
	expect(answer.status).toBe(200);
	await answer.text();
	expect(received).toEqual([expected]);
});
