import { describe, expect, it } from "vitest";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import {
	CALLER,
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	testServices,
	upstream,
	usage,
} from "../../gateway.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const ORIGIN = "https://workers-binding.ai";

/** The headers that the runtime's class sends with every `run`. */
const headersFor = (model: string): Record<string, string> => ({
	"content-type": "application/json",
	"cf-consn-sdk-version": "2.0.0",
	"cf-consn-model-id": model,
});

function wire(options: Parameters<typeof testServices>[0] = {}) {
	const app = wireOf(testServices(options));
	return {
		run: async (model: string, inputs: unknown, path = "/run?version=3") =>
			app.fetch(
				new Request(`${ORIGIN}${path}`, {
					method: "POST",
					headers: headersFor(model),
					body: JSON.stringify({ inputs, options: {} }),
				}),
				{ caller: CALLER },
			),
		send: async (path: string, init?: RequestInit) =>
			app.fetch(new Request(`${ORIGIN}${path}`, init), { caller: CALLER }),
	};
}

const engine = (reply: () => Response) => wire({ vars: ENGINE_VARS, fetch: upstream(reply).fetch });

describe("the wire protocol of the binding", () => {
	it("answers JSON without the envelope, with exactly application/json", async () => {
		const response = await engine(() => Response.json(completion("Hello"))).run(LLAMA, { prompt: "Hi" });
		expect(response.headers.get("content-type")).toBe("application/json");
		expect(response.headers.get("cf-ai-req-id")).toMatch(/^[0-9a-f-]{36}$/);
		expect(await response.text()).toBe(
			'{"response":"Hello","tool_calls":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5,"neurons":0.09}}',
		);
	});

	it("answers version 2 and refuses older versions", async () => {
		const { run } = wire();
		expect((await run(LLAMA, { prompt: "Hi" }, "/run?version=2")).status).toBe(200);
		const refused = await run(LLAMA, { prompt: "Hi" }, "/run");
		expect(refused.status).toBe(405);
		expect(await refused.json()).toMatchObject({ internalCode: 5019 });
	});

	it("runs calls with a gateway, and models with a prefix", async () => {
		const { run } = wire();
		expect((await run(LLAMA, { prompt: "Hi" }, "/ai-gateway/run?version=3")).status).toBe(200);
		expect((await run(`team:${LLAMA}`, { prompt: "Hi" })).status).toBe(200);
	});

	it("streams", async () => {
		const { run } = engine(() => events(delta("Hi"), finish(), usage(), DONE));
		const response = await run(LLAMA, { prompt: "Hi", stream: true });
		expect(response.headers.get("content-type")).toBe("text/event-stream");
		expect(await response.text()).toMatch(/"response":"Hi"[\s\S]*data: \[DONE\]\n\n$/);
	});

	it("takes one input as the body and the others from the query", async () => {
		const { run, send } = wire();
		const speech = await (await run("@cf/deepgram/aura-1", { text: "Good morning." })).arrayBuffer();
		const query = new URLSearchParams({
			gateway: "undefined",
			extra: "[object Object]",
			version: "3",
			userInputs: JSON.stringify({ detect_language: true }),
		});
		const response = await send(`/run?${query}`, {
			method: "POST",
			headers: { ...headersFor("@cf/deepgram/nova-3"), "content-type": "audio/mpeg" },
			body: speech,
		});
		expect(response.headers.get("content-type")).toBe("application/json");
		expect(JSON.stringify(await response.json())).toContain("Good morning.");
	});

	it("takes a form, with its boundary or without", async () => {
		const { send } = wire();
		const form = new FormData();
		form.set("prompt", "a fox");
		form.set("width", "256");
		form.set("height", "256");
		const serialised = new Response(form);
		const boundary = serialised.headers.get("content-type") ?? "";
		const body = await serialised.arrayBuffer();
		for (const type of [boundary, "multipart/form-data"]) {
			const response = await send("/run?version=3&userInputs=%7B%7D", {
				method: "POST",
				headers: { ...headersFor("@cf/black-forest-labs/flux-2-dev"), "content-type": type },
				body,
			});
			expect(await response.json(), type).toEqual({ image: expect.any(String) });
		}
	});

	it("has the error body the runtime's class reads", async () => {
		const { run } = wire();
		const response = await run("@cf/meta/nothing", { prompt: "Hi" });
		expect(response.status).toBe(400);
		expect(response.headers.get("content-type")).toBe("application/json");
		expect(response.headers.get("cf-ai-req-id")).toMatch(/^[0-9a-f-]{36}$/);
		expect(await response.text()).toBe(
			'{"internalCode":5007,"message":"No such model: No such model @cf/meta/nothing or task","name":"AiError","description":"No such model @cf/meta/nothing or task","httpCode":400}',
		);
	});

	it("has the message of an invalid input", async () => {
		const response = await wire().run("@cf/black-forest-labs/flux-2-dev", { prompt: "a fox" });
		expect(await response.json()).toMatchObject({
			internalCode: 5006,
			description:
				"Error: required properties at '/' are 'multipart': send the fields as a form (multipart/form-data), by the binding as { multipart: { body, contentType } }",
		});
	});

	it.each([
		["an unreadable body", { method: "POST", body: "{", headers: headersFor(LLAMA) }, "/run?version=3", 5006],
		[
			"no model",
			{ method: "POST", body: "{}", headers: { "content-type": "application/json" } },
			"/run?version=3",
			3003,
		],
		[
			"unreadable userInputs",
			{ method: "POST", body: "x", headers: headersFor(LLAMA) },
			"/run?version=3&userInputs=%7B",
			5006,
		],
		[
			"the queue",
			{ method: "POST", body: '{"inputs":{},"options":{"queueRequest":true}}', headers: headersFor(LLAMA) },
			"/run?version=3",
			8001,
		],
	])("refuses %s", async (_, init, path, internalCode) => {
		expect(await (await wire().send(path, init)).json()).toMatchObject({ internalCode });
	});

	it("lists models", async () => {
		const response = await wire().send("/ai-api/models/search?search=llama-3.3&per_page=10");
		expect(await response.json()).toMatchObject({
			success: true,
			result: [{ name: "@cf/meta/llama-3.3-70b-instruct-fp8-fast" }],
		});
	});

	it("refuses unknown paths in the format that the caller reads", async () => {
		const response = await wire().send("/nothing/here");
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			errors: [{ code: 7000, message: "No route for that URI" }],
		});
	});
});
