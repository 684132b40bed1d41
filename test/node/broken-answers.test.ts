/** Answers that fail after their header: the caller's connection ends, and the runtime prints no uncaught exception. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Gateway } from "../../tools/soak/gateway.ts";

const ACCOUNT = "/client/v4/accounts/local";
const IDLE_MS = 1_000;
const FILE_BYTES = 4_000_000;
const EVENT = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "word" } }] })}\n\n`;

describe("an answer that fails after its header", () => {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-broken-"));
	/** Begins a stream, and then sends nothing. */
	const provider = createServer((received, response) => {
		received.resume();
		response.writeHead(200, { "content-type": "text/event-stream" }).write(EVENT);
	});
	const headers = { authorization: Gateway.operator, "cf-aig-authorization": Gateway.operator };
	let gateway: Gateway;
	/** What was printed before the test. */
	let printed = 0;
	beforeAll(async () => {
		provider.listen(0, "127.0.0.1");
		await once(provider, "listening");
		gateway = await Gateway.start(folder, {
			DEFAULT_BACKEND: "simulator",
			AI_GATEWAY: { allow_private_addresses: true, provider_timeouts: { idle_ms: IDLE_MS } },
		});
		const { port } = provider.address() as AddressInfo;
		const base_url = `http://127.0.0.1:${port}`;
		await call("POST", `${ACCOUNT}/ai-gateway/custom-providers`, {
			...{ name: "silent", slug: "silent", base_url, enable: true },
		});
	});
	beforeEach(() => {
		printed = gateway.output().length;
	});
	afterAll(async () => {
		await gateway.stop();
		provider.closeAllConnections();
		provider.close();
		rmSync(folder, { recursive: true, force: true });
	});

	async function call<T>(method: string, path: string, body: object): Promise<T> {
		const response = await fetch(gateway.url + path, {
			method,
			headers: { ...headers, ...(!(body instanceof FormData) && { "content-type": "application/json" }) },
			body: body instanceof FormData ? body : JSON.stringify(body),
		});
		expect(response.status).toBe(200);
		return (await response.json()) as T;
	}

	async function opened(
		method: string,
		path: string,
		body?: object,
		more: Record<string, string> = {},
	): Promise<IncomingMessage> {
		const sent = request(gateway.url + path, {
			method,
			headers: { ...headers, ...more, "content-type": "application/json" },
		});
		sent.end(body && JSON.stringify(body));
		const [answer] = (await once(sent, "response")) as [IncomingMessage];
		expect(answer.statusCode).toBe(200);
		return answer;
	}

	/** Reads to the end. Returns whether the answer was complete, and its bytes. */
	async function ended(answer: IncomingMessage): Promise<{ isComplete: boolean; bytes: number }> {
		let bytes = 0;
		answer.on("data", (piece: Buffer) => {
			bytes += piece.length;
		});
		answer.on("error", () => {});
		await new Promise((resolve) => answer.on("close", resolve));
		return { isComplete: answer.complete, bytes };
	}

	/** The runtime prints before it accepts the next request. */
	async function expectNoOutput(): Promise<void> {
		expect((await fetch(`${gateway.url}/health`)).status).toBe(200);
		expect(gateway.output().slice(printed)).toBe("");
	}

	async function storedFile(): Promise<string> {
		const form = new FormData();
		form.set("purpose", "user_data");
		form.set("file", new File([new Uint8Array(FILE_BYTES)], "large.bin"));
		return (await call<{ id: string }>("POST", `${ACCOUNT}/ai/v1/files`, form)).id;
	}

	it("is a file that is deleted while it is read", async () => {
		const path = `${ACCOUNT}/ai/v1/files/${await storedFile()}`;
		const answer = await opened("GET", `${path}/content`);
		expect((await fetch(gateway.url + path, { method: "DELETE", headers })).status).toBe(200);
		const { isComplete, bytes } = await ended(answer);
		expect(isComplete).toBe(false);
		expect(bytes).toBeLessThan(FILE_BYTES);
		await expectNoOutput();
	});

	it("is a stream of a provider that becomes silent, and the same when it is resumed", async () => {
		const body = { model: "silent-1", stream: true, messages: [{ role: "user", content: "Count." }] };
		const path = "/v1/local/default/custom-silent/chat/completions";
		const answer = await opened("POST", path, body, { "cf-aig-resumable": "true" });
		expect(await ended(answer)).toEqual({ isComplete: false, bytes: EVENT.length });
		const run = answer.headers["cf-aig-run-id"];
		// The end may come before the header.
		const resumed = opened("GET", `/v1/local/default/run/${run}/resume`).then(ended);
		expect((await resumed.catch(() => ({ isComplete: false }))).isComplete).toBe(false);
		await expectNoOutput();
	});
});
