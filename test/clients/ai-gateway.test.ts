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
