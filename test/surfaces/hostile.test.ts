/** Hostile requests: each gets a success or a documented 4xx, never a 500, and no secret leaks. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FAILURES } from "../../src/core/errors.ts";
import { codePoint } from "../code-point.ts";
import { BASE, completion, ENGINE_VARS, testGateway, upstream } from "../gateway.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const CODES = new Set<number>(Object.values(FAILURES).map(({ code }) => code));
const { app, get, post, services } = testGateway();

async function expectDocumented(response: Response, what: string): Promise<void> {
	if (response.ok) return void (await response.arrayBuffer());
	const text = await response.text();
	expect(response.status, `${what}: ${text}`).toBeLessThan(500);
	expect(response.status, what).toBeGreaterThanOrEqual(400);
	const body = JSON.parse(text) as { errors?: { code: number }[]; error?: { code: string } };
	// Responses alone has no envelope.
	if (!body.errors) expect(body.error?.code, what).toMatch(/^(?:invalid_prompt|context_length_exceeded)$/);
	else expect(CODES.has(body.errors?.[0]?.code ?? -1), `${what}: ${text}`).toBe(true);
}

/** One model of each pair of shapes: what differs between models of a pair is data. */
const MODELS = [
	...new Map(
		services.catalog.all
			.filter(({ status }) => status === "active")
			.map((model) => [`${model.input} ${model.output}`, model.id]),
	).values(),
];

/** Half of the inputs are any JSON; the other half are objects with the fields that readers look at. */
const FIELDS = [
	"prompt",
	"messages",
	"text",
	"query",
	"contexts",
	"stream",
	"tools",
	"image",
	"audio",
	"input",
	"response_format",
	"max_tokens",
	"temperature",
	"seed",
	"width",
	"multipart",
	"queries",
	"input_text",
	"target_lang",
	"state",
	"questions",
	"model",
	"steps",
	"role",
	"content",
	"type",
	"function",
	"stop",
	"n",
	"tool_choice",
];
const { json } = fc.letrec((tie) => ({
	json: fc.oneof(
		{ depthSize: "small", withCrossShrink: true },
		fc.constantFrom(null, true, false, "", "Hi", "user", "json_schema", "AAAA", "data:image/png;base64,AAAA"),
		fc.double({ noNaN: true, noDefaultInfinity: true }),
		fc.integer(),
		fc.string({ unit: codePoint }),
		fc.array(tie("json"), { maxLength: 4 }),
		fc.dictionary(fc.constantFrom(...FIELDS), tie("json"), { maxKeys: 5 }),
		fc.dictionary(fc.string(), tie("json"), { maxKeys: 3 }),
	),
}));

describe("any JSON value as input", () => {
	it("any model", async () => {
		await fc.assert(
			fc.asyncProperty(fc.constantFrom(...MODELS), json, async (model, input) => {
				await expectDocumented(await post(`/run/${model}`, input), `${model} ${JSON.stringify(input)}`);
			}),
			{ numRuns: 20 * MODELS.length },
		);
	}, 60_000);

	it.each([
		["/v1/chat/completions", LLAMA],
		["/v1/completions", LLAMA],
		["/v1/responses", LLAMA],
		["/v1/embeddings", "@cf/baai/bge-m3"],
		["/v1/images/generations", "@cf/black-forest-labs/flux-1-schnell"],
		["/v1/audio/speech", "@cf/deepgram/aura-1"],
	])("%s", async (path, model) => {
		await fc.assert(
			fc.asyncProperty(json, async (input) => {
				const body =
					typeof input === "object" && input !== null && !Array.isArray(input) ? { ...input, model } : input;
				await expectDocumented(await post(path, body), JSON.stringify(body));
			}),
			{ numRuns: 80 },
		);
	});

	it("any bytes as a body", async () => {
		const types = [
			"audio/mpeg",
			"image/png",
			"multipart/form-data; boundary=x",
			"multipart/form-data",
			"text/html",
			"",
		];
		await fc.assert(
			fc.asyncProperty(
				fc.uint8Array({ maxLength: 200 }),
				fc.constantFrom(...types),
				fc.constantFrom(...MODELS),
				async (bytes, type, model) => {
					const response = await app.request(`${BASE}/run/${model}`, {
						method: "POST",
						body: new Uint8Array(bytes),
						headers: { "content-type": type },
					});
					await expectDocumented(response, `${model} ${type} ${bytes}`);
				},
			),
			{ numRuns: 200 },
		);
	});
});

describe("hostile sizes", () => {
	it("refuses a 10 MB body", async () => {
		const response = await post(`/run/${LLAMA}`, { prompt: "x".repeat(10_000_000) });
		expect(response.status).toBe(413);
		expect(await response.json()).toMatchObject({ errors: [{ code: 3006 }] });
	});

	it("refuses a 1 MB message that exceeds every context window, and answers one that fits", async () => {
		const content = "word ".repeat(200_000);
		const refused = await post(`/run/${LLAMA}`, { messages: [{ role: "user", content }] });
		expect(refused.status).toBe(413);
		expect(await refused.json()).toMatchObject({ errors: [{ code: 5021 }] });
		const held = await post("/run/@cf/zai-org/glm-5.3-flash", { messages: [{ role: "user", content }] });
		expect(held.status).toBe(200);
	});

	it("refuses deep nesting in every part of a request", async () => {
		const deep = "[".repeat(100_000) + "]".repeat(100_000);
		for (const body of [
			deep,
			`{"messages":${deep}}`,
			`{"prompt":"x","response_format":{"type":"json_schema","json_schema":${deep}}}`,
		]) {
			const response = await app.request(`${BASE}/run/${LLAMA}`, {
				method: "POST",
				body,
				headers: { "content-type": "application/json" },
			});
			expect(response.status).toBe(400);
			expect(await response.json()).toMatchObject({
				errors: [{ code: 5006, message: "AiError: Bad input: Error: nested deeper than 64 levels" }],
			});
		}
	});

	it("answers 100,000 invalid items with a short message", async () => {
		const response = await post(`/run/${LLAMA}`, { messages: Array.from({ length: 100_000 }, () => 1) });
		expect(response.status).toBe(400);
		expect((await response.text()).length).toBeLessThan(8_000);
	});

	it("answers a wrong content type and a huge query", async () => {
		const wrong = await app.request(`${BASE}/run/${LLAMA}`, {
			method: "POST",
			body: "<xml/>",
			headers: { "content-type": "application/xml" },
		});
		expect(await wrong.json()).toMatchObject({
			errors: [
				{ code: 5006, message: "AiError: Bad input: Error: a JSON body is expected, not 'application/xml'" },
			],
		});
		expect((await get(`/models/search?search=${"x".repeat(50_000)}`)).status).toBe(200);
		await expectDocumented(await get("/models/search?page=-1&per_page=abc"), "paging");
	});

	it("never quotes a prompt or a key in a failure", async () => {
		const { fetch } = upstream(() => {
			throw new Error("connect failed with sk-engine-secret for a-private-prompt");
		});
		const engine = testGateway({ vars: ENGINE_VARS, fetch });
		const text = await (await engine.post(`/run/${LLAMA}`, { prompt: "a-private-prompt" })).text();
		expect(text).not.toMatch(/secret|private/);
		const bad = await (await engine.post(`/run/${LLAMA}`, { prompt: ["a-private-prompt"] })).text();
		expect(bad).not.toContain("private");
	});
});

describe("concurrent requests", () => {
	it("do not mix their prompts, ids and answers", async () => {
		const { fetch } = upstream(async (request) => {
			const { messages } = (await request.json()) as { messages: { content: string }[] };
			return Response.json(completion(`echo ${messages.at(-1)?.content}`));
		});
		const engine = testGateway({ vars: ENGINE_VARS, fetch });
		const answers = await Promise.all(
			Array.from({ length: 100 }, async (_, i) => {
				const response = await engine.post(`/run/${LLAMA}`, { prompt: `question ${i}` });
				const { result } = (await response.json()) as { result: { response: string } };
				return { id: response.headers.get("cf-ai-req-id"), text: result.response };
			}),
		);
		expect(answers.map(({ text }) => text)).toEqual(answers.map((_, i) => `echo question ${i}`));
		expect(new Set(answers.map(({ id }) => id)).size).toBe(100);
	});
});

describe("values of a wrong type where an object's own members are read", () => {
	const OPAQUE = { length: { toString: 1 } };
	const SCHEMAS = [
		{ anyOf: { url: true } },
		{ allOf: { a: 1 } },
		{ oneOf: "x" },
		{ anyOf: [null] },
		{ type: "object", required: 1 },
		{ type: "object", required: { a: 1 } },
		{ type: "object", properties: { a: null } },
		{ enum: { a: 1 } },
		{ type: { a: 1 } },
		{ type: "array", items: 1, prefixItems: { a: 1 } },
		{ type: "object", patternProperties: 1, dependentRequired: { a: 1 } },
		{ $id: { toString: 1 }, $ref: {} },
	];

	it.each(["prompt", "text", "query", "contexts", "audio", "image", "stop"])(
		"in %s is 4xx",
		async (field) => {
			for (const model of MODELS) {
				const response = await post(`/run/${model}`, { prompt: "Hi", [field]: OPAQUE });
				await expectDocumented(response, `${model} ${field}`);
			}
		},
	);

	it.each(SCHEMAS)("in a JSON Schema cause no failure of the gateway: %j", async (schema) => {
		const messages = [{ role: "user", content: "Hi" }];
		const tools = [{ name: "f", description: "d", parameters: schema }];
		for (const body of [
			{ messages, response_format: { type: "json_schema", json_schema: schema } },
			{ messages, tools, tool_choice: "required" },
		])
			await expectDocumented(await post("/run/@cf/qwen/qwen3-30b-a3b-fp8", body), JSON.stringify(body));
	});
});
