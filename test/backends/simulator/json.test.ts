import { expect, it } from "vitest";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { chat, contentOf, user } from "./fixture.ts";

const bySchema = (schema: unknown): Partial<ChatInput> => ({
	response_format: { type: "json_schema", json_schema: { name: "document", schema } },
});
const anyObject: Partial<ChatInput> = { response_format: { type: "json_object" } };

const ORDER = {
	type: "object",
	properties: {
		customer: { type: "string" },
		items: {
			type: "array",
			minItems: 1,
			items: {
				type: "object",
				properties: { name: { type: "string" }, quantity: { type: "integer", minimum: 1 } },
				required: ["name", "quantity"],
			},
		},
		status: { enum: ["open", "closed"] },
		email: { type: "string", format: "email" },
		ordered: { type: "string", format: "date" },
		note: { type: "string" },
	},
	required: ["customer", "items", "status", "email", "ordered"],
};

it("fills required fields with placeholders", async () => {
	const text =
		"Order by Alice: 2 apples and 3 pears, to 12 Main St on 2026-05-01. alice@shop.example, closed.";
	expect(JSON.parse(await contentOf(text, bySchema(ORDER)))).toEqual({
		customer: "simulated customer",
		items: [{ name: "simulated name", quantity: 1 }],
		status: "open",
		email: "simulated@example.com",
		ordered: "2000-01-01",
	});
});

it("is the JSON that the user requests literally, if valid", async () => {
	const schema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
	expect(await contentOf('Reply with exactly: {"a": 5}', bySchema(schema))).toBe('{"a": 5}');
	expect(await contentOf('Reply with exactly: {"b": 5}', bySchema(schema))).toBe('{"a":0}');
	expect(await contentOf('Reply with exactly: {"b": 5}', anyObject)).toBe('{"b": 5}');
});

it("names the simulation without a schema", async () => {
	expect(JSON.parse(await contentOf('Give me JSON with the keys "name" and "age".', anyObject))).toEqual({
		simulated: true,
		reply:
			'Simulated reply from Ganglion for @cf/meta/llama-3.3-70b-instruct-fp8-fast: no model ran. You wrote: "Give me JSON with the keys "name" and "age".".',
	});
});

it("fails for an unsatisfiable schema, and rejects a too large one", async () => {
	await expect(contentOf("hello", bySchema({ not: {} }))).rejects.toMatchObject({ code: 5024 });
	let deep: unknown = true;
	for (let level = 0; level < 200; level++) deep = { items: deep };
	await expect(contentOf("hello", bySchema(deep))).rejects.toMatchObject({ code: 5006 });
});

it("ends at max_tokens", async () => {
	const { choices } = await chat([user("hello")], { ...anyObject, max_tokens: 3 });
	expect(choices[0]).toMatchObject({
		message: { content: '{" simulated'.replace(" ", "") },
		finish_reason: "length",
	});
});
