import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { RouteCalls } from "../../../src/gateways/client/registry-parts.ts";
import { type DynamicRoute, DynamicRoutes } from "../../../src/gateways/durable/dynamic-routes.ts";
import type { Element } from "../../../src/gateways/dynamic/elements.ts";

const elements = (model: string): Element[] => [
	{ id: "start", type: "start", outputs: { next: { elementId: "model" } } },
	{
		id: "model",
		type: "model",
		properties: { provider: "openai", model },
		outputs: { success: { elementId: "end" } },
	},
	{ id: "end", type: "end" },
];

/** The routes of a new account. */
const routes = (): RouteCalls => env.GATEWAYS.getByName(crypto.randomUUID()).dynamicRoutes();

const route = (result: unknown): DynamicRoute => result as DynamicRoute;

describe("dynamic routes of an account", () => {
	it("serves nothing until a version is deployed, then the last deployed version", async () => {
		const account = routes();
		const { id, version, deployment } = route(await account.create("gw", "support", elements("a")));
		expect(deployment).toBeUndefined();
		expect(await account.deployed("gw", "support")).toBeUndefined();
		await account.deploy("gw", id, version.id);
		expect(await account.deployed("gw", "support")).toEqual({ id, elements: elements("a") });
		const changed = route(await account.createVersion("gw", id, elements("b")));
		expect(changed.version.elements).toEqual(elements("b"));
		expect(await account.deployed("gw", "support")).toEqual({ id, elements: elements("a") });
		await account.deploy("gw", id, changed.version.id);
		expect(await account.deployed("gw", "support")).toEqual({ id, elements: elements("b") });
		await account.deploy("gw", id, version.id);
		expect(await account.deployed("gw", "support")).toEqual({ id, elements: elements("a") });
		expect((await account.deployments(id)).map((deployed) => deployed.version)).toEqual([
			version.id,
			changed.version.id,
			version.id,
		]);
		expect((await account.versions(id)).map((stored) => stored.id)).toEqual([changed.version.id, version.id]);
	});

	it("has one route of a name in each gateway", async () => {
		const account = routes();
		const first = route(await account.create("gw", "support", elements("a")));
		expect(await account.create("gw", "support", elements("b"))).toBe("nameTaken");
		const second = route(await account.create("gw", "sales", elements("b")));
		expect(await account.rename("gw", second.id, "support")).toBe("nameTaken");
		expect(route(await account.rename("gw", first.id, "support")).name).toBe("support");
		const other = route(await account.create("other", "support", elements("c")));
		expect((await account.list("gw")).map(({ name }) => name).sort()).toEqual(["sales", "support"]);
		expect(await account.get("gw", other.id)).toBeUndefined();
		expect(await account.deploy("gw", other.id, other.version.id)).toBeUndefined();
	});

	it("does not deploy a version of another route", async () => {
		const account = routes();
		const first = route(await account.create("gw", "first", elements("a")));
		const second = route(await account.create("gw", "second", elements("b")));
		expect(await account.deploy("gw", first.id, second.version.id)).toBeUndefined();
		expect(await account.deployed("gw", "first")).toBeUndefined();
	});

	it("deletes a route with its versions, and all routes with their gateway", async () => {
		const registry = env.GATEWAYS.getByName(crypto.randomUUID());
		const account: RouteCalls = registry.dynamicRoutes();
		const first = route(await account.create("default", "first", elements("a")));
		await account.create("default", "second", elements("b"));
		expect(route(await account.delete("default", first.id)).name).toBe("first");
		expect(await account.delete("default", first.id)).toBeUndefined();
		expect(await account.versions(first.id)).toEqual([]);
		await registry.delete("default");
		expect(await account.list("default")).toEqual([]);
	});

	it("keeps the deployed version and the newest 100", async () => {
		const account = routes();
		const { id, version } = route(await account.create("gw", "support", elements("0")));
		await account.deploy("gw", id, version.id);
		for (let i = 1; i <= 110; i++) await account.createVersion("gw", id, elements(String(i)));
		const versions = await account.versions(id);
		expect(versions).toHaveLength(101);
		expect(versions.at(-1)?.id).toBe(version.id);
		expect(versions.at(-2)?.elements).toEqual(elements("11"));
		expect(await account.deployed("gw", "support")).toEqual({ id, elements: elements("0") });
	});

	it("has at most 100 routes in a gateway", async () => {
		const account = routes();
		for (let i = 0; i < 100; i++) await account.create("gw", `route-${i}`, elements("a"));
		expect(await account.create("gw", "another", elements("a"))).toBe("tooMany");
	});

	it("reads only the newest of many versions, which may be large together", async () => {
		const object = env.GATEWAYS.getByName(crypto.randomUUID());
		await runInDurableObject(object, async (_, { storage: { sql } }) => {
			const tables = new DynamicRoutes(sql);
			const { id } = route(tables.create("gw", "support", elements("a")));
			sql.exec("UPDATE versions SET elements = 'unreadable'");
			const newest = route(tables.createVersion("gw", id, elements("b")));
			expect(newest.version.elements).toEqual(elements("b"));
			expect(tables.list("gw")).toEqual([newest]);
		});
	});
});
