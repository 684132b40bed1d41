import { createExecutionContext } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { entrypoint } from "../../../src/surfaces/rpc/entrypoint.ts";
import { completion, ENGINE_VARS, testServices, upstream } from "../../gateway.ts";

/** The entrypoint through a service binding of another Worker: every call is over RPC. */
interface Ai {
	run(model: string, inputs: object, options?: object): Promise<unknown>;
	models(params?: object): Promise<{ name: string }[]>;
	fetch(request: Request): Promise<Response>;
}
const ai = (exports as unknown as { AI: (options: { props: object }) => Ai }).AI({
	props: { account: "team-a" },
});
const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const ALICE = {
	messages: [
		{ role: "user", content: "My name is Alice." },
		{ role: "assistant", content: "Hello!" },
		{ role: "user", content: "Reply with exactly: Your name is Alice." },
	],
};

const failure = (call: Promise<unknown>): Promise<unknown> => call.catch((caught: unknown) => caught);

// The first call loads the gateway.
beforeAll(() => ai.models({ per_page: 1 }), 60_000);

describe("AI entrypoint", () => {
	it("returns the output of the model without the envelope", async () => {
		const answer = (await ai.run(LLAMA, ALICE)) as { response: string; usage: object };
		expect(answer.response).toContain("Alice");
		expect(answer.usage).toMatchObject({ total_tokens: expect.any(Number) });
	});

	it("streams", async () => {
		const stream = (await ai.run(LLAMA, { ...ALICE, stream: true })) as ReadableStream;
		const text = await new Response(stream).text();
		expect(text).toMatch(/^data: \{"response":/);
		expect(text).toMatch(/data: \[DONE\]\n\n$/);
	});

	it("returns bytes as a stream, and accepts a stream as an input", async () => {
		const speech = (await ai.run("@cf/deepgram/aura-1", { text: "Good morning." })) as ReadableStream;
		const transcription = await ai.run("@cf/deepgram/nova-3", {
			audio: { body: speech, contentType: "audio/mpeg" },
		});
		expect(JSON.stringify(transcription)).toContain("Good morning.");
	});

	it("accepts a form", async () => {
		const form = new FormData();
		form.set("prompt", "a fox");
		form.set("width", "256");
		form.set("height", "256");
		const { body, headers } = new Response(form);
		const contentType = headers.get("content-type") ?? "";
		expect(
			await ai.run("@cf/black-forest-labs/flux-2-klein-9b", { multipart: { body, contentType } }),
		).toEqual({ image: expect.any(String) });
	});

	it("returns the response with returnRawResponse", async () => {
		const response = (await ai.run(LLAMA, ALICE, { returnRawResponse: true })) as Response;
		expect(response.headers.get("cf-ai-req-id")).toMatch(/^[0-9a-f-]{36}$/);
		expect(response.headers.get("x-ganglion-backend")).toBe("simulator");
		expect(await response.json()).toMatchObject({ response: expect.stringContaining("Alice") });
		const refused = (await ai.run("@cf/a/b", {}, { returnRawResponse: true })) as Response;
		expect(refused.status).toBe(400);
		expect(await refused.json()).toEqual({
			internalCode: 5007,
			message: "No such model: No such model @cf/a/b or task",
			name: "AiError",
			description: "No such model @cf/a/b or task",
			httpCode: 400,
		});
	});

	it("throws errors with name, message and code", async () => {
		expect(await failure(ai.run("@cf/meta/nothing", { prompt: "Hi" }))).toMatchObject({
			name: "AiError",
			message: "5007: No such model @cf/meta/nothing or task",
			internalCode: 5007,
			httpCode: 400,
		});
	});

	it("names the keys of several streams, as the runtime's class does", async () => {
		const stream = () => new Response("x").body;
		const two = {
			a: { body: stream(), contentType: "audio/mpeg" },
			b: { body: stream(), contentType: "audio/mpeg" },
		};
		expect(await failure(ai.run("@cf/deepgram/nova-3", two))).toMatchObject({
			message: "8001: Multiple ReadableStreams are not supported. Found streams in keys: [a, b]",
		});
		expect(await failure(ai.run("@cf/deepgram/nova-3", { audio: stream() }))).toMatchObject({
			message: "8001: Content-Type is required with ReadableStream inputs",
		});
	});

	it.each([
		["several of them", ["a", "b"], {}],
		["a queue", ["audio"], { queueRequest: true }],
		["a websocket", ["audio"], { websocket: true }],
	])("cancels streams that it refuses: %s", async (_, keys, options) => {
		// Not over RPC, because there the runtime cancels forgotten streams itself after some time.
		const world = { services: testServices(), allowAnonymous: true };
		const here = new (entrypoint(() => world))(createExecutionContext(), {});
		const cancelled: string[] = [];
		const inputs = keys.map((key) => {
			const body = new ReadableStream({ cancel: () => void cancelled.push(key) });
			return [key, { body, contentType: "audio/mpeg" }];
		});
		const refused = here.run("@cf/deepgram/nova-3", Object.fromEntries(inputs), options);
		expect(await failure(refused)).toMatchObject({ internalCode: 8001 });
		expect(cancelled).toEqual(keys);
	});

	describe("passes the trace of a caller on to the engine", () => {
		const here = (fetch: typeof globalThis.fetch) => {
			const world = { services: testServices({ vars: ENGINE_VARS, fetch }), allowAnonymous: true };
			return new (entrypoint(() => world))(createExecutionContext(), {});
		};
		type Sent = Record<string, string>;
		const ways: [string, (ai: ReturnType<typeof here>, headers: Sent) => unknown][] = [
			[
				"fetch",
				(ai, headers) =>
					ai.fetch(
						new Request("https://workers-binding.ai/run?version=3", {
							method: "POST",
							headers: { ...headers, "content-type": "application/json", "cf-consn-model-id": LLAMA },
							body: JSON.stringify({ inputs: ALICE, options: {} }),
						}),
					),
			],
			["run", (ai, extraHeaders) => ai.run(LLAMA, ALICE, { extraHeaders })],
			[
				"the run of a gateway",
				(ai, extraHeaders) =>
					ai
						.gateway("default")
						.run({ provider: "workers-ai", endpoint: LLAMA, headers: {}, query: ALICE }, { extraHeaders }),
			],
		];

		it.each(ways)("by %s", async (_, send) => {
			const { fetch, requests } = upstream(() => Response.json(completion("Alice")));
			const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
			await send(here(fetch), { traceparent });
			await send(here(fetch), { traceparent: "00-0-0-01" });
			await send(here(fetch), {});
			expect(requests.map(({ headers }) => headers.get("traceparent"))).toEqual([traceparent, null, null]);
		});
	});

	it("stops at an abort", async () => {
		const late = new AbortController();
		expect(await ai.run(LLAMA, ALICE, { signal: late.signal })).toMatchObject({
			response: expect.any(String),
		});
		// The runtime waits for a signal that it has sent, and warns if the signal can no longer be aborted.
		late.abort();
		expect(await failure(ai.run(LLAMA, ALICE, { signal: AbortSignal.abort() }))).toBeInstanceOf(Error);
	});

	it("refuses values that JSON does not have, and accepts null as options", async () => {
		const self: Record<string, unknown> = { prompt: "Hi" };
		self.tools = [self];
		const tool = { name: "f", description: "d", parameters: { type: "object", properties: {}, big: 1n } };
		for (const inputs of [
			self,
			{ prompt: "Hi", tools: [tool] },
			{ prompt: new Date() },
			{ prompt: new Map() },
		])
			expect(await failure(ai.run(LLAMA, inputs))).toMatchObject({ internalCode: 5006 });
		const options = null as unknown as object;
		expect(await ai.run(LLAMA, ALICE, options)).toMatchObject({ response: expect.any(String) });
		expect((await ai.models(options)).length).toBeGreaterThan(10);
	});

	it("lists models", async () => {
		const models = await ai.models({ search: "llama-3.3", per_page: 5 });
		expect(models).toMatchObject([{ name: LLAMA, task: { name: "Text Generation" } }]);
	});

	it("answers the wire protocol of the runtime's class", async () => {
		const response = await ai.fetch(
			new Request("https://workers-binding.ai/run?version=3", {
				method: "POST",
				headers: { "content-type": "application/json", "cf-consn-model-id": LLAMA },
				body: JSON.stringify({ inputs: ALICE, options: {} }),
			}),
		);
		expect(await response.json()).toMatchObject({ response: expect.stringContaining("Alice") });
	});
});
