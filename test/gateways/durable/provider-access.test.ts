import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

const GATEWAY = "default";
const KEY = {
	alias: "default",
	default_config: true,
	provider_slug: "custom-acme",
	secret: "sk-stored-secret",
};

/** A custom provider with a stored key, in a new account. */
async function withKey() {
	const access = env.GATEWAYS.getByName(crypto.randomUUID()).providerAccess();
	const provider = await access.createCustomProvider({
		name: "Acme",
		slug: "acme",
		base_url: "https://api.acme.example",
		enable: true,
	});
	if (typeof provider === "string") throw new Error(provider);
	await access.saveKey(GATEWAY, KEY);
	await access.saveKey(GATEWAY, { ...KEY, provider_slug: "openai" });
	const providersWithKey = async () =>
		(await access.keys(GATEWAY)).map(({ provider_slug }) => provider_slug).sort();
	return { access, provider, providersWithKey };
}

describe("the headers of a custom provider", () => {
	it("reach no new address if a change with placeholders comes after the one that moves it", async () => {
		const { access, provider } = await withKey();
		await access.updateCustomProvider(provider.id, { headers: { "x-key": "secret", "x-team": "a" } });
		// The second client has read the settings before the first change.
		await Promise.all([
			access.updateCustomProvider(provider.id, { base_url: "https://other.example" }),
			access.updateCustomProvider(provider.id, { headers: { "x-key": "[redacted]", "x-team": "b" } }),
		]);
		const [stored] = await access.customProviders();
		expect(stored).toMatchObject({ base_url: "https://other.example", headers: { "x-team": "b" } });
		expect(JSON.stringify(stored)).not.toContain("secret");
	});

	it("stay if a change does not name them, and go if it has null", async () => {
		const { access, provider } = await withKey();
		await access.updateCustomProvider(provider.id, { headers: { "x-key": "secret" } });
		expect(await access.updateCustomProvider(provider.id, { name: "Acme 2" })).toMatchObject({
			headers: { "x-key": "secret" },
		});
		const removed = await access.updateCustomProvider(provider.id, { headers: null });
		expect(removed?.headers).toEqual({});
	});
});

describe("the stored keys of a custom provider", () => {
	it("are deleted when its address changes, so that no other server receives them", async () => {
		const { access, provider, providersWithKey } = await withKey();
		await access.updateCustomProvider(provider.id, { base_url: "https://other.example" });
		expect(await providersWithKey()).toEqual(["openai"]);
	});

	it("are deleted with it, so that a new provider of the same name has none", async () => {
		const { access, provider, providersWithKey } = await withKey();
		await access.deleteCustomProvider(provider.id);
		expect(await providersWithKey()).toEqual(["openai"]);
	});

	it("stay when another field changes, or the address is written again", async () => {
		const { access, provider, providersWithKey } = await withKey();
		await access.updateCustomProvider(provider.id, { name: "Acme 2", base_url: "https://api.acme.example" });
		expect(await providersWithKey()).toEqual(["custom-acme", "openai"]);
	});
});
