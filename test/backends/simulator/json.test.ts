import { Validator } from "@cfworker/json-schema";
import { describe, expect, it } from "vitest";
import type { ChatInput } from "../../../src/tasks/text-generation.ts";
import { calculator, called, chat, contentOf, result, system, user } from "./fixture.ts";

const bySchema = (schema: unknown): Partial<ChatInput> => ({
	response_format: { type: "json_schema", json_schema: { name: "document", schema } },
});
const anyObject: Partial<ChatInput> = { response_format: { type: "json_object" } };

async function documentOf(
	asked: Parameters<typeof contentOf>[0],
	schema: Record<string, unknown>,
): Promise<unknown> {
	const value: unknown = JSON.parse(await contentOf(asked, bySchema(schema)));
	expect(new Validator(structuredClone(schema), "2020-12").validate(value).errors).toEqual([]);
	return value;
}

const object = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
	type: "object",
	properties,
	required,
	additionalProperties: false,
});

describe("a schema", () => {
	it("is filled from the text", async () => {
		const schema = object({ name: { type: "string" }, age: { type: "integer" }, city: { type: "string" } });
		expect(
			await documentOf("Alice Smith is 30 years old and lives in Paris. Extract the person.", schema),
		).toEqual({
			name: "Alice Smith",
			age: 30,
			city: "Paris",
		});
	});

	it("is filled from what the system prompt asks and the user gives", async () => {
		const schema = object({
			name: { type: "string" },
			date: { type: "string" },
			participants: { type: "array", items: { type: "string" } },
		});
		const turns = [
			system("Extract the event."),
			user("Alice and Bob are going to a science fair on Friday."),
		];
		expect(await documentOf(turns, schema)).toMatchObject({ date: "Friday", participants: ["Alice", "Bob"] });
	});

	it("gets an object for each that the text has", async () => {
		const person = object({ name: { type: "string" }, age: { type: "integer" } });
		const schema = object({ people: { type: "array", items: person } });
		expect(await documentOf("Alice is 30, Bob is 25 and Carol is 41.", schema)).toEqual({
			people: [
				{ name: "Alice", age: 30 },
				{ name: "Bob", age: 25 },
				{ name: "Carol", age: 41 },
			],
		});
	});

	it("finds what its names and formats ask for", async () => {
		const schema = object({
			order_id: { type: "string" },
			customer: object({ name: { type: "string" }, email: { type: "string", format: "email" } }),
			total: { type: "number" },
			item_count: { type: "integer" },
			shipped: { type: "boolean" },
			ship_date: { type: "string", format: "date" },
			address: { type: "string" },
			agent: { type: "string" },
		});
		const text =
			"Order #1234 from John Doe (john@doe.com), total $59.90, 3 items, shipped on 2024-05-01 to 12 Main St, Springfield. Agent: Quinn Public";
		expect(await documentOf(text, schema)).toEqual({
			order_id: "1234",
			customer: { name: "John Doe", email: "john@doe.com" },
			total: 59.9,
			item_count: 3,
			shipped: true,
			ship_date: "2024-05-01",
			address: "12 Main St, Springfield",
			agent: "Quinn Public",
		});
	});

	it("gets the members of a list, once", async () => {
		const list = { type: "array", items: { type: "string" } };
		const schema = object({ director: { type: "string" }, ingredients: list, steps: list });
		expect(await documentOf("Pancakes with flour, milk and eggs. Directed by Ann Lee.", schema)).toEqual({
			director: "Ann Lee",
			ingredients: ["flour", "milk", "eggs"],
			steps: ["unknown"],
		});
	});

	it("chooses the member of an enumeration that is named, or that the words lean to", async () => {
		const schema = object({
			sentiment: { enum: ["positive", "negative", "neutral"] },
			priority: { enum: ["low", "medium", "high"] },
		});
		expect(await documentOf("I hate it, it is awful. High priority!", schema)).toEqual({
			sentiment: "negative",
			priority: "high",
		});
	});

	it("gets the answer where it wants one, and says what it does not know", async () => {
		const schema = object({
			answer: { type: "string" },
			colour: { type: "string" },
			note: { type: ["string", "null"] },
		});
		const turns = [user("The code word is banana."), user("What is the code word?")];
		expect(await documentOf(turns, schema)).toEqual({
			answer: "The code word is banana.",
			colour: "unknown",
			note: null,
		});
	});

	it("is filled from the results of tools", async () => {
		const schema = object({ temperature: { type: "number" }, sky: { type: "string" } });
		const turns = [
			user("What is the weather in Paris?"),
			called("1", "get_weather", { city: "Paris" }),
			result("1", '{"temperature":18.5,"sky":"clear"}'),
		];
		expect(await documentOf(turns, schema)).toEqual({ temperature: 18.5, sky: "clear" });
	});

	it("may refer to itself", async () => {
		const tree = {
			$defs: {
				node: object({
					value: { type: "string" },
					children: { type: "array", items: { $ref: "#/$defs/node" } },
				}),
			},
			$ref: "#/$defs/node",
		};
		expect(await documentOf("grow", tree)).toEqual({ value: "unknown", children: [] });
		const list = object({ head: { type: "integer" }, tail: { anyOf: [{ $ref: "#" }, { type: "null" }] } });
		expect(await documentOf("1", list)).toEqual({ head: 1, tail: null });
	});

	it("that nothing satisfies is the product's failure", async () => {
		const endless = object({ next: { $ref: "#" }, other: { $ref: "#" } });
		for (const schema of [
			endless,
			{ type: "object", required: ["a"], properties: { a: false } },
			{ allOf: [{ type: "string" }, { type: "number" }] },
		])
			await expect(chat("hello", bySchema(schema))).rejects.toMatchObject({
				key: "jsonModeUnmet",
				code: 5024,
			});
	});

	it("does not run an expression that takes for ever", async () => {
		const started = performance.now();
		const schema = object({ slug: { type: "string", pattern: "^(a+)+$" }, other: { type: "string" } });
		const content = await contentOf(`${"a".repeat(200)}! slug: ${"a".repeat(60)}!`, bySchema(schema));
		expect(JSON.parse(content)).toHaveProperty("slug");
		expect(performance.now() - started).toBeLessThan(2000);
	});

	it("waits until no tool is called any more", async () => {
		const extra = { ...bySchema(object({ total: { type: "number" } })), tools: [calculator] };
		const turns = [user("What is 2 + 3?")];
		const first = await chat(turns, extra);
		expect(first.choices[0]?.finish_reason).toBe("tool_calls");
		turns.push(called("1", "calculator", { expression: "2 + 3" }), result("1", "total: 5"));
		expect(await contentOf(turns, extra)).toBe('{"total":5}');
	});

	it("is cut at max_tokens", async () => {
		const extra = { ...bySchema(object({ name: { type: "string" } })), max_tokens: 3 };
		const { choices } = await chat("Alice", extra);
		expect(choices[0]).toMatchObject({ finish_reason: "length", message: { content: '{"name":"' } });
	});
});

describe("an object without a schema", () => {
	it.each([
		["Alice is 30. Answer with the keys name and age.", { name: "Alice", age: 30 }],
		[
			"Reply in JSON with fields: city, is_sunny. It is not sunny in Rome.",
			{ city: "Rome", is_sunny: false },
		],
		[
			'I feel great, 9 of 10. Reply as {"mood": "happy|sad", "score": 1, "tags": []}',
			{ mood: "happy", score: 9, tags: ["unknown"] },
		],
		["Reply as {'name': string, 'age': number}. Bob is 7.", { name: "Bob", age: 7 }],
	])("has the keys that the text names: %s", async (asked, value) => {
		expect(JSON.parse(await contentOf(asked, anyObject))).toEqual(value);
	});

	it("looks for them in the system prompt", async () => {
		const turns = [system('Always answer as {"city": "…"}.'), user("I live in Oslo.")];
		expect(JSON.parse(await contentOf(turns, anyObject))).toEqual({ city: "Oslo" });
	});

	it("else holds the answer", async () => {
		expect(
			JSON.parse(await contentOf([user("My name is Alice."), user("What is my name?")], anyObject)),
		).toEqual({
			answer: "Your name is Alice.",
		});
	});
});
