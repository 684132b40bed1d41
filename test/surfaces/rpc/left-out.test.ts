import { describe, expect, it } from "vitest";
import {
	searchInstanceEntrypoint,
	searchNamespaceEntrypoint,
} from "../../../src/surfaces/aisearch/entrypoints.ts";
import * as search from "../../../src/surfaces/aisearch/left-out.ts";
import { NamespaceTarget } from "../../../src/surfaces/aisearch/namespace-target.ts";
import { vectorizeEntrypoint } from "../../../src/surfaces/vectorize/entrypoint.ts";
import * as vectorize from "../../../src/surfaces/vectorize/left-out.ts";

const unused = () => {
	throw new Error("no service is used");
};

/** Calls each method of the room's class on the class that replaces it, and reads each property. */
function refusalsOf(real: { prototype: object }, replaced: { prototype: object }): Record<string, unknown> {
	const members = Object.getOwnPropertyNames(real.prototype).filter(
		(name) => name !== "constructor" && name !== "fetch",
	);
	return Object.fromEntries(
		members.map((name) => {
			try {
				return [name, Reflect.get(replaced.prototype, name)];
			} catch (thrown) {
				return [name, thrown instanceof Error ? thrown.message : thrown];
			}
		}),
	);
}

const missing = (room: string, part: string) =>
	`No route for that URI: this deployment has no ${room}, because its build leaves "${part}" out`;

describe("RPC classes of a room that is left out", () => {
	it.each([
		["AiSearchNamespace", searchNamespaceEntrypoint(unused), search.searchNamespaceEntrypoint()],
		["AiSearchInstance", searchInstanceEntrypoint(unused), search.searchInstanceEntrypoint()],
		["the namespace of env.AI.aiSearch()", NamespaceTarget, search.NamespaceTarget],
	])("refuse each method of %s", (_, real, replaced) => {
		const refusals = refusalsOf(real, replaced);
		expect(Object.keys(refusals).length).toBeGreaterThanOrEqual(6);
		for (const refusal of Object.values(refusals)) expect(refusal).toContain(missing("AI Search", "search"));
	});

	it("refuse each method of Vectorize, and requests of its class in their format", async () => {
		const replaced = vectorize.vectorizeEntrypoint();
		const refusals = refusalsOf(vectorizeEntrypoint(unused), replaced);
		expect(Object.keys(refusals)).toHaveLength(7);
		for (const refusal of Object.values(refusals)) expect(refusal).toContain(missing("Vectorize", "vectors"));
		const response: Response = Reflect.get(replaced.prototype, "fetch").call({});
		expect([response.status, await response.json()]).toEqual([
			400,
			{ code: 7000, error: missing("Vectorize", "vectors") },
		]);
	});
});
