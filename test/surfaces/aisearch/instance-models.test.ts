/** The models of an instance are checked when they are set: names of the configuration, of the account and of its gateways. */
import { describe, expect, it } from "vitest";
import { searchApi } from "./api.ts";

const MANAGEMENT = "http://gateway/client/v4/accounts/local/ai-gateway";
const CHAT = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

/** A gateway with a deployed route to a chat model, one to a model of embeddings, an alias, and a custom provider of the account. */
async function world() {
	const vars = {
		DEFAULT_BACKEND: "simulator",
		BACKENDS: { own: { kind: "simulator" } },
		ROUTES: {
			"@cf/*": [{ backend: "own" }],
			"qwen*": [{ backend: "own" }],
			"@cf/acme/new": [{ backend: "own" }],
		},
		MODELS: { "@cf/baai/bge-m3-chat": { task: "Text Generation" } },
		ALIASES: { embedder: "@cf/baai/bge-m3", talker: CHAT },
	};
	const api = searchApi({ vars });
	const gateway = `gw-${crypto.randomUUID().slice(0, 8)}`;
	const slug = `acme-${crypto.randomUUID().slice(0, 8)}`;
	const post = async (
		path: string,
		body: object,
	): Promise<{ result: { id: string; version: { version_id: string } } }> => {
		const init = {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(body),
		};
		return (await api.app.request(`${MANAGEMENT}${path}`, init)).json();
	};
	const deploy = async (name: string, model: string): Promise<void> => {
		const elements = [
			{ id: "start", type: "start", outputs: { next: { elementId: "model" } } },
			{
				id: "model",
				type: "model",
				properties: { provider: "workers-ai", model },
				outputs: { success: { elementId: "end" } },
			},
			{ id: "end", type: "end", outputs: {} },
		];
		const { result } = await post(`/gateways/${gateway}/routes`, { name, elements });
		await post(`/gateways/${gateway}/routes/${result.id}/deployments`, {
			version_id: result.version.version_id,
		});
	};
	await deploy("support", CHAT);
	await deploy("vectors", "@cf/baai/bge-m3");
	await post(`/gateways/${gateway}/aliases`, { name: "assistant", models: [CHAT] });
	await post("/custom-providers", {
		name: "Acme",
		slug,
		base_url: "https://llm.acme.example/v1",
		enable: true,
	});
	/** Each call has an instance of its own. */
	const set = async (method: "create" | "update", fields: object) => {
		const id = crypto.randomUUID();
		if (method === "create") return api.create(id, { ai_gateway_id: gateway, ...fields });
		await api.create(id, { ai_gateway_id: gateway });
		return api.put(`/instances/${id}`, fields);
	};
	return { api, gateway, provider: `custom-${slug}`, set };
}

describe.each(["create", "update"] as const)("%s of an instance", (method) => {
	it.each([
		// The pattern of a route takes every name.
		["embedding_model", "@cf/baai/bge-m4", "No such model @cf/baai/bge-m4", "@cf/baai/bge-m3"],
		["embedding_model", CHAT, "Text Generation, so it does not embed texts", ""],
		["embedding_model", "@cf/baai/bge-reranker-base", "does not embed texts", ""],
		[
			"embedding_model",
			"@cf/baai/bge-m3-chat",
			"Text Generation, so it does not embed texts",
			"@cf/baai/bge-m3",
		],
		["ai_search_model", "@cf/baai/bge-m3", "Text Embeddings, so it does not chat", "@cf/baai/bge-m3-chat"],
		["rewrite_model", "google/imagen-4", "Text-to-Image, so it does not chat", ""],
		["reranking_model", "@cf/baai/bge-m3", "Text Embeddings, so it does not rank texts", ""],
		["reranking_model", "@cf/huggingface/distilbert-sst-2-int8", "does not rank texts", ""],
		// The native request of a ranking is that of a model whose task is known.
		["reranking_model", "qwen-reranker", "is not known to rank texts: MODELS can give its task", ""],
		["embedding_model", "talker", "so it does not embed texts", ""],
		["ai_search_model", "dynamic/suport", "has no deployed route", "dynamic/support"],
		["ai_search_model", "dynamic/vectors", 'no model of "dynamic/vectors" can chat', ""],
		["embedding_model", "dynamic/support", "can embed texts", ""],
		["reranking_model", "dynamic/support", "chooses among models that do not rank texts", ""],
		["ai_search_model", "custom/asistant", "has no alias", "custom/assistant"],
		["embedding_model", "custom/assistant", "can embed texts", ""],
		["embedding_model", "cloudflare/auto", "chooses among models that do not embed texts", ""],
	])("refuses %s: %s", async (field, model, reason, near) => {
		const { set } = await world();
		const refused = await set(method, { [field]: model });
		expect(refused).toMatchObject({ status: 400, errors: [{ code: 7010 }] });
		const message = refused.errors[0]?.message ?? "";
		expect(message).toMatch(/^invalid_model: /);
		expect(message).toContain(field);
		expect(message).toContain(reason);
		const [, suggested = ""] = /did you mean "([^"]+)"/.exec(message) ?? [];
		expect(suggested).toBe(near);
		const [, example] = /one that does is "([^"]+)"/.exec(message) ?? [];
		if (reason.includes("so it does not") && near === "")
			expect(await set(method, { [field]: example })).toMatchObject({ status: 200 });
	});

	it("refuses a model of a custom provider that the account does not have", async () => {
		const { provider, set } = await world();
		const misspelled = `${provider}x`;
		expect(await set(method, { ai_search_model: `${misspelled}/qwen3` })).toMatchObject({
			status: 400,
			errors: [
				{
					code: 7010,
					message: `invalid_model: ai_search_model: "${misspelled}/qwen3": the account has no enabled custom provider "${misspelled}"; did you mean "${provider}"?`,
				},
			],
		});
		expect(await set(method, { reranking_model: `${provider}/rerank-3` })).toMatchObject({
			status: 400,
			errors: [{ code: 7010, message: expect.stringContaining("reranking_model") }],
		});
	});

	it.each([
		["custom-acme", 'the account has no enabled custom provider "custom-acme"'],
		["custom-acme/", 'the account has no enabled custom provider "custom-acme"'],
		["PROVIDER", "expected PROVIDER/{model}"],
		["PROVIDER/", "expected PROVIDER/{model}"],
	])("refuses a custom provider without a model: %s", async (sent, reason) => {
		const { provider, set } = await world();
		const [name, text] = [sent, reason].map((part) => part.replace("PROVIDER", provider));
		const message = expect.stringContaining(`invalid_model: ai_search_model: "${name}": ${text}`);
		expect(await set(method, { ai_search_model: name })).toMatchObject({
			status: 400,
			errors: [{ code: 7010, message }],
		});
	});

	it("accepts what a request can call", async () => {
		const { provider, set } = await world();
		const fields = [
			{ embedding_model: "embedder", ai_search_model: "dynamic/support", rewrite_model: "custom/assistant" },
			{
				embedding_model: "dynamic/vectors",
				ai_search_model: "cloudflare/auto",
				rewrite_model: `${provider}/qwen3`,
			},
			{ embedding_model: `${provider}/embed`, ai_search_model: "qwen4", rewrite_model: "@cf/acme/new" },
			{ embedding_model: "openai/text-embedding-3-small", ai_search_model: "openai/gpt-5-new" },
			{ embedding_model: "", reranking_model: null },
		];
		for (const sent of fields) expect(await set(method, sent)).toMatchObject({ status: 200 });
	});
});

it("checks the names of a gateway again when the instance gets another gateway", async () => {
	const { api, gateway } = await world();
	await api.create("docs", { ai_gateway_id: gateway, ai_search_model: "dynamic/support" });
	expect(await api.put("/instances/docs", { ai_gateway_id: "other" })).toMatchObject({
		status: 400,
		errors: [
			{
				code: 7010,
				message: 'invalid_model: ai_search_model: the gateway other has no deployed route "dynamic/support"',
			},
		],
	});
	expect((await api.put("/instances/docs", { ai_gateway_id: "other", ai_search_model: CHAT })).status).toBe(
		200,
	);
});
