import { describe, expect, it } from "vitest";
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

describe("json_object with a schema in the prompt", () => {
	const PERSON = {
		type: "object",
		properties: { name: { type: "string" }, age: { type: "integer", minimum: 18 } },
		required: ["name", "age"],
	};
	const FILLED = { name: "simulated name", age: 18 };
	const json = JSON.stringify(PERSON);

	it.each([
		[
			"the AI SDK",
			`JSON schema:\n${json}\nYou MUST answer with a JSON object that matches the JSON schema above.`,
		],
		[
			"Instructor",
			`Match the following json_schema:\n\n${JSON.stringify(PERSON, null, 2)}\n\nReturn an instance.`,
		],
		["a schema with a name", `Use ${JSON.stringify({ name: "person", schema: PERSON })}`],
		["braces before it", `Fill {name} and {{x}}, not { "a": "}" }: ${json}`],
		["an unclosed brace before it", `Use { and "quotes: ${json}`],
		["an example after it", `${json} Example: {"name":"Bob","age":20}`],
	])("is filled: %s", async (_, text) => {
		expect(JSON.parse(await contentOf(`${text}\nBob is 20.`, anyObject))).toEqual(FILLED);
		const messages = [{ role: "system" as const, content: text }, user("Bob is 20.")];
		expect(JSON.parse(await contentOf("", { ...anyObject, messages }))).toEqual(FILLED);
	});

	it("is that of the last message with one", async () => {
		const other = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
		const messages = [user(json), user(JSON.stringify(other)), user("Now.")];
		expect(JSON.parse(await contentOf("", { ...anyObject, messages }))).toEqual({ city: "simulated city" });
	});

	it.each(['{"type":"object","properties":{"a":false},"required":["a"]}', '{"a":1}', "{".repeat(9_000)])(
		"is ignored if it cannot be met: %#",
		async (text) => {
			expect(JSON.parse(await contentOf(text, anyObject))).toMatchObject({ simulated: true });
		},
	);
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
