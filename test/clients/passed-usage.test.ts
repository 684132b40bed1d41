/** The usage of requests that a started gateway passes to a provider over real connections, compressed and interrupted. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, createGzip, gzipSync } from "node:zlib";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ACCOUNT, type StartedGateway, startGateway } from "./gateway.ts";

const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
const head = { id: "chatcmpl-1", created: 1, model: "small" };
const COMPLETION = JSON.stringify({
	...head,
	object: "chat.completion",
	choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
	usage,
});
const chunk = (fields: object): string =>
	`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [], ...fields })}\n\n`;
const HELLO = chunk({ choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: null }] });
const ENCODINGS = { gzip: gzipSync, br: brotliCompressSync } as const;

/** A stream in gzip. It ends only if `ends`. */
function stream(response: ServerResponse, ends: boolean): void {
	response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" });
	const gzip = createGzip();
	gzip.pipe(response);
	gzip.write(HELLO + chunk({ usage }));
	gzip.flush();
	if (ends) gzip.end("data: [DONE]\n\n");
}

/** The first part of the path selects the answer. */
const provider = createServer((request, response) => {
	request.resume();
	const [, kind = ""] = (request.url ?? "").split("/");
	if (kind === "stream" || kind === "endless") return stream(response, kind === "stream");
	const encoding = kind === "br" ? "br" : "gzip";
	response.writeHead(200, { "content-type": "application/json", "content-encoding": encoding });
	response.end(ENCODINGS[encoding](COMPLETION));
});

let gateway: StartedGateway;
beforeAll(async () => {
	await new Promise<void>((done) => provider.listen(0, "127.0.0.1", done));
	gateway = await startGateway({ AI_GATEWAY: JSON.stringify({ allow_private_addresses: true }) });
	const created = await fetch(`${gateway.baseURL}/accounts/${ACCOUNT}/ai-gateway/custom-providers`, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify({
			...{ name: "Own", slug: "own", enable: true },
			base_url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
		}),
	});
	expect(created.ok).toBe(true);
});
afterAll(async () => {
	provider.closeAllConnections();
	provider.close();
	await gateway.stop();
});

function client(kind: string): { chat: OpenAI["chat"]["completions"]; log(): Promise<object> } {
	let id: string | null = null;
	const sdk = new OpenAI({
		baseURL: `${new URL(gateway.baseURL).origin}/v1/${ACCOUNT}/default/custom-own/${kind}`,
		apiKey: "none",
		maxRetries: 0,
		fetch: async (url, init) => {
			const response = await fetch(url, init);
			id = response.headers.get("cf-aig-log-id");
			return response;
		},
	});
	const log = async (): Promise<object> => {
		const url = `${gateway.baseURL}/accounts/${ACCOUNT}/ai-gateway/gateways/default/logs/${id}`;
		const { result } = (await (await fetch(url)).json()) as { result: object | null };
		return result ?? {};
	};
	return { chat: sdk.chat.completions, log };
}

const request = { model: "small", messages: [{ role: "user" as const, content: "Hi" }] };
const counted = { provider: "custom-own", model: "small", tokens_in: 3, tokens_out: 2 };

describe("the log of a passed request has its tokens", () => {
	it.each(Object.keys(ENCODINGS))("if the answer is encoded as %s", async (encoding) => {
		const { chat, log } = client(encoding);
		expect((await chat.create(request)).choices[0]?.message.content).toBe("Hello");
		await expect.poll(log).toMatchObject(counted);
	});

	it("if the answer is a stream", async () => {
		const { chat, log } = client("stream");
		let text = "";
		for await (const { choices } of await chat.create({ ...request, stream: true }))
			text += choices[0]?.delta.content ?? "";
		expect(text).toBe("Hello");
		await expect.poll(log).toMatchObject(counted);
	});

	it("if the caller leaves the stream", async () => {
		const { chat, log } = client("endless");
		for await (const part of await chat.create({ ...request, stream: true })) if (part.usage) break;
		await expect.poll(log).toMatchObject(counted);
	});
});
