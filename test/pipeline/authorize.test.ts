import { describe, expect, it } from "vitest";
import { Catalog } from "../../src/models/catalog.ts";
import { authorize, isServed } from "../../src/pipeline/authorize.ts";
import type { Routing } from "../../src/request.ts";

const NOW = Date.parse("2026-11-21");
const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const ENDED = "@cf/meta/llama-2-7b-chat-int8";

const services = (routing: Routing["find"], now = NOW) => ({
	catalog: new Catalog(),
	routing: { find: routing },
	now: () => now,
});
const byRoute = services(() => ({ targets: [], named: true }));
const byDefault = services(() => ({ targets: [], named: false }));
const unserved = services(() => undefined);

describe("authorize", () => {
	it("finds a model of the catalogue", () => {
		expect(authorize(LLAMA, byDefault).id).toBe(LLAMA);
	});

	it("refuses an id that neither the catalogue nor a route knows", () => {
		expect(() => authorize("acme/x", byDefault)).toThrow("5007: No such model acme/x or task");
		expect(() => authorize("acme/x", unserved)).toThrow("5007");
	});

	it("makes a model of an id that a route names, and the same one each time", () => {
		const model = authorize("acme/x", byRoute);
		expect(model).toMatchObject({ id: "acme/x", status: "adhoc", task: "Text Generation" });
		expect(authorize("acme/x", byRoute)).toBe(model);
	});

	it("remembers a bounded number of them", () => {
		const first = authorize("acme/0", byRoute);
		for (let i = 1; i <= 1000; i++) authorize(`acme/${i}`, byRoute);
		expect(authorize("acme/0", byRoute)).not.toBe(first);
	});

	it("refuses a model from the day that it ended, unless a route names it", () => {
		expect(() => authorize(ENDED, byDefault)).toThrow(
			`5028: ${ENDED} was deprecated on 2026-05-30. See the model catalog for alternatives`,
		);
		expect(authorize(ENDED, byRoute).id).toBe(ENDED);
		const before = services(() => ({ targets: [], named: false }), Date.parse("2026-05-29T23:59:59Z"));
		expect(authorize(ENDED, before).id).toBe(ENDED);
	});
});

describe("isServed", () => {
	it("is true of what authorize lets through and something serves", () => {
		const catalog = new Catalog();
		for (const [which, answers] of [
			[byRoute, { [LLAMA]: true, [ENDED]: true }],
			[byDefault, { [LLAMA]: true, [ENDED]: false }],
			[unserved, { [LLAMA]: false, [ENDED]: false }],
		] as const)
			for (const [id, answer] of Object.entries(answers)) {
				const model = catalog.find(id);
				expect(model && isServed(model, which), id).toBe(answer);
			}
	});
});
