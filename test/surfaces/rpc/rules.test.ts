/**
 * The rules of the gateway that an account must use, for the calls of a Worker by RPC. The engine's own book must never have the forbidden text,
 * nor any call if none is allowed. Over HTTP and websockets: `test/node/rules-everywhere.test.ts`.
 */
import { createExecutionContext } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { entrypoint } from "../../../src/surfaces/rpc/entrypoint.ts";
import { completion } from "../../gateway.ts";
import { ADMIN, closedGateway, json } from "../../http/access.ts";
import { GATEWAY_SETTINGS } from "../gateway/gateway-settings.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const BGE = "@cf/baai/bge-base-en-v1.5";
const GUARD = "@cf/meta/llama-guard-3-8b";
const HAZARD = "the hazardous question";
const CARD = "4111 1111 1111 1111";

interface Rule {
	/** Of the gateway `prod`, which the account requires. */
	settings?: object;
	/** What the caller sends. */
	text: string;
	/** What the caller reads. */
	sentence: string;
	/** The gateway that the call names. */
	gateway: string;
	isBroken(sent: readonly string[]): boolean;
}
const calls = (sent: readonly string[]): boolean => sent.length > 0;
const RULES: Readonly<Record<string, Rule>> = {
	"data-loss prevention": {
		settings: { dlp: { enabled: true, action: "BLOCK", profiles: ["credit_card"] } },
		text: CARD,
		sentence: "blocked due to DLP policy violations",
		gateway: "prod",
		isBroken: (sent) => sent.some((one) => one.includes(CARD)),
	},
	guardrails: {
		settings: { guardrails: { prompt: { S9: "BLOCK" } } },
		text: HAZARD,
		sentence: "Prompt blocked due to security configurations",
		gateway: "prod",
		isBroken: (sent) => sent.some((one) => one.includes(HAZARD)),
	},
	"a spend limit": {
		settings: {
			spend_limits: { enabled: true, rules: [{ limitType: "cost", limit: 0.001, window: 86_400 }] },
		},
		text: "Hello",
		sentence: "Spend limit",
		gateway: "prod",
		isBroken: calls,
	},
	"a required gateway": {
		text: "Hello",
		sentence: "binds a gateway",
		gateway: "open",
		isBroken: calls,
	},
};

async function world({ settings = {} }: Rule) {
	const book: string[] = [];
	const answer = async (request: Request): Promise<Response> => {
		const body = await request.text();
		if (new URL(request.url).hostname === "guard")
			return Response.json(completion(body.includes(HAZARD) ? "unsafe\nS9" : "safe"));
		book.push(`${decodeURIComponent(request.url.replaceAll("+", " "))} ${body}`);
		if (request.url.startsWith("http://searx/")) return Response.json({ results: [] });
		return request.url.endsWith("/embeddings")
			? Response.json({
					data: [{ index: 0, embedding: Array(768).fill(0.1) }],
					usage: { prompt_tokens: 2 },
				})
			: Response.json(completion("Hello"));
	};
	const { account, send, services } = closedGateway({
		vars: {
			BACKENDS: {
				engine: { kind: "openai", url: "http://engine/v1" },
				guard: { kind: "openai", url: "http://guard/v1" },
			},
			WEB_SEARCH: { own: { kind: "searxng", url: "http://searx", usd_per_thousand: 1 } },
			ROUTES: {
				[GUARD]: [{ backend: "guard", model: "guard" }],
				"*": [{ backend: "engine", model: "served" }],
			},
		},
		fetch: (input, init) => answer(new Request(input, init)),
	});
	for (const [id, rules] of Object.entries({ prod: settings, open: {} })) {
		const created = await send(
			"/ai-gateway/gateways",
			ADMIN,
			json("POST", { id, ...GATEWAY_SETTINGS, ...rules }),
		);
		expect(created.status).toBe(200);
	}
	await send("/ai/bound-gateway", ADMIN, json("PUT", { id: "prod", mode: "required" }));
	const context = Object.defineProperty(createExecutionContext(), "props", { value: { account } });
	const rpc = new (entrypoint(() => ({ services, allowAnonymous: false })))(context, {});
	if ("spend_limits" in settings) {
		const extraHeaders = { "cf-aig-custom-cost": '{"total_cost":2}' };
		await rpc.run(LLAMA, { prompt: "Hi" }, { extraHeaders });
		await expect
			.poll(() => outcome(rpc.run(LLAMA, { prompt: "Hi" })), { timeout: 20_000 })
			.toContain("Spend limit");
	}
	book.length = 0;
	return { account, book, rpc, services };
}

type World = Awaited<ReturnType<typeof world>>;

/** What the caller reads. */
const outcome = (call: Promise<unknown>): Promise<string> =>
	call.then(
		async (value) => (value instanceof Response ? value.text() : JSON.stringify(value)),
		(thrown: Error) => `${thrown.message} ${JSON.stringify(thrown)}`,
	);

type Way = (at: World, rule: Rule) => Promise<unknown>;
const messagesOf = (content: string) => ({ messages: [{ role: "user", content }] });
const inGateway = ({ gateway }: Rule) => (gateway === "prod" ? {} : { gateway: { id: gateway } });
const stepOf = (query: object, endpoint = LLAMA) => ({
	provider: "workers-ai",
	endpoint,
	headers: {},
	query,
});

const WAYS: Readonly<Record<string, Way>> = {
	run: ({ rpc }, rule) => rpc.run(LLAMA, { prompt: rule.text }, inGateway(rule)),
	"run in a named gateway": ({ rpc }, { gateway, text }) =>
		rpc.run(LLAMA, messagesOf(text), { gateway: { id: gateway } }),
	"run with a stream": ({ rpc }, rule) =>
		rpc.run(LLAMA, { ...messagesOf(rule.text), stream: true }, inGateway(rule)),
	"run for a raw response": ({ rpc }, rule) =>
		rpc.run(LLAMA, messagesOf(rule.text), { ...inGateway(rule), returnRawResponse: true }),
	"run in the format of an endpoint": ({ rpc }, rule) =>
		rpc.run(LLAMA, messagesOf(rule.text), { ...inGateway(rule), openaiEndpoint: "chat/completions" }),
	"run of embeddings": ({ rpc }, rule) => rpc.run(BGE, { text: [rule.text] }, inGateway(rule)),
	"a step of a gateway": ({ rpc }, { gateway, text }) => rpc.gateway(gateway).run(stepOf({ prompt: text })),
	"the second step of a gateway": ({ rpc }, { gateway, text }) =>
		rpc.gateway(gateway).run([stepOf({ prompt: text }, "@cf/no/model"), stepOf({ prompt: text })]),
	"the wire of the binding": ({ rpc }, rule) =>
		Promise.resolve(
			rpc.fetch(
				new Request(
					`https://workers-binding.ai/${rule.gateway === "prod" ? "" : "ai-gateway/"}run?version=3`,
					{
						...json("POST", { inputs: { prompt: rule.text }, options: inGateway(rule) }),
						headers: { "content-type": "application/json", "cf-consn-model-id": LLAMA },
					},
				),
			),
		),
	async "a search"({ rpc, services, account }, { gateway, text }) {
		const name = "default";
		const search = rpc.aiSearch();
		await search.create({ id: "docs", embedding_model: BGE, ai_gateway_id: gateway }).catch(() => {});
		expect(await services.searchInstances.find(account, name, "docs")).toBeDefined();
		return search.get("docs").search({ query: text });
	},
	async "a chat of a search"({ rpc }, { gateway, text }) {
		const search = rpc.aiSearch();
		await search.create({ id: "docs", embedding_model: BGE, ai_gateway_id: gateway });
		return search.get("docs").chatCompletions(messagesOf(text));
	},
	"a web search": ({ rpc }, { gateway, text }) => rpc.websearch({ gatewayId: gateway, query: text }),
};

const PNG = Uint8Array.fromBase64(
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
);
const IMAGE = { name: "a.png", blob: new Blob([PNG], { type: "image/png" }) };

describe.each(Object.entries(RULES))("%s", (_, rule) => {
	it.each(Object.entries(WAYS))("holds for %s", async (__, way) => {
		const here = await world(rule);
		expect(await outcome(way(here, rule))).toContain(rule.sentence);
		expect(rule.isBroken(here.book), here.book.join("\n")).toBe(false);
	});

	it("refuses Markdown, which is converted outside of gateways", async () => {
		const here = await world(rule);
		for (const options of [undefined, { gateway: { id: rule.gateway } }])
			expect(await outcome(here.rpc.toMarkdown(IMAGE, options))).toContain("binds a gateway");
		expect(here.book).toEqual([]);
	});
});
