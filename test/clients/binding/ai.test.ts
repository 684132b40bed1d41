/** The runtime's own `Ai` class: everything that `run` takes and gives, to the letter. */
import { imageSize } from "image-size";
import { describe, expect, it } from "vitest";
import { AI } from "./ai.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const NOVA = "@cf/deepgram/nova-3";
const FLUX_2 = "@cf/black-forest-labs/flux-2-klein-4b";
const prompt = "Reply with exactly: Your name is Alice.";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const usage = {
	prompt_tokens: 16,
	completion_tokens: 5,
	total_tokens: 21,
	prompt_tokens_details: { cached_tokens: 0 },
	neurons: 1.45,
};

/** The typed overloads know one model each. */
const run = (model: string, inputs: object, options?: object): Promise<unknown> =>
	AI.run(model as keyof AiModels, inputs as never, options as never);
const bodyOf = (stream: unknown) => new Response(stream as ReadableStream);
const spoken = async () => bodyOf(await run("@cf/deepgram/aura-1", { text: "Buy milk." })).arrayBuffer();

it("is the runtime's own", () => {
	expect(AI.constructor.name).toBe("Ai");
});

describe("what run takes", () => {
	it("JSON", async () => {
		expect(await run(LLAMA, { prompt })).toEqual({ response: "Your name is Alice.", tool_calls: [], usage });
	});

	it("a stream beside other inputs", async () => {
		const audio = { body: new Response(await spoken()).body, contentType: "audio/mpeg" };
		expect(await run("@cf/openai/whisper-large-v3-turbo", { audio, language: "fr" })).toMatchObject({
			text: "Buy milk.",
			transcription_info: { language: "fr" },
		});
	});

	const form = () => {
		const fields = new FormData();
		fields.set("prompt", "a red fox");
		fields.set("width", "512");
		fields.set("height", "256");
		return fields;
	};
	it.each([
		["a form, its type without the boundary", () => ({ body: form(), contentType: "multipart/form-data" })],
		[
			"a serialised form, its type with the boundary",
			() => {
				const { body, headers } = new Response(form());
				return { body, contentType: headers.get("content-type") };
			},
		],
	])("%s", async (_, multipart) => {
		const { image } = (await run(FLUX_2, { multipart: multipart() })) as { image: string };
		const bytes = Uint8Array.from(atob(image), (character) => character.charCodeAt(0));
		expect(imageSize(bytes)).toMatchObject({ width: 512, height: 256 });
	});

	it.each([
		["a prefix of the model", { prefix: "team" }],
		["headers", { extraHeaders: { "x-session-affinity": "session-1", "cf-consn-model-id": "not this one" } }],
		["headers in the old place", { sessionOptions: { extraHeaders: { "x-session-affinity": "session-1" } } }],
		["tags", { tags: ["team:search", "production"] }],
		["rejectIfBusy", { rejectIfBusy: true }],
		["a gateway", { gateway: { id: "default", skipCache: true, cacheTtl: 60, metadata: { user: "a" } } }],
		["what it does not know", { somethingElse: { deep: true } }],
	])("%s among the options", async (_, options) => {
		expect(await run(LLAMA, { prompt }, options)).toMatchObject({ response: "Your name is Alice." });
	});

	it("the options as text, beside a stream", async () => {
		const audio = { body: new Response(await spoken()).body, contentType: "audio/mpeg" };
		const options = { gateway: undefined, tags: ["a", "b"], rejectIfBusy: true, somethingElse: {} };
		expect(JSON.stringify(await run(NOVA, { audio }, options))).toContain('"transcript":"Buy milk."');
	});
});

describe("what run gives", () => {
	it("a stream of events", async () => {
		const stream = await run(LLAMA, { prompt, stream: true });
		expect(stream).toBeInstanceOf(ReadableStream);
		const frame = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
		expect(await bodyOf(stream).text()).toBe(
			["Your", " name", " is", " Alice", "."]
				.map((response) => frame({ response, tool_calls: [] }))
				.concat(frame({ response: "", usage }), "data: [DONE]\n\n")
				.join(""),
		);
	});

	it("a stream of bytes", async () => {
		const audio = await run("@cf/deepgram/aura-1", { text: "Buy milk.", encoding: "linear16" });
		const head = new Uint8Array(await bodyOf(audio).arrayBuffer()).subarray(0, 4);
		expect(new TextDecoder().decode(head)).toBe("RIFF");
	});

	it("the response itself, of a success and of a failure", async () => {
		const good = (await run(LLAMA, { prompt }, { returnRawResponse: true })) as Response;
		expect(good.headers.get("content-type")).toBe("application/json");
		expect(good.headers.get("cf-ai-req-id")).toMatch(UUID);
		expect(await good.json()).toMatchObject({ response: "Your name is Alice." });
		const bad = (await run("@cf/meta/nothing", { prompt }, { returnRawResponse: true })) as Response;
		expect(bad.status).toBe(400);
		expect(await bad.json()).toEqual({
			internalCode: 5007,
			message: "No such model: No such model @cf/meta/nothing or task",
			name: "AiError",
			description: "No such model @cf/meta/nothing or task",
			httpCode: 400,
		});
	});

	it("a websocket", async () => {
		const inputs = { encoding: "linear16", sample_rate: "16000" };
		const { status, webSocket } = (await run("@cf/deepgram/flux", inputs, { websocket: true })) as Response;
		expect(status).toBe(101);
		webSocket?.accept();
		const first = await new Promise((resolve) =>
			webSocket?.addEventListener("message", ({ data }) => resolve(JSON.parse(String(data)))),
		);
		expect(first).toMatchObject({ type: "Connected" });
		webSocket?.close(1000);
	});
});

describe("how run fails", () => {
	it.each([
		["an unknown model", "@cf/meta/nothing", { prompt }, "5007: No such model @cf/meta/nothing or task"],
		[
			"no input",
			LLAMA,
			{},
			"5006: Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', required properties at '/' are 'messages'",
		],
		["an input of the wrong type", LLAMA, { prompt: 1 }, "Type mismatch of '/prompt'"],
		[
			"a form that came as JSON",
			FLUX_2,
			{ prompt },
			"5006: Error: required properties at '/' are 'multipart': send the fields as a form (multipart/form-data), by the binding as { multipart: { body, contentType } }",
		],
		[
			"base64 for nova-3",
			NOVA,
			{ audio: { body: "AAAA", contentType: "audio/mpeg" } },
			"5006: Error: required properties at '/audio' are 'body,contentType'",
		],
	])("by %s", async (_, model, inputs, message) => {
		await expect(run(model, inputs)).rejects.toMatchObject({
			name: "AiError",
			message: expect.stringContaining(message),
		});
	});

	it("before it asks, on what it cannot send", async () => {
		const stream = () => ({ body: new Response("x").body, contentType: "audio/mpeg" });
		const name = "AiInternalError";
		await expect(run(NOVA, { audio: stream(), other: stream() })).rejects.toMatchObject({
			name,
			message: "Multiple ReadableStreams are not supported. Found streams in keys: [audio, other]",
		});
		await expect(run(NOVA, { audio: { body: stream().body } })).rejects.toMatchObject({
			name,
			message: "Content-Type is required with ReadableStream inputs",
		});
		await expect(run(FLUX_2, { multipart: new FormData() })).rejects.toMatchObject({
			name,
			message: "Content-Type is required with ReadableStream inputs",
		});
		await expect(run(NOVA, { audio: stream() }, { gateway: { id: "default" } })).rejects.toMatchObject({
			name,
			message: "AI Gateway does not support ReadableStreams yet.",
		});
	});

	it("when it is aborted: before, during, and in the midst of a stream", async () => {
		const aborted = { name: "AbortError" };
		await expect(run(LLAMA, { prompt }, { signal: AbortSignal.abort() })).rejects.toMatchObject(aborted);
		const during = new AbortController();
		const answer = run(LLAMA, { prompt }, { signal: during.signal });
		during.abort();
		await expect(answer).rejects.toMatchObject(aborted);
		const midst = new AbortController();
		const stream = await run(LLAMA, { prompt, stream: true }, { signal: midst.signal });
		const reader = (stream as ReadableStream).getReader();
		await reader.read();
		midst.abort();
		await expect(
			(async () => {
				while (!(await reader.read()).done);
			})(),
		).rejects.toMatchObject(aborted);
	});

	it("without its object", async () => {
		const { run: detached } = AI;
		await expect(detached(LLAMA, { prompt })).rejects.toBeInstanceOf(TypeError);
	});
});

describe("what is known of the last request", () => {
	it("its ids and its status", async () => {
		await run(LLAMA, { prompt });
		expect(AI.lastRequestId).toMatch(UUID);
		expect(AI.lastRequestHttpStatusCode).toBe(200);
		expect(AI.aiGatewayLogId).toBeNull();
		const running = run(LLAMA, { prompt });
		expect(AI.lastRequestId).toBe("");
		await running;
	});

	it("the code of the last failure, which stays", async () => {
		await run("@cf/meta/nothing", { prompt }).catch(() => {});
		expect([AI.lastRequestHttpStatusCode, AI.lastRequestInternalStatusCode]).toEqual([400, 5007]);
		await run(LLAMA, { prompt });
		expect([AI.lastRequestHttpStatusCode, AI.lastRequestInternalStatusCode]).toEqual([200, 5007]);
	});

	it("no logs", () => {
		expect(AI.getLogs()).toEqual([]);
	});
});

describe("the other members", () => {
	it("models searches the catalogue", async () => {
		const [model] = await AI.models({ search: "llama-3.3", task: "Text Generation", per_page: 5, page: 1 });
		expect(model).toMatchObject({
			id: expect.stringMatching(/^[0-9a-f-]{36}$/),
			source: 1,
			name: LLAMA,
			task: { id: "c329a1f9-323d-4e91-b2aa-582dd4188d34", name: "Text Generation" },
			tags: [],
			properties: expect.arrayContaining([{ property_id: "context_window", value: "24000" }]),
		});
		expect(await AI.models({ search: "no such model" })).toEqual([]);
		expect(await AI.models({ hide_experimental: true, author: "openai" })).not.toEqual([]);
	});

	it("fetch reaches the gateway by its own addresses", async () => {
		const response = await AI.fetch("https://workers-binding.ai/ai-api/models/search?per_page=1");
		expect(await response.json()).toMatchObject({ success: true, result: [{ source: 1 }] });
	});
});
