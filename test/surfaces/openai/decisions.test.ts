/** The routes for decisions: three contracts, their limits and their errors. */
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { png } from "../../dialects/samples.ts";
import { BASE, completion, testGateway, upstream } from "../../gateway.ts";

const CLEF = "@cf/cloudflare/clef";
const PREDICATE = { type: "predicate", name: "complaint", instructions: "The customer complains." } as const;
const NOUL = { type: "noul", instructions: "The customer complains." };

/** Clef at Workers AI. `answer` gets the questions. */
function clef(answer: (questions: Record<string, { type: string }>) => object) {
	const { fetch, requests } = upstream(async (request) => {
		const { questions } = await request.json<{ questions: Record<string, { type: string }> }>();
		return Response.json({
			success: true,
			result: { model: "clef", answers: answer(questions), usage: { input_tokens: 20, output_tokens: 0 } },
		});
	});
	const gateway = testGateway({
		vars: {
			BACKENDS: {
				cf: {
					kind: "workers-ai",
					url: "https://api.cloudflare.com/client/v4/accounts/0123456789abcdef0123456789abcdef/ai",
					key: "CF_KEY",
				},
			},
			CF_KEY: "cf-token",
			ROUTES: { [CLEF]: [{ backend: "cf" }] },
		},
		fetch,
	});
	return { ...gateway, requests };
}

const simulated = testGateway();

describe("OpenAI's contract", () => {
	it("has answers in the order of the questions, with their names and their types of values", async () => {
		const { post, requests } = clef(() => ({
			q0: { type: "choice", choice: "true", probabilities: { false: 0.126, true: 0.874 }, confidence: 0.5 },
			q1: { type: "noul", noul: 0.915 },
			q2: {
				type: "score",
				score: 1.204,
				legend: {},
				probabilities: { "0": 0.1, "1": 0.6, "2": 0.3 },
				confidence: 0.3,
			},
			q3: { type: "noul", noul: 0.1 },
		}));
		const response = await post("/v1/decisions", {
			model: CLEF,
			input: "The parcel is late",
			questions: [
				{
					type: "choice",
					name: "same",
					instructions: [
						{ type: "input_text", text: "Late?" },
						{ type: "input_text", text: "Really?" },
					],
					choices: [{ value: true, description: "late" }, { value: false }],
				},
				{ type: "predicate", instructions: "Angry?" },
				{
					type: "score",
					name: "same",
					instructions: "How angry?",
					levels: [{ label: "calm" }, { label: "annoyed", description: "a bit" }, { label: "furious" }],
				},
				{ type: "predicate", name: "a name with spaces & ünïcode", instructions: "Polite?" },
			],
		});
		expect(response.status).toBe(200);
		expect(await response.json()).toEqual({
			model: CLEF,
			answers: [
				{
					type: "choice",
					name: "same",
					choice: true,
					confidence: 0.56,
					probabilities: [
						{ value: true, probability: 0.87 },
						{ value: false, probability: 0.13 },
					],
				},
				{ type: "predicate", name: null, probability: 0.92 },
				{
					type: "score",
					name: "same",
					score: 1.2,
					confidence: 0.19,
					probabilities: [
						{ value: 0, label: "calm", probability: 0.1 },
						{ value: 1, label: "annoyed", probability: 0.6 },
						{ value: 2, label: "furious", probability: 0.3 },
					],
				},
				{ type: "predicate", name: "a name with spaces & ünïcode", probability: 0.1 },
			],
			usage: {
				input_tokens: 20,
				input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
				output_tokens: 0,
				output_tokens_details: { reasoning_tokens: 0 },
				total_tokens: 20,
			},
		});
		expect(await requests[0]?.json()).toMatchObject({
			model: "clef",
			state: "The parcel is late",
			questions: {
				q0: { type: "choice", instructions: "Late?\nReally?", criteria: { true: "late", false: "" } },
				q1: { type: "noul", instructions: "Angry?" },
				q2: { type: "score", criteria: ["calm", "a bit", "furious"] },
			},
		});
	});

	it.each([
		[
			"one value of JSON",
			[{ role: "user", content: [{ type: "input_json", data: { order: 7 } }] }],
			{ order: 7 },
		],
		[
			"texts of one message",
			[
				{
					role: "user",
					content: [
						{ type: "input_text", text: "a" },
						{ type: "input_text", text: "b" },
					],
				},
			],
			"a\nb",
		],
		[
			"a conversation with calls",
			[
				{ role: "developer", content: "Be strict" },
				{
					type: "message",
					role: "assistant",
					content: [
						{ type: "output_text", text: "Hello" },
						{ type: "refusal", refusal: "No" },
					],
				},
				{ type: "function_call", call_id: "c1", name: "look", arguments: '{"at":1}' },
				{ type: "function_call_output", call_id: "c1", output: "18 degrees" },
			],
			[
				{ role: "developer", content: "Be strict" },
				{ role: "assistant", content: "Hello\nNo" },
				{ type: "function_call", call_id: "c1", name: "look", arguments: { at: 1 } },
				{ type: "function_call_output", call_id: "c1", output: "18 degrees" },
			],
		],
	])("sends %s as the state", async (_, input, state) => {
		const { post, requests } = clef(() => ({ q0: { type: "noul", noul: 1 } }));
		expect((await post("/v1/decisions", { model: CLEF, input, questions: [PREDICATE] })).status).toBe(200);
		expect(await requests[0]?.json()).toMatchObject({ state });
	});

	it("sends images beside the state", async () => {
		const { post, requests } = clef(() => ({ q0: { type: "noul", noul: 1 } }));
		const image_url = `data:image/png;base64,${Buffer.from(png(4, 4)).toString("base64")}`;
		const content = [
			{ type: "input_text", text: "Look" },
			{ type: "input_image", image_url, detail: "auto" },
		];
		await post("/v1/decisions", { model: CLEF, input: [{ role: "user", content }], questions: [PREDICATE] });
		expect(await requests[0]?.json()).toMatchObject({ state: ["Look", { image: 1 }], images: [image_url] });
	});

	it.each([
		[{ questions: [] }, "questions"],
		[{ questions: Array(65).fill(PREDICATE) }, "questions"],
		[{ questions: [{ type: "guess", instructions: "x" }] }, "questions[0].type"],
		[{ questions: [{ ...PREDICATE, instructions: "" }] }, "questions[0].instructions"],
		[
			{ questions: [{ ...PREDICATE, instructions: [{ type: "input_image", image_url: "x" }] }] },
			"questions[0].instructions[0]",
		],
		[
			{ questions: [{ type: "choice", instructions: "x", choices: [{ value: "a" }] }] },
			"questions[0].choices",
		],
		[
			{ questions: [{ type: "choice", instructions: "x", choices: [{ value: true }, { value: "true" }] }] },
			"questions[0].choices",
		],
		[
			{
				questions: [
					{
						type: "score",
						instructions: "x",
						levels: Array.from({ length: 11 }, (_, i) => ({ label: String(i) })),
					},
				],
			},
			"questions[0].levels",
		],
		[{ input: [{ role: "user", content: [{ type: "input_audio" }] }] }, "input[0].content[0].type"],
		[
			{
				input: [{ role: "user", content: [{ type: "input_image", image_url: "https://example.com/a.png" }] }],
			},
			"input[0].content[0].image_url",
		],
		[
			{
				input: [
					{ role: "user", content: [{ type: "input_image", image_url: "data:image/png;base64,AAAA" }] },
				],
			},
			"input[0].content[0]",
		],
		[{ input: [{ type: "item_reference", id: "x" }] }, "input[0].type"],
		[{ temperature: 0 }, "temperature"],
		[{ questions: [{ ...PREDICATE, weight: 2 }] }, "questions[0].weight"],
	])("is refused for %j with the field's path", async (fields, param) => {
		const response = await simulated.post("/v1/decisions", {
			model: CLEF,
			input: "x",
			questions: [PREDICATE],
			...fields,
		});
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error", param } });
	});
});

describe("System One's contract", () => {
	const QUESTIONS = {
		"is it late?": NOUL,
		kind: { type: "choice", instructions: "About?", criteria: { "2": "price", "10": null, a: "b" } },
		mood: { type: "score", instructions: "How angry?", criteria: ["calm", "furious"] },
	};
	it.each(["/v1/systemone", "/v1/decisions"])("answers at %s with the ids of the questions", async (path) => {
		const { post, requests } = clef(() => ({
			q0: { type: "noul", noul: 0.9 },
			q1: { type: "choice", choice: "a", probabilities: { "2": 0, "10": 0, a: 1 }, confidence: 1 },
			q2: { type: "score", score: 0.5, probabilities: { "0": 0.5, "1": 0.5 }, confidence: 0 },
		}));
		const response = await post(path, { model: CLEF, state: { parcel: 7 }, questions: QUESTIONS });
		expect(await response.json()).toEqual({
			model: CLEF,
			answers: {
				"is it late?": { type: "noul", noul: 0.9 },
				kind: { type: "choice", choice: "a", probabilities: { "2": 0, "10": 0, a: 1 }, confidence: 1 },
				mood: {
					type: "score",
					score: 0.5,
					legend: { "0": "calm", "1": "furious" },
					probabilities: { "0": 0.5, "1": 0.5 },
					confidence: 0,
				},
			},
			usage: { input_tokens: 20, output_tokens: 0 },
		});
		expect(await requests[0]?.json()).toMatchObject({
			state: { parcel: 7 },
			questions: { q1: { criteria: { "2": "price", "10": "", a: "b" } } },
		});
	});

	it("takes images in base64, and OpenAI's contract at its address", async () => {
		const { post, requests } = clef(() => ({ q0: { type: "noul", noul: 1 } }));
		const base64 = Buffer.from(png(4, 4)).toString("base64");
		await post("/v1/systemone", { model: CLEF, state: "Look", questions: { a: NOUL }, images: [base64] });
		expect(await requests[0]?.json()).toMatchObject({ images: [`data:image/png;base64,${base64}`] });
		const openAi = await post("/v1/systemone", { model: CLEF, input: "x", questions: [PREDICATE] });
		expect(await openAi.json()).toMatchObject({ answers: [{ type: "predicate", name: "complaint" }] });
	});

	it.each([
		[{ questions: {} }, "questions"],
		[
			{ questions: { a: { type: "choice", instructions: "x", criteria: { one: null } } } },
			"questions.a.criteria",
		],
		[{ questions: { a: NOUL }, state: undefined }, "state"],
		[{ questions: { a: NOUL }, images: ["AAAA"] }, "images[0]"],
		[{ questions: { a: NOUL }, stream: true }, "stream"],
		[{ questions: { a: { ...NOUL, criteria: { maybe: "x" } } } }, "questions.a.criteria.maybe"],
	])("is refused for %j with the field's path", async (fields, param) => {
		const response = await simulated.post("/v1/systemone", { model: CLEF, state: "x", ...fields });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ error: { param } });
	});
});

describe("a model", () => {
	it("of TypeSafe decides at the run API, without its name in the body", async () => {
		const { fetch, requests } = upstream(() =>
			Response.json({
				model: "jev-1",
				answers: { late: { type: "noul", noul: 0.75 } },
				usage: { input_tokens: 9, output_tokens: 0 },
			}),
		);
		const { post } = testGateway({
			vars: {
				BACKENDS: { typesafe: { kind: "openai", url: "https://api.typesafe.ai/v1" } },
				ROUTES: { "typesafe/jev": [{ backend: "typesafe", model: "jev-1" }] },
			},
			fetch,
		});
		const response = await post("/run/typesafe/jev", { state: { parcel: 7 }, questions: { late: NOUL } });
		expect(await response.json()).toMatchObject({
			result: { model: "jev", answers: { late: { type: "noul", noul: 0.75 } } },
		});
		expect(requests[0]?.url).toBe("https://api.typesafe.ai/v1/systemone");
		expect(await requests[0]?.json()).toMatchObject({
			model: "jev-1",
			state: { parcel: 7 },
			questions: { late: NOUL },
		});
	});

	it("that chats is prompted, and the answer says so", async () => {
		const { fetch } = upstream((request) =>
			request.url.endsWith("/chat/completions")
				? Response.json(completion('{"question_1": 80}'))
				: Response.json({ error: { message: "no route" } }, { status: 404 }),
		);
		const { post } = testGateway({
			vars: {
				BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
				ROUTES: { "acme/chat": [{ backend: "engine" }] },
			},
			fetch,
		});
		const response = await post("/v1/decisions", { model: "acme/chat", input: "x", questions: [PREDICATE] });
		expect(await response.json()).toMatchObject({ answers: [{ probability: 0.8 }], method: "prompted" });
	});

	it("that does neither is refused", async () => {
		const response = await simulated.post("/v1/decisions", {
			model: "@cf/baai/bge-m3",
			input: "x",
			questions: [PREDICATE],
		});
		expect(await response.json()).toMatchObject({ error: { code: "model_not_found" } });
	});

	it("that decides is still refused at the routes for chat", async () => {
		const response = await simulated.post("/v1/chat/completions", {
			model: CLEF,
			messages: [{ role: "user", content: "x" }],
		});
		expect(response.status).toBe(400);
	});
});

describe("published clients", () => {
	const fetcher = (async (input: RequestInfo | URL, init?: RequestInit) =>
		simulated.app.request(input instanceof Request ? input : String(input), init)) as typeof fetch;

	it("OpenAI's SDK", async () => {
		const client = new OpenAI({ apiKey: "none", baseURL: `${BASE}/v1`, fetch: fetcher, maxRetries: 0 });
		const decision = await client.decisions.create({
			model: CLEF,
			input: "The parcel is late",
			questions: [
				PREDICATE,
				{ type: "choice", instructions: "Late?", choices: [{ value: true }, { value: false }] },
			],
		});
		expect(decision.answers).toEqual([
			{ type: "predicate", name: "complaint", probability: 0.5 },
			expect.objectContaining({ type: "choice", name: null, choice: true }),
		]);
		expect(decision.usage.total_tokens).toBeGreaterThan(0);
		await expect(client.decisions.create({ model: CLEF, input: "x", questions: [] })).rejects.toMatchObject({
			status: 400,
			param: "questions",
		});
	});

	it.each(["v1", "v1beta"])("Google's form below %s", async (version) => {
		const post = (body: object) =>
			simulated.app.request(`${BASE}/${version}/decisions`, {
				method: "POST",
				headers: { "content-type": "application/json", "x-goog-api-key": "none" },
				body: JSON.stringify(body),
			});
		const questions = {
			late: {
				type: "noul",
				instructions: [{ type: "text", text: "Late?" }],
				criteria: { true_description: "yes" },
			},
		};
		const response = await post({ model: `models/${CLEF}`, input: [{ type: "text", text: "x" }], questions });
		expect(await response.json()).toEqual({
			answers: { late: { type: "noul", noul: 0.5, confidence: 0.5 } },
			usage: {
				total_input_tokens: expect.any(Number),
				total_output_tokens: 0,
				total_tokens: expect.any(Number),
			},
		});
		const refused = await post({ model: `models/${CLEF}`, input: { type: "video", uri: "x" }, questions });
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({
			error: { code: 400, status: "INVALID_ARGUMENT", message: expect.stringContaining("input.type") },
		});
	});
});
