/** The aliases of a gateway, in the registry's object and as an isolate reads them. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type AliasCalls, AliasPools } from "../../../src/gateways/client/registry-parts.ts";
import { DEFAULT_SETTINGS } from "../../../src/gateways/settings.ts";

const pool = (...models: string[]) => ({ routing: "fallback" as const, models });
const SONNET = "anthropic/claude-sonnet-5-5";
const GPT = "openai/gpt-5.6-sol";

const registry = () => env.GATEWAYS.getByName(crypto.randomUUID());

describe("the aliases of a gateway", () => {
	it("are listed by name, with their pools, and are those of one gateway", async () => {
		const aliases = registry().aliases();
		await aliases.create("gw", "small", pool(GPT));
		await aliases.create("gw", "large", pool(SONNET, GPT));
		await aliases.create("other", "large", pool(GPT));
		expect(await aliases.list("gw")).toMatchObject([
			{ name: "large", routing: "fallback", models: [SONNET, GPT] },
			{ name: "small", models: [GPT] },
		]);
		expect(await aliases.get("other", "large")).toMatchObject({ models: [GPT] });
		expect(await aliases.get("gw", "medium")).toBeUndefined();
	});

	it("have different names, and are at most 100", async () => {
		const aliases = registry().aliases();
		for (let at = 0; at < 100; at++)
			expect(await aliases.create("gw", `model-${at}`, pool(GPT))).toMatchObject({ name: `model-${at}` });
		expect(await aliases.create("gw", "model-0", pool(SONNET))).toBe("nameTaken");
		expect(await aliases.create("gw", "model-100", pool(GPT))).toBe("tooMany");
		expect(await aliases.create("other", "model-100", pool(GPT))).toMatchObject({ models: [GPT] });
		expect(await aliases.get("gw", "model-0")).toMatchObject({ models: [GPT] });
	});

	it("keep their time of creation when they change, and are absent after they are deleted", async () => {
		const aliases = registry().aliases();
		const created = await aliases.create("gw", "large", pool(SONNET));
		const { createdAt } = created as { createdAt: number };
		const smart = { routing: "smart" as const, models: [GPT, SONNET] };
		expect(await aliases.update("gw", "large", smart)).toMatchObject({ ...smart, createdAt });
		expect(await aliases.get("gw", "large")).toMatchObject({ ...smart, createdAt });
		expect(await aliases.update("gw", "small", smart)).toBeUndefined();
		expect(await aliases.delete("gw", "large")).toMatchObject({ name: "large" });
		expect(await aliases.delete("gw", "large")).toBeUndefined();
		expect(await aliases.list("gw")).toEqual([]);
	});

	it("are deleted with their gateway", async () => {
		const object = registry();
		await object.create("gw", DEFAULT_SETTINGS);
		await object.aliases().create("gw", "large", pool(SONNET));
		await object.delete("gw");
		expect(await object.aliases().list("gw")).toEqual([]);
	});
});

describe("the copies of an isolate", () => {
	const poolsOf = (calls: Partial<AliasCalls>) => {
		const clock = { now: 0 };
		return { clock, pools: new AliasPools({ now: () => clock.now, of: () => calls as AliasCalls }) };
	};

	it("are read once for five seconds, and not for a name that cannot exist", async () => {
		const read: string[] = [];
		const { clock, pools } = poolsOf({
			get: async (_, name) => {
				read.push(name);
				return name === "large" ? { name, ...pool(SONNET), createdAt: 0, modifiedAt: 0 } : undefined;
			},
		});
		for (const name of ["large", "large", "small", "small", "a b", "", "x".repeat(65)])
			await pools.find("account", "gw", name);
		expect(read).toEqual(["large", "small"]);
		clock.now = 5_001;
		expect(await pools.find("account", "gw", "large")).toMatchObject({ models: [SONNET] });
		await pools.find("other", "gw", "large");
		await pools.find("account", "other", "large");
		expect(read).toEqual(["large", "small", "large", "large", "large"]);
	});

	it("are read again after a change, also after one that failed", async () => {
		let models = [SONNET];
		const { pools } = poolsOf({
			get: async (_, name) => ({ name, ...pool(...models), createdAt: 0, modifiedAt: 0 }),
		});
		const found = async () => (await pools.find("account", "gw", "large"))?.models;
		expect(await found()).toEqual([SONNET]);
		await pools.change("account", async () => {
			models = [GPT];
		});
		expect(await found()).toEqual([GPT]);
		const failed = pools.change("account", async () => {
			models = [SONNET, GPT];
			throw new Error("The object is gone");
		});
		await expect(failed).rejects.toThrow();
		expect(await found()).toEqual([SONNET, GPT]);
	});
});
