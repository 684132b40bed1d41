/**
 * The rules of the gateway that a token must use, on every other way to an engine: frames of websockets, MCP, public endpoints, decisions, media,
 * replays, shadows and live models. The engine's own book must never have the forbidden text, nor any call at all if none is allowed.
 * The ways through a room: `rules-in-rooms.test.ts`.
 */
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeWays, type Way } from "./rules/describe-ways.ts";
import {
	ACCOUNT,
	BLOCKS_CARDS,
	bodyOf,
	book,
	CHAT,
	call,
	DISCREET,
	DLP,
	EMBEDDINGS,
	frames,
	handshake,
	named,
	open,
	operator,
	PLACE,
	REVEAL,
	type Rule,
	SHADOWED,
	start,
	stop,
	until,
	use,
} from "./rules/world.ts";

beforeAll(start, 120_000);
afterAll(stop);

const messages = [{ role: "user", content: PLACE }];
const post =
	(path: string, body: object): Way =>
	(form) =>
		call(path, bodyOf(body, form));

const UNIVERSAL_ENDS = ["universal.created", "universal.error"];
const step = { provider: "workers-ai", endpoint: CHAT, headers: {}, query: { prompt: PLACE } };
const universal = (request: object, form: string) => () =>
	bodyOf({ type: "universal.create", request: { eventId: "e", ...request } }, form);
const RESPONSE_ENDS = ["response.completed", "error"];
const create = (fields: object, form: string) => () =>
	bodyOf({ type: "response.create", model: CHAT, ...fields }, form);
const endsWith =
	(types: readonly string[]) =>
	({ type = "" }: { type?: string }): boolean =>
		types.includes(type);
const universalSocket = (rule: Rule, requests: readonly (() => string)[]): Promise<string> =>
	frames(`/v1/${ACCOUNT}/${named(rule)}`, requests, endsWith(UNIVERSAL_ENDS));
const responseSocket = (sent: Parameters<typeof frames>[1]): Promise<string> =>
	frames(`/client/v4/accounts/${ACCOUNT}/ai/v1/responses`, sent, endsWith(RESPONSE_ENDS));

/** The instance of the rule's gateway, with a public endpoint. */
async function publicEndpoint(rule: Rule): Promise<string> {
	const id = `public-${rule.gateway}-${rule.names ?? "own"}`;
	const fields = {
		...{ id, embedding_model: EMBEDDINGS, ai_gateway_id: named(rule) },
		public_endpoint_params: { enabled: true },
	};
	await call("/ai-search/instances", JSON.stringify(fields));
	const { result } = JSON.parse(await call(`/ai-search/instances/${id}`));
	return `/search/${ACCOUNT}/${result.public_endpoint_id}`;
}

const CLEF = "@cf/cloudflare/clef";
const predicate = { type: "predicate", name: "complaint", instructions: "The customer complains." };
const noul = { type: "noul", instructions: "The customer complains." };

const WAYS: Readonly<Record<string, Way>> = {
	"a frame of the universal websocket": (form, rule) => universalSocket(rule, [universal(step, form)]),
	"a frame with a stream": (form, rule) =>
		universalSocket(rule, [universal({ ...step, query: { messages, stream: true } }, form)]),
	"a frame with a chat of OpenAI's format": (form, rule) =>
		universalSocket(rule, [
			universal({ ...step, endpoint: "v1/chat/completions", query: { model: CHAT, messages } }, form),
		]),
	"a frame of Responses": (form) => responseSocket([create({ input: PLACE, store: false }, form)]),
	"a frame of Responses that continues a prepared one": (form) =>
		responseSocket([
			create({ input: PLACE, store: false, generate: false }, form),
			(before) => {
				const { response } = JSON.parse(before.split("\n", 1)[0] ?? "");
				return JSON.stringify({
					...{ type: "response.create", model: CHAT, input: "Go on", store: false },
					previous_response_id: response.id,
				});
			},
		]),
	"a tool of MCP": async (form, rule) => {
		const path = await publicEndpoint(rule);
		const tool = {
			...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
			params: { name: "search", arguments: { query: PLACE } },
		};
		return open(`${path}/mcp`, bodyOf(tool, form));
	},
	"a public search": async (form, rule) =>
		open(`${await publicEndpoint(rule)}/search`, bodyOf({ query: PLACE }, form)),
	"a public chat": async (form, rule) =>
		open(`${await publicEndpoint(rule)}/chat/completions`, bodyOf({ messages }, form)),
	"a decision": post("/ai/v1/decisions", { model: CLEF, input: PLACE, questions: [predicate] }),
	"a question of a decision": post("/ai/v1/decisions", {
		...{ model: CLEF, input: "The parcel is late." },
		questions: [{ ...predicate, instructions: PLACE }],
	}),
	"a decision of SystemOne": post("/ai/v1/systemone", {
		...{ model: CLEF, state: PLACE, questions: { complaint: noul } },
	}),
	"a decision of a run": post(`/ai/run/${CLEF}`, { state: PLACE, questions: { complaint: noul } }),
	"an image": post("/ai/v1/images/generations", {
		model: "@cf/black-forest-labs/flux-1-schnell",
		prompt: PLACE,
	}),
	"a speech": post("/ai/v1/audio/speech", { model: "@cf/deepgram/aura-1", input: PLACE, voice: "angus" }),
	"a rerank": post("/ai/v1/rerank", {
		...{ model: "@cf/baai/bge-reranker-base", query: "Which?", documents: [PLACE] },
	}),
	"a translation": post("/ai/run/@cf/meta/m2m100-1.2b", { text: PLACE, target_lang: "fr" }),
	"a summary": post("/ai/run/@cf/facebook/bart-large-cnn", { input_text: PLACE }),
	async "a request with a shadow"(form) {
		const answer = await call("/ai/v1/chat/completions", bodyOf({ model: SHADOWED, messages }, form));
		// The shadow would follow the answer.
		await wait(300);
		return answer;
	},
};

describeWays(WAYS);

const FLUX = "/ai/run/@cf/deepgram/flux?encoding=linear16&sample_rate=16000";

describe("a live model, which runs in no gateway", () => {
	it("is refused for a token that must use one, whatever it names", async () => {
		for (const names of [undefined, "prod", "open"]) {
			use({ gateway: "prod", ...(names !== undefined && { names }) });
			expect(await handshake(FLUX)).toMatch(/^40[03] /);
		}
		expect(book).toEqual([]);
	});

	it("is refused if the request names one, whose rules it would avoid", async () => {
		use({ gateway: "free", names: "prod" });
		expect(await handshake(FLUX)).toMatch(/^400 .*cf-aig-gateway-id/);
		expect(book).toEqual([]);
	});
});

const ask = (gateway: string, content: string): Promise<string> =>
	call(
		"/ai/v1/chat/completions",
		JSON.stringify({ model: CHAT, messages: [{ role: "user", content }] }),
		"",
		{ "cf-aig-gateway-id": gateway },
	);
const REPLAY = "/ai-gateway/gateways/later/replay";

it("applies a rule that is newer than a log to its replay and to the judge", async () => {
	use({ gateway: "later" });
	const [digits = ""] = Object.values(DLP.forms);
	await ask("later", `Pay with ${digits} now`);
	expect(await ask("later", REVEAL)).toContain(digits);
	await until(() => operator("/ai-gateway/gateways/later/logs"), /"total_count":2/);
	const shown = JSON.parse(await operator("/ai-gateway/gateways/later")).result;
	const { cache_ttl, collect_logs, cache_invalidate_on_update } = shown;
	const limits = { rate_limiting_interval: 0, rate_limiting_limit: 0 };
	await operator(
		"/ai-gateway/gateways/later",
		{ cache_ttl, collect_logs, cache_invalidate_on_update, ...limits, ...BLOCKS_CARDS },
		"PUT",
	);
	// All isolates know a change after five seconds.
	await wait(5_500);
	use({ gateway: "later" });
	const started = JSON.parse(await call(REPLAY, JSON.stringify({ model: DISCREET, judge: CHAT })));
	await until(() => call(`${REPLAY}/${started.result.id}`), /"status":"completed"/);
	const results = await call(`${REPLAY}/${started.result.id}/results`);
	expect(DLP.isBroken(book), book.join("\n")).toBe(false);
	// The question without the number. Its judge would get the answer with the number.
	expect(book.map((sent) => sent.includes(REVEAL))).toEqual([true]);
	expect(results.split(DLP.sentence)).toHaveLength(3);

	use({ gateway: "prod" });
	expect(await call(REPLAY, JSON.stringify({ model: DISCREET }))).toContain("binds a gateway");
	expect(await call(`${REPLAY}/${started.result.id}/results`)).toContain("binds a gateway");
	expect(book).toEqual([]);
}, 60_000);

it("replays no log in a gateway without a budget", async () => {
	use({ gateway: "spent" });
	const path = "/ai-gateway/gateways/spent/replay";
	await until(
		() => operator("/ai-gateway/gateways/spent/logs"),
		/"success":true,"success_count|"status_code":200/,
	);
	expect(await call(path, JSON.stringify({ model: DISCREET }))).toContain('"success":true');
	await wait(3_000);
	expect(book).toEqual([]);
});

it("sends a request without a forbidden text to its engine and to its shadow", async () => {
	use({ gateway: "prod" });
	const body = JSON.stringify({ model: SHADOWED, messages: [{ role: "user", content: "Hi" }] });
	expect(await call("/ai/v1/chat/completions", body)).toContain("Hello");
	await expect
		.poll(() => book.map((sent) => /"model":"([^"]+)"/.exec(sent)?.[1]).sort())
		.toEqual(["engine-model", "shadow-model"]);
	expect(await handshake("/ai/v1/responses")).toBe("101");
});
