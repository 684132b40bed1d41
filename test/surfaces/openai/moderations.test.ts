/** `/moderations`: guard models, whose hazards are some of OpenAI's categories, and engines that have this API. */
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { BASE, completion, testGateway, upstream } from "../../gateway.ts";

const GUARD = "@cf/meta/llama-guard-3-8b";
const OMNI = "omni-moderation-latest";
/** Those of OpenAI's reference. */
const CATEGORIES = [
	"harassment",
	"harassment/threatening",
	"hate",
	"hate/threatening",
	"illicit",
	"illicit/violent",
	"self-harm",
	"self-harm/instructions",
	"self-harm/intent",
	"sexual",
	"sexual/minors",
	"violence",
	"violence/graphic",
];
const UNJUDGED = [
	"harassment",
	"harassment/threatening",
	"hate/threatening",
	"self-harm/instructions",
	"self-harm/intent",
	"violence/graphic",
];

function gateway(vars: object, reply: (body: Record<string, unknown>, request: Request) => Response) {
	const asked: Record<string, unknown>[] = [];
	const { fetch, requests } = upstream(async (request) => {
		const body = await request.json<Record<string, unknown>>();
		asked.push(body);
		return reply(body, request);
	});
	const { app, post, services } = testGateway({
		vars: { BACKENDS: { engine: { kind: "openai", url: "http://engine.test/v1" } }, ...vars },
		fetch,
	});
	const openai = new OpenAI({
		baseURL: `${BASE}/v1`,
		apiKey: "none",
		maxRetries: 0,
		fetch: async (input, init) => app.fetch(new Request(input, init)),
	});
	return { openai, post, services, requests, asked };
}

/** Llama Guard behind an engine: the verdict of each text. */
const guard = (verdictOf: (text: string) => string, vars: object = {}) =>
	gateway({ ROUTES: { [GUARD]: [{ backend: "engine" }] }, ...vars }, ({ messages }) =>
		Response.json(completion(verdictOf((messages as { content: string }[])[0]?.content ?? ""))),
	);

describe("a guard model", () => {
	it("has a result for each text, and tells which categories it does not judge", async () => {
		const { openai, services } = guard((text) => (text.includes("kill") ? "\n\nunsafe\nS1,S10" : "safe"));
		const { data, response } = await openai.moderations
			.create({ model: GUARD, input: ["Hello", "I kill all of them"] })
			.withResponse();
		expect(data).toMatchObject({ id: expect.stringMatching(/^modr-[\da-f]{32}$/), model: GUARD });
		const [safe, unsafe] = data.results;
		expect(Object.keys(unsafe?.categories ?? {}).sort()).toEqual([...CATEGORIES].sort());
		expect([safe?.flagged, unsafe?.flagged]).toEqual([false, true]);
		const isTrue = Object.entries(unsafe?.categories ?? {}).filter(([, found]) => found);
		expect(isTrue.map(([name]) => name).sort()).toEqual(["hate", "illicit/violent", "violence"]);
		for (const [name, found] of Object.entries(unsafe?.categories ?? {})) {
			const isJudged = !UNJUDGED.includes(name);
			const key = name as keyof OpenAI.Moderation.CategoryScores;
			expect([name, unsafe?.category_scores[key]]).toEqual([name, isJudged ? Number(found) : null]);
			expect(unsafe?.category_applied_input_types[key]).toEqual(isJudged ? ["text"] : []);
			expect(safe?.categories[key]).toBe(isJudged ? false : null);
		}
		expect(unsafe).toMatchObject({ hazards: ["S1", "S10"] });
		// 2 calls of 3 tokens in and 2 out, at 44,003 and 2,730 neurons for a million tokens.
		const [logged] = (await services.ledgers.of("local").requests({})).requests;
		expect(logged).toMatchObject({ model: GUARD, inputTokens: 6, outputTokens: 4 });
		expect(Number(response.headers.get("cf-ai-neurons"))).toBeCloseTo((6 * 44_003 + 4 * 2_730) / 1e6, 2);
	});

	it("flags hazards that OpenAI has no category for, and names them", async () => {
		const { openai } = guard(() => "unsafe\nS7");
		const { results } = await openai.moderations.create({ model: GUARD, input: "Where does she live?" });
		expect(results).toMatchObject([{ flagged: true, hazards: ["S7"] }]);
		expect(Object.values(results[0]?.categories ?? {})).not.toContain(true);
	});

	it("judges a long text in parts, and finds what only its end has", async () => {
		const { openai, requests } = guard((text) => (text.endsWith("bomb") ? "unsafe\nS9" : "safe"));
		const { results } = await openai.moderations.create({
			model: GUARD,
			input: [`${"a ".repeat(10_000)}bomb`, ""],
		});
		expect(results.map(({ flagged }) => flagged)).toEqual([true, false]);
		// Parts of 8,000 characters that share 200, and one for the empty text.
		expect(requests).toHaveLength(3 + 1);
	});

	it("judges the texts of parts together, and refuses images", async () => {
		const { openai, asked } = guard(() => "safe");
		const text = (content: string) => ({ type: "text", text: content }) as const;
		const { results } = await openai.moderations.create({ model: GUARD, input: [text("a"), text("b")] });
		expect(results).toHaveLength(1);
		expect(asked[0]).toMatchObject({ messages: [{ role: "user", content: "a\nb" }], temperature: 0 });
		const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } } as const;
		await expect(openai.moderations.create({ model: GUARD, input: [image] })).rejects.toMatchObject({
			status: 400,
			message: expect.stringContaining(`${GUARD} judges texts only`),
		});
	});

	it("answers for the name that clients send by default, with an alias", async () => {
		const { openai } = guard(() => "unsafe\nS11", { ALIASES: { [OMNI]: GUARD } });
		for (const sent of [{ input: "a" }, { input: "a", model: OMNI }])
			expect(await openai.moderations.create(sent)).toMatchObject({
				model: GUARD,
				results: [{ flagged: true, categories: { "self-harm": true } }],
			});
	});

	it("fails if the model writes no verdict", async () => {
		const { openai } = guard(() => "I cannot help with that.");
		await expect(openai.moderations.create({ model: GUARD, input: "a" })).rejects.toMatchObject({
			status: 500,
			message: expect.stringContaining("not a verdict"),
		});
	});

	it("cancels the other calls when one fails", async () => {
		const { openai, requests } = guard((text) => (text === "3" ? "?" : "safe"));
		const input = Array.from({ length: 100 }, (_, index) => String(index));
		await expect(openai.moderations.create({ model: GUARD, input })).rejects.toMatchObject({ status: 500 });
		expect(requests.length).toBeLessThan(20);
	});
});

describe("an engine with this API", () => {
	const SCORED = {
		flagged: true,
		categories: { hate: true, violence: false },
		category_scores: { hate: 0.93, violence: 0.004 },
		category_applied_input_types: { hate: ["text"], violence: ["text", "image"] },
	};

	it("answers in its own categories, with images", async () => {
		const { openai, asked, requests } = gateway({ ROUTES: { [OMNI]: [{ backend: "engine" }] } }, () =>
			Response.json({ id: "modr-9", model: "omni-moderation-2024-09-26", results: [SCORED] }),
		);
		const input: OpenAI.ModerationMultiModalInput[] = [
			{ type: "text", text: "a" },
			{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
		];
		expect(await openai.moderations.create({ input })).toMatchObject({ model: OMNI, results: [SCORED] });
		expect(requests[0]?.url).toBe("http://engine.test/v1/moderations");
		expect(asked[0]).toEqual({ model: OMNI, input });
	});

	it("that tells no flag has one if a category is found, as at Mistral", async () => {
		const { flagged: _, category_applied_input_types: __, ...result } = SCORED;
		const { openai, asked } = gateway({ ROUTES: { "mistral/*": [{ backend: "engine" }] } }, () =>
			Response.json({ results: [result, { ...result, categories: { hate: false } }] }),
		);
		const { results } = await openai.moderations.create({ model: "mistral/guard", input: ["a", "b"] });
		expect(results.map(({ flagged }) => flagged)).toEqual([true, false]);
		expect(asked[0]).toMatchObject({ input: ["a", "b"] });
	});

	it("must have a result for each input", async () => {
		const { openai } = gateway({ ROUTES: { [OMNI]: [{ backend: "engine" }] } }, () =>
			Response.json({ results: [SCORED] }),
		);
		await expect(openai.moderations.create({ input: ["a", "b"] })).rejects.toMatchObject({ status: 502 });
	});
});

it("refuses more texts than one request may have", async () => {
	const { post } = testGateway();
	const input = Array.from({ length: 257 }, () => "a");
	expect((await post("/v1/moderations", { model: GUARD, input })).status).toBe(400);
	expect((await post("/v1/moderations", { model: GUARD, input: input.slice(1) })).status).toBe(200);
});

it.each([
	[{ model: GUARD }, /required properties at '\/' are 'model,input'/],
	[{ model: GUARD, input: [] }, /input/],
	[{ model: GUARD, input: [1] }, /input/],
	[{ model: GUARD, input: [{ type: "text", text: "a" }, "b"] }, /input/],
	[{ model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast", input: "a" }, /this route does not take it/],
	[{ model: OMNI, input: "a" }, /An alias \(ALIASES\) or a route/],
	[{ model: 1, input: "a" }, /model/],
	[["a"], /./],
])("refuses %j", async (body, message) => {
	const { post } = testGateway();
	const response = await post("/v1/moderations", body);
	expect(response.status).toBe(400);
	expect(await response.json()).toMatchObject({
		error: { type: "invalid_request_error", message: expect.stringMatching(message) },
	});
});
