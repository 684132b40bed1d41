import { describe, expect, it } from "vitest";
import { readModel } from "../../../src/backends/cog/model.ts";
import { callOf, failureOf, json } from "../upstream.ts";
import { container, URL } from "./container.ts";

const respond = (schemas: object, status = "READY") =>
	container({
		openApi: JSON.stringify({ components: { schemas } }),
		health: { status },
		predict: () => json({}),
	});
const read = (schemas: object, status?: string) =>
	readModel(callOf(respond(schemas, status), { target: { url: URL, kind: "cog" } }));
const fieldOf = async (schema: object, schemas: object = {}) =>
	(await read({ Input: { properties: { x: schema } }, ...schemas })).fields.get("x");

const REF = "#/components/schemas/";

describe("the inputs of a model", () => {
	it.each<[string, object, object]>([
		[
			"its own limits",
			{ type: "integer", minimum: 0, maximum: 9, default: 3 },
			{ type: "integer", minimum: 0, maximum: 9 },
		],
		["its choices", { type: "string", enum: ["a", 1, null, {}] }, { type: "string", enum: ["a", 1] }],
		["a reference", { $ref: `${REF}Choice` }, { type: "string", enum: ["a", "b"] }],
		[
			"a list of references",
			{ allOf: [{ $ref: `${REF}Choice` }], default: "a" },
			{ type: "string", enum: ["a", "b"] },
		],
		[
			"an optional value",
			{ anyOf: [{ type: "null" }, { type: "integer", minimum: 1 }] },
			{ type: "integer", minimum: 1 },
		],
		["the first of several types", { anyOf: [{ type: "string" }, { type: "integer" }] }, { type: "string" }],
		[
			"its own limits above those of a reference",
			{ allOf: [{ $ref: `${REF}Choice` }], enum: ["c"] },
			{ type: "string", enum: ["c"] },
		],
		["a reference to a reference", { $ref: `${REF}Other` }, { type: "string", enum: ["a", "b"] }],
		["an unknown reference", { $ref: `${REF}None` }, {}],
		["a reference to no schema", { $ref: `${REF}Text` }, {}],
		["a reference to null", { $ref: `${REF}Null` }, {}],
		["a foreign reference", { $ref: "https://x/Choice" }, {}],
		["a reference to itself", { $ref: `${REF}Loop` }, { type: "string" }],
		["limits of other types", { type: ["string"], enum: "a", minimum: "1", maximum: null }, {}],
		["nothing", {}, {}],
	])("have %s", async (_, schema, field) => {
		const schemas = {
			Choice: { type: "string", enum: ["a", "b"] },
			Other: { allOf: [{ $ref: `${REF}Choice` }] },
			Loop: { type: "string", allOf: [{ $ref: `${REF}Loop` }] },
			Text: "a",
			Null: null,
		};
		expect(await fieldOf(schema, schemas)).toStrictEqual(field);
	});

	it("are read through eight references", async () => {
		const chain = Object.fromEntries(
			Array.from({ length: 10 }, (_, i) => [
				`S${i}`,
				i === 0 ? { type: "string" } : { $ref: `${REF}S${i - 1}` },
			]),
		);
		expect(await fieldOf({ $ref: `${REF}S7` }, chain)).toEqual({ type: "string" });
		expect(await fieldOf({ $ref: `${REF}S8` }, chain)).toEqual({});
	});

	it("may be none", async () => {
		expect(await read({ Input: {} })).toEqual({ fields: new Map(), yields: false });
	});
});

it.each([
	[undefined, false],
	[{}, false],
	[{ "x-cog-array-type": null }, false],
	[{ "x-cog-array-type": "list" }, false],
	[{ "x-cog-array-type": "iterator" }, true],
])("an output %j yields: %s", async (output, yields) => {
	expect((await read({ Input: {}, ...(output && { Output: output }) })).yields).toBe(yields);
});

it.each([
	["STARTING", "outOfCapacity", "starting"],
	["BUSY", "outOfCapacity", "busy"],
	["SETUP_FAILED", "upstreamUnavailable", "setup failed"],
	["A_NEW_STATUS", "upstreamUnavailable", "a new status"],
])("a container that is %s is %s", async (status, key, words) => {
	expect(await failureOf(read({ Input: {} }, status))).toMatchObject({
		key,
		description: `The backend 'lab' is ${words}`,
		upstream: { backend: "lab" },
	});
});
