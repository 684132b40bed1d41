import { describe, expect, it } from "vitest";
import { featuresOf } from "../../../src/gateways/auto/features.ts";
import { type Tier, tierOf } from "../../../src/gateways/auto/pool.ts";
import { type PoolCandidate, rank } from "../../../src/gateways/auto/rank.ts";

const candidate = (id: string, tier: Tier, fields: Partial<PoolCandidate> = {}): PoolCandidate => ({
	id,
	tier,
	...fields,
});
const POOL = [
	candidate("anthropic/claude-opus-5", 3),
	candidate("anthropic/claude-sonnet-5", 2),
	candidate("openai/gpt-5.6-luna", 1),
];
const ask = (text: string, fields: object = {}) => ({
	messages: [{ role: "user", content: text }],
	...fields,
});
const order = (body: unknown, pool: readonly PoolCandidate[] = POOL) =>
	rank(pool, featuresOf(body)).candidates.map(({ id }) => id);
const TOOL = { type: "function", function: { name: "get_weather" } };

describe("the order of a pool", () => {
	it.each([
		["a short question", ask("Hi"), 1],
		["a low effort", ask("Hi", { reasoning_effort: "low" }), 1],
		["a medium effort", ask("Hi", { reasoning_effort: "medium" }), 2],
		["tools", ask("Hi", { tools: [TOOL] }), 2],
		["a long opening", ask("word ".repeat(500)), 2],
		["a high effort", ask("Hi", { reasoning_effort: "high" }), 3],
		["a high effort of Responses", { input: "Hi", reasoning: { effort: "xhigh" } }, 3],
		["a high effort of Messages", { ...ask("Hi"), output_config: { effort: "max" } }, 3],
		["many tools", ask("Hi", { tools: Array(13).fill(TOOL) }), 3],
		["a very long opening", ask("word ".repeat(5_000)), 3],
	])("begins for %s with a model of the tier that is enough", (_, body, tier) => {
		const ranking = rank(POOL, featuresOf(body));
		expect(ranking.tier).toBe(tier);
		expect(ranking.candidates[0]?.tier).toBe(tier);
	});

	it("goes on with larger models, and then with smaller ones", () => {
		expect(order(ask("Hi", { tools: [TOOL] }))).toEqual([
			"anthropic/claude-sonnet-5",
			"anthropic/claude-opus-5",
			"openai/gpt-5.6-luna",
		]);
	});

	it("has the cheapest model of a tier first", () => {
		const pool = [
			candidate("a/dear", 1, { outputUsd: 2 }),
			candidate("a/unknown", 1),
			candidate("a/cheap", 1, { outputUsd: 1 }),
		];
		expect(order(ask("Hi"), pool)).toEqual(["a/cheap", "a/dear", "a/unknown"]);
	});

	it("leaves out models that cannot take the input", () => {
		const pool = [
			candidate("a/small", 1, { contextWindow: 100 }),
			candidate("a/blind", 1, { vision: false }),
			candidate("a/plain", 1, { tools: false }),
			candidate("a/able", 3),
		];
		const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
		const body = {
			messages: [{ role: "user", content: [{ type: "text", text: "x".repeat(400) }, image] }],
			tools: [TOOL],
		};
		const ranking = rank(pool, featuresOf(body));
		expect(ranking.candidates.map(({ id }) => id)).toEqual(["a/able"]);
		expect(ranking.unsuited).toEqual([
			{ id: "a/small", reason: "context" },
			{ id: "a/blind", reason: "images" },
			{ id: "a/plain", reason: "tools" },
		]);
		const none = rank(pool.slice(0, 3), featuresOf(body));
		expect([none.candidates.length, none.reason]).toEqual([3, "fallback_unsupported_input"]);
	});

	it("stays the same in all turns of a conversation, unless the request wants it anew", () => {
		const turns = [
			{ role: "user", content: "Hi" },
			{ role: "assistant", content: "Hello!" },
			{ role: "user", content: "word ".repeat(5_000) },
		];
		const features = featuresOf({ messages: turns });
		expect(rank(POOL, features)).toMatchObject({ tier: 1, reason: "pinned_by_turn" });
		expect(rank(POOL, features, { followsConversation: false })).toMatchObject({
			tier: 3,
			reason: "cost_optimal_within_pool",
		});
	});

	it("has a reason", () => {
		expect(rank(POOL, featuresOf(ask("Hi"))).reason).toBe("cost_optimal_within_pool");
		expect(rank(POOL.slice(1, 2), featuresOf(ask("Hi"))).reason).toBe("forced_by_candidate_pool");
	});
});

describe("the features of a request", () => {
	it("count no embedded media, and no results of tools as turns", () => {
		const source = { type: "base64", media_type: "image/png", data: "A".repeat(1_000) };
		const body = {
			system: "Be brief.",
			messages: [
				{
					role: "user",
					content: [
						{ type: "text", text: "Look" },
						{ type: "image", source },
					],
				},
				{ role: "assistant", content: [{ type: "tool_use", id: "1", name: "zoom", input: {} }] },
				{ role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "done" }] },
			],
		};
		const features = featuresOf(body);
		expect(features).toMatchObject({ turns: 1, hasImages: true, tools: 0 });
		expect(features.characters).toBeLessThan(120);
	});

	it.each([undefined, null, "text", [], { messages: "x" }, { messages: [null, 1, { role: "user" }] }])(
		"exist for the odd body %j",
		(body) => {
			expect(featuresOf(body)).toMatchObject({ hasImages: false, tools: 0 });
		},
	);
});

it.each([
	["openai/gpt-6-astra", undefined, 3],
	["openai/gpt-5.6-luna", 9, 1],
	["acme/chat", undefined, 2],
	["acme/chat", 0.3, 1],
	["acme/chat", 4, 2],
	["acme/chat", 15, 3],
	["constructor", undefined, 2],
])("the tier of %s at %s dollars is %i", (id, outputUsd, tier) => {
	expect(tierOf(id, outputUsd)).toBe(tier);
});
