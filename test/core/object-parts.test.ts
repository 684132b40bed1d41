import { expect, it } from "vitest";
import { callsOfPart } from "../../src/core/object-parts.ts";

it("each call opens a part, and disposes it, also after a failure", async () => {
	const events: string[] = [];
	let opened = 0;
	const routes = callsOfPart(() => {
		const name = `part ${++opened}`;
		return {
			list: async (gateway: string) => {
				events.push(`${name}: list ${gateway}`);
				if (gateway === "broken") throw new Error("the object is overloaded");
				return [gateway];
			},
			[Symbol.dispose]: () => void events.push(`${name}: disposed`),
		};
	});
	expect(await (await Promise.resolve(routes)).list("support")).toEqual(["support"]);
	await expect(routes.list("broken")).rejects.toThrow("the object is overloaded");
	expect(events).toEqual([
		"part 1: list support",
		"part 1: disposed",
		"part 2: list broken",
		"part 2: disposed",
	]);
});
