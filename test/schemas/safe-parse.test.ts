import { describe, expect, it } from "vitest";
import * as z from "zod";
import { safeParse } from "../../src/schemas/safe-parse.ts";

describe("a value whose length cannot be compared", () => {
	const LENGTHS: unknown[] = [{ toString: 1 }, { valueOf: 1, toString: 1 }, [{ toString: 1 }]];

	it.each(LENGTHS.map((length) => [length]))("is an issue of its type: %j", (length) => {
		const { error } = safeParse(z.object({ prompt: z.string().min(1).max(9) }), { prompt: { length } });
		expect(error?.issues[0]).toMatchObject({ code: "invalid_type", expected: "string", path: ["prompt"] });
		const list = safeParse(z.array(z.any()).min(1), { length });
		expect(list.error?.issues[0]).toMatchObject({ code: "invalid_type", expected: "array", path: [] });
	});

	it("stays unchanged if the schema accepts it", () => {
		const kept = safeParse(z.union([z.string().min(1), z.looseObject({})]), { length: { toString: 1 } });
		expect(JSON.stringify(kept.data)).toBe('{"length":{"toString":1}}');
	});
});

it("throws an exception of the schema", () => {
	const schema = z.string().transform(() => {
		throw new TypeError("a fault of the schema");
	});
	expect(() => safeParse(schema, "x")).toThrowError("a fault of the schema");
});
