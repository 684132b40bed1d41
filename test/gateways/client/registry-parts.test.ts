import { expect, it } from "vitest";
import { DeployedRoutes, type RouteCalls } from "../../../src/gateways/client/registry-parts.ts";

it("reads the routes whose names may exist, once, and no others", async () => {
	const read: string[] = [];
	const routes = new DeployedRoutes({
		now: () => 0,
		of: () =>
			({
				deployed: async (_, name) => {
					read.push(name);
					return undefined;
				},
			}) as Partial<RouteCalls> as RouteCalls,
	});
	const names = ["support", "a".repeat(64), "a".repeat(65), "x".repeat(1_000_000), "", "a b", "support"];
	for (const name of names) expect(await routes.find({ account: "a", gateway: "g", name })).toBeUndefined();
	expect(read).toEqual(["support", "a".repeat(64)]);
});
