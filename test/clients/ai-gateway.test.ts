/** The `aiGateway` resources of the published `cloudflare` SDK. */
import Cloudflare from "cloudflare";
import { describe, expect, inject, it } from "vitest";
import { ACCOUNT } from "./gateway.ts";

const account_id = ACCOUNT;
const client = new Cloudflare({ baseURL: inject("baseURL"), apiToken: "none", maxRetries: 0 });

const SETTINGS = {
	account_id,
	cache_invalidate_on_update: true,
	cache_ttl: 0,
	collect_logs: true,
	rate_limiting_interval: 0,
	rate_limiting_limit: 0,
};

/** A gateway of this test, created with the SDK. */
async function newGateway(): Promise<string> {
	const id = `gateway-${crypto.randomUUID()}`;
	await client.aiGateway.create({ ...SETTINGS, id });
	return id;
}

describe("gateways in the cloudflare SDK", () => {
	it("are created, shown, changed and deleted", async () => {
		const id = await newGateway();
		const shown = await client.aiGateway.get(id, { account_id });
		expect(shown).toMatchObject({ id, cache_ttl: 0, collect_logs: true, is_default: false });
		expect(Date.parse(shown.created_at)).toBeGreaterThan(Date.now() - 60_000);
		const guardrails = { prompt: { S1: "BLOCK" as const }, response: {} };
		const changed = await client.aiGateway.update(id, { ...SETTINGS, cache_ttl: 60, guardrails });
		expect(changed).toMatchObject({ id, cache_ttl: 60, guardrails });
		expect(await client.aiGateway.delete(id, { account_id })).toMatchObject({ id });
		await expect(client.aiGateway.get(id, { account_id })).rejects.toMatchObject({
			status: 404,
			errors: [{ code: 7002 }],
		});
	});

	it("are listed in pages until an empty one", async () => {
		const created = await Promise.all([newGateway(), newGateway(), newGateway()]);
		const listed: string[] = [];
		for await (const { id } of client.aiGateway.list({ account_id, per_page: 2 })) listed.push(id);
		expect(listed).toEqual(expect.arrayContaining(created));
		expect(new Set(listed).size).toBe(listed.length);
		const [first = ""] = created;
		const found = await client.aiGateway.list({ account_id, search: first });
		expect(found.result.map(({ id }) => id)).toEqual([first]);
	});

	it("have an address for each provider", async () => {
		const id = await newGateway();
		const url = await client.aiGateway.urls.get("openai", { account_id, gateway_id: id });
		expect(url).toBe(`${new URL(inject("baseURL")).origin}/v1/${ACCOUNT}/${id}/openai`);
	});

	it("are refused with the product's code", async () => {
		await expect(client.aiGateway.create({ ...SETTINGS, id: "a b" })).rejects.toMatchObject({
			status: 400,
			errors: [{ code: 7001 }],
		});
	});
});

describe("providers in the cloudflare SDK", () => {
	it("have keys, which are listed in pages until an empty one and never shown", async () => {
		const gateway_id = await newGateway();
		const at = { account_id, default_config: false };
		for (const alias of ["one", "two", "three"])
			await client.aiGateway.providerConfigs.create(gateway_id, {
				...at,
				alias,
				provider_slug: "openai",
				secret: `sk-of-the-account-${alias}`,
			});
		const aliases: string[] = [];
		for await (const key of client.aiGateway.providerConfigs.list(gateway_id, { account_id, per_page: 2 })) {
			aliases.push(key.alias);
			expect(JSON.stringify(key)).not.toContain("sk-of");
		}
		expect(aliases.sort()).toEqual(["one", "three", "two"]);
		// The default of a page.
		let count = 0;
		for await (const _ of client.aiGateway.providerConfigs.list(gateway_id, { account_id })) count++;
		expect(count).toBe(3);
	});

	it("are registered, listed, changed and deleted", async () => {
		const slug = `own-${crypto.randomUUID()}`;
		const { customProviders } = client.aiGateway;
		const { id } = await customProviders.create({
			account_id,
			slug,
			name: "Own models",
			base_url: "https://models.example.com/v1",
			headers: JSON.stringify({ "x-team": "secret-of-the-team" }),
		});
		const listed: string[] = [];
		for await (const provider of customProviders.list({ account_id, search: slug })) {
			listed.push(provider.id);
			expect(JSON.stringify(provider)).not.toContain("secret-of-the-team");
		}
		expect(listed).toEqual([id]);
		expect(
			await client.patch(`/accounts/${account_id}/ai-gateway/custom-providers/${id}`, {
				body: { enable: true },
			}),
		).toMatchObject({ result: { slug, enable: true } });
		expect(await customProviders.get(id, { account_id })).toMatchObject({ slug, enable: true });
		const plain = await customProviders.create({
			...{ account_id, name: "Own models", base_url: "https://models.example.com/v1" },
			slug: `plain-${crypto.randomUUID()}`,
		});
		expect(plain).not.toHaveProperty("headers");
		const path = `/accounts/${account_id}/ai-gateway/custom-providers/${plain.id}` as const;
		const changed = await client.patch(path, { body: { enable: true } });
		expect(changed).not.toHaveProperty("result.headers");
		expect(changed).toHaveProperty("result.slug", plain.slug);
		await customProviders.delete(plain.id, { account_id });
		await customProviders.delete(id, { account_id });
		await expect(customProviders.get(id, { account_id })).rejects.toMatchObject({
			status: 404,
			errors: [{ code: 7002 }],
		});
	});
});

describe("resources that this gateway does not have", () => {
	const gateway_id = "default";
	const { billing, datasets, evaluations, evaluationTypes } = client.aiGateway;
	it.each([
		["datasets", () => datasets.list(gateway_id, { account_id })],
		["evaluations", () => evaluations.list(gateway_id, { account_id })],
		["evaluation types", () => evaluationTypes.list({ account_id })],
		["billing", () => billing.creditBalance({ account_id })],
	])("are refused in the product's format: %s", async (_, call) => {
		await expect(call()).rejects.toMatchObject({
			status: 400,
			errors: [
				{ code: 7000, message: expect.stringMatching(/^No route for that URI: .* is not available$/) },
			],
		});
	});
});

describe("logs in the cloudflare SDK", () => {
	const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";

	/** Runs a prompt in a gateway, and returns the id of its log. */
	async function run(gateway_id: string, prompt: string, metadata: object = {}): Promise<string> {
		const { origin } = new URL(inject("baseURL"));
		const response = await fetch(`${origin}/v1/${ACCOUNT}/${gateway_id}/workers-ai/${LLAMA}`, {
			method: "POST",
			headers: { "content-type": "application/json", "cf-aig-metadata": JSON.stringify(metadata) },
			body: JSON.stringify({ prompt }),
		});
		await response.text();
		return response.headers.get("cf-aig-log-id") ?? "";
	}

	it("are read, changed, listed in pages and deleted", async () => {
		const gateway_id = await newGateway();
		const at = { account_id, gateway_id };
		const first = await run(gateway_id, "one", { user: "u1" });
		const second = await run(gateway_id, "two", { user: "u2" });
		const log = await client.aiGateway.logs.get(first, at);
		expect(log).toMatchObject({
			id: first,
			provider: "workers-ai",
			model: LLAMA,
			success: true,
			cached: false,
			status_code: 200,
			tokens_in: expect.any(Number),
			tokens_out: expect.any(Number),
			metadata: { user: "u1" },
			request_head: '{"prompt":"one"}',
		});
		await client.aiGateway.logs.get(second, at);
		await client.aiGateway.logs.edit(first, { ...at, feedback: 1, score: 90 });
		expect(await client.aiGateway.logs.request(first, at)).toEqual({ prompt: "one" });
		expect(await client.aiGateway.logs.response(first, at)).toMatchObject({
			result: { response: expect.any(String) },
		});
		const list = async (query: object): Promise<string[]> => {
			const ids: string[] = [];
			for await (const { id } of client.aiGateway.logs.list(gateway_id, { account_id, ...query }))
				ids.push(id);
			return ids;
		};
		expect(await list({ per_page: 1 })).toEqual([second, first]);
		expect(await list({ search: "u2" })).toEqual([second]);
		const liked = { key: "feedback", operator: "eq", value: [1] };
		const successful = { key: "success", operator: "eq", value: [true] };
		expect(await list({ filters: [liked, successful] })).toEqual([first]);
		await client.aiGateway.logs.delete(gateway_id, {
			account_id,
			filters: [{ key: "id", operator: "eq", value: [first] }],
		});
		expect(await list({})).toEqual([second]);
	});
});
