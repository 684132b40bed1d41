import { describe, expect, it } from "vitest";
import * as z from "zod";
import { readFormFields } from "../../../src/dialects/media/form-fields.ts";
import { MultipartForm } from "../../../src/dialects/media/multipart.ts";

const SCHEMA = z.object({
	prompt: z.string().optional(),
	seed: z.int().optional(),
	"sizes[]": z.array(z.string()).optional(),
});
const fieldsOf = (...parts: [name: string, value: string][]) =>
	readFormFields(new MultipartForm(parts.map(([name, value]) => ({ name, value }))), SCHEMA, {
		numbers: ["seed"],
		absentText: "null",
	});

describe("readFormFields", () => {
	it("reads numbers, and lists of repeated fields", () => {
		expect(fieldsOf(["prompt", "7"], ["seed", "7"], ["sizes[]", "a"], ["sizes[]", "b"])).toEqual({
			prompt: "7",
			seed: 7,
			"sizes[]": ["a", "b"],
		});
	});

	it("omits empty, absent and unknown fields", () => {
		expect(fieldsOf(["prompt", ""], ["seed", "null"], ["other", "1"])).toEqual({});
	});

	it("refuses text in place of a number", () => {
		expect(() => fieldsOf(["seed", "many"])).toThrowError(
			"5006: Error: Type mismatch of '/seed', 'integer' not in 'string'",
		);
	});
});
