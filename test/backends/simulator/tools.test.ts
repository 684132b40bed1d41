import { Validator } from "@cfworker/json-schema";
import { describe, expect, it } from "vitest";
import type { ChatMessage, ChatTool, ToolChoice } from "../../../src/tasks/text-generation.ts";
import {
	assistant,
	calculator,
	called,
	callsOf,
	chat,
	contentOf,
	messageOf,
	result,
	tool,
	user,
	weather,
} from "./fixture.ts";

const email = tool(
	"send_email",
	"Send an email",
	{
		to: { type: "string", format: "email" },
		subject: { type: "string" },
		body: { type: "string" },
		urgent: { type: "boolean" },
	},
	["to", "subject", "body"],
);
const flight = tool(
	"book_flight",
	"Book a flight between two cities",
	{
		origin: { type: "string" },
		destination: { type: "string" },
		date: { type: "string", format: "date" },
		passengers: { type: "integer", minimum: 1 },
	},
	["origin", "destination", "date"],
);
const search = tool(
	"web_search",
	"Search the web",
	{ query: { type: "string" }, max_results: { type: "integer", default: 5 } },
	["query"],
);
const multiply = tool("multiply", "Multiply two numbers", { a: { type: "number" }, b: { type: "number" } });
const subtract = tool("subtract", "Subtract one number from another", {
	a: { type: "number" },
	b: { type: "number" },
});
const currency = tool("convert_currency", "Convert an amount from one currency to another", {
	amount: { type: "number" },
	from_currency: { type: "string" },
	to_currency: { type: "string" },
});
const all = [weather, calculator, email, flight, search, currency];

describe("which tool", () => {
	it.each<[string, ChatTool[], { name: string; arguments: unknown }[]]>([
		["What is 17 times 23?", all, [{ name: "calculator", arguments: { expression: "17 * 23" } }]],
		["what is (3+4)*5", all, [{ name: "calculator", arguments: { expression: "(3+4)*5" } }]],
		["What is six times 7?", [multiply], [{ name: "multiply", arguments: { a: 6, b: 7 } }]],
		["Subtract 17 from 42.", [subtract], [{ name: "subtract", arguments: { a: 42, b: 17 } }]],
		["We are 3. What is 5 minus 5?", [subtract], [{ name: "subtract", arguments: { a: 5, b: 5 } }]],
		["What's the weather in Paris?", all, [{ name: "get_weather", arguments: { city: "Paris" } }]],
		[
			"what is the weather in paris in fahrenheit for 3 days?",
			all,
			[{ name: "get_weather", arguments: { city: "paris", unit: "fahrenheit", days: 3 } }],
		],
		[
			"Do I need an umbrella in Berlin tomorrow?",
			all,
			[{ name: "get_weather", arguments: { city: "Berlin" } }],
		],
		["北京的天气怎么样？", all, [{ name: "get_weather", arguments: { city: "北京" } }]],
		[
			"Send an urgent email to bob@example.com with subject 'Lunch' saying see you at noon",
			all,
			[
				{
					name: "send_email",
					arguments: { to: "bob@example.com", subject: "Lunch", body: "see you at noon", urgent: true },
				},
			],
		],
		[
			"Book a flight from Paris to New York on March 3, 2026 for 2 passengers",
			all,
			[
				{
					name: "book_flight",
					arguments: { origin: "Paris", destination: "New York", date: "2026-03-03", passengers: 2 },
				},
			],
		],
		[
			"Search the web for cheap hotels in Rome",
			all,
			[{ name: "web_search", arguments: { query: "cheap hotels in Rome" } }],
		],
		[
			"Convert 10 USD to EUR",
			all,
			[{ name: "convert_currency", arguments: { amount: 10, from_currency: "USD", to_currency: "EUR" } }],
		],
	])("%s", async (asked, tools, calls) => expect(await callsOf(asked, { tools })).toEqual(calls));

	it.each(["hello", "Tell me a joke", "I like the weather", "My name is Alice.", "Who are you?"])(
		"none: %s",
		async (asked) => {
			const { choices } = await chat(asked, { tools: all });
			expect(choices[0]).toMatchObject({ finish_reason: "stop", message: { content: expect.any(String) } });
			expect(choices[0]?.message).not.toHaveProperty("tool_calls");
		},
	);

	const house = [
		tool("getUser", "Look up a user by id", { userId: { type: "string" } }),
		tool(
			"add_to_cart",
			"Add a product to the shopping cart",
			{ product: { type: "string" }, quantity: { type: "integer", minimum: 1 } },
			["product"],
		),
		tool("set_thermostat", "Set the thermostat", {
			temperature: { type: "number" },
			room: { type: "string" },
		}),
		tool("turn_on_lights", "Turn on the lights in a room", { room: { type: "string" } }),
		tool("write_file", "Write a file", { path: { type: "string" }, content: { type: "string" } }),
		tool("query_database", "Run a SQL query against the database", { sql: { type: "string" } }),
		tool("translate_text", "Translate text", {
			text: { type: "string" },
			target_language: { type: "string" },
		}),
		tool("schedule_meeting", "Schedule a meeting", {
			title: { type: "string" },
			date: { type: "string", format: "date-time" },
			attendees: { type: "array", items: { type: "string" } },
		}),
	];
	it.each([
		["Who is user u_1234?", "getUser", { userId: "u_1234" }],
		["Add 3 apples to my cart", "add_to_cart", { product: "apples", quantity: 3 }],
		[
			"Set the thermostat in the bedroom to 21 degrees",
			"set_thermostat",
			{ temperature: 21, room: "bedroom" },
		],
		["Turn on the lights in the kitchen", "turn_on_lights", { room: "kitchen" }],
		["Write 'hello world' to notes.txt", "write_file", { path: "notes.txt", content: "hello world" }],
		["Run SELECT * FROM users", "query_database", { sql: "SELECT * FROM users" }],
		[
			"Translate 'good morning' to French",
			"translate_text",
			{ text: "good morning", target_language: "French" },
		],
		[
			"Schedule a meeting titled 'Planning' tomorrow at 3pm with Alice and Bob",
			"schedule_meeting",
			{ title: "Planning", date: "2026-01-03T15:00:00Z", attendees: ["Alice", "Bob"] },
		],
	])("among many: %s", async (asked, name, given) => {
		expect(await callsOf(asked, { tools: house })).toEqual([{ name, arguments: given }]);
	});

	it.each([
		"Write a story about a king",
		"what's 2+2",
		"Explain how lists are sorted",
		"I'm feeling sad today",
	])("none among many: %s", async (asked) => expect(await callsOf(asked, { tools: house })).toEqual([]));

	it("takes arguments from an earlier turn where the last says nothing", async () => {
		const turns = [user("I live in Lyon."), assistant("Nice."), user("What is the weather like?")];
		expect(await callsOf(turns, { tools: [weather] })).toEqual([
			{ name: "get_weather", arguments: { city: "Lyon" } },
		]);
	});
});

describe("tool_choice", () => {
	const names = async (asked: string, tool_choice: ToolChoice) =>
		(await callsOf(asked, { tools: all, tool_choice })).map(({ name }) => name);
	const allow = (mode: "auto" | "required", ...allowed: unknown[]): ToolChoice => ({
		type: "allowed_tools",
		allowed_tools: { mode, tools: allowed },
	});

	it("none calls nothing", async () => expect(await names("weather in Rome?", "none")).toEqual([]));
	it("required calls something", async () =>
		expect(await names("hello", "required")).toEqual(["get_weather"]));
	it("required calls the best", async () =>
		expect(await names("what is 2+2", "required")).toEqual(["calculator"]));
	it("a name is called whatever is asked", async () =>
		expect(await names("weather in Rome?", { type: "function", function: { name: "web_search" } })).toEqual([
			"web_search",
		]));
	it("allowed tools are the only ones, in both ways of writing them", async () => {
		expect(await names("weather in Rome?", allow("auto", { type: "function", name: "calculator" }))).toEqual(
			[],
		);
		expect(
			await names("weather in Rome?", allow("required", { type: "function", name: "calculator" })),
		).toEqual(["calculator"]);
		expect(
			await names("weather in Rome?", allow("auto", { type: "function", function: { name: "get_weather" } })),
		).toEqual(["get_weather"]);
	});
});

describe("several calls", () => {
	it("one for each clause", async () => {
		expect(await callsOf("What's the weather in Paris and what is 2+2?", { tools: all })).toEqual([
			{ name: "get_weather", arguments: { city: "Paris" } },
			{ name: "calculator", arguments: { expression: "2+2" } },
		]);
	});

	it.each([
		["weather in Paris and in London", ["Paris", "London"]],
		["What is the weather in Paris, London and Rome?", ["Paris", "London", "Rome"]],
		["Weather in San Francisco, CA and New York, NY?", ["San Francisco, CA", "New York, NY"]],
		["Weather in Paris, France?", ["Paris, France"]],
	])("one for each place: %s", async (asked, cities) => {
		const calls = await callsOf(asked, { tools: [weather] });
		expect(calls.map((call) => call.arguments)).toEqual(cities.map((city) => ({ city })));
	});

	it("one at a time without parallel_tool_calls, each once", async () => {
		const turns: ChatMessage[] = [user("weather in Paris and in London")];
		const extra = { tools: [weather], parallel_tool_calls: false };
		for (const city of ["Paris", "London"]) {
			expect(await callsOf(turns, extra)).toEqual([{ name: "get_weather", arguments: { city } }]);
			turns.push(called(city, "get_weather", { city }), result(city, `Rain in ${city}.`));
		}
		expect(await contentOf(turns, extra)).toBe(
			"The result of get_weather: Rain in Paris. The result of get_weather: Rain in London.",
		);
	});
});

describe("sums beside a reminder to use the tool", () => {
	const operate = tool("calculator", "Perform basic arithmetic on two numbers", {
		operation: { type: "string", enum: ["add", "subtract", "multiply", "divide"] },
		a: { type: "number" },
		b: { type: "number" },
	});
	const SUMS = [
		{ operation: "add", a: 2, b: 3 },
		{ operation: "add", a: 10, b: 20 },
	];

	/** The arguments of every round's calls, each answered with the sum, until it answers in words. */
	async function rounds(asked: string, extra: { parallel_tool_calls?: boolean } = {}): Promise<unknown[][]> {
		const turns: ChatMessage[] = [user(asked)];
		const made: { a: number; b: number }[][] = [];
		for (;;) {
			const { tool_calls, content } = await messageOf(turns, { tools: [operate], ...extra });
			if (!tool_calls) {
				const said = made.flat().map(({ a, b }) => `The result of calculator is ${a + b}.`);
				expect(content).toBe(said.join(" "));
				return made;
			}
			const given = tool_calls.map((call) => JSON.parse(call.function.arguments) as { a: number; b: number });
			made.push(given);
			turns.push({ role: "assistant", content: null, tool_calls });
			for (const [place, { id }] of tool_calls.entries()) {
				const { a = 0, b = 0 } = given[place] ?? {};
				turns.push(result(id, String(a + b)));
			}
		}
	}

	const REMINDED = "First, what is 2 + 3? Second, what is 10 + 20? You MUST use the calculator tool";
	it.each([
		REMINDED,
		`${REMINDED}.`,
		"You must use the calculator tool. What is 2 + 3? What is 10 + 20?",
		"What is two plus three? And what is ten plus twenty? Use the calculator.",
		"What is 2 + 3; what is 10 + 20; use the calculator tool",
		"What is 2+3 and what is 10+20? Always use the calculator, never do math yourself.",
		"Use the calculator: add 2 and 3 and add 10 and 20.",
	])("are made at once, and nothing else: %s", async (asked) => {
		expect(await rounds(asked)).toEqual([SUMS]);
	});

	it.each([
		"What is 2 + 3, then what is 10 + 20? Use the calculator tool",
		"You must use the calculator tool for this. First add 2 and 3, then add 10 and 20.",
		"Use the calculator. Add two and three, and then add ten and twenty.",
	])("are made one after the other: %s", async (asked) => {
		expect(await rounds(asked)).toEqual(SUMS.map((sum) => [sum]));
	});

	it("are made one a round without parallel_tool_calls", async () => {
		expect(await rounds(REMINDED, { parallel_tool_calls: false })).toEqual(SUMS.map((sum) => [sum]));
	});

	it.each(["What is 2 + 3? You MUST use the calculator tool.", "Use the calculator tool. What is 2 plus 3?"])(
		"may be one: %s",
		async (asked) => expect(await rounds(asked)).toEqual([[SUMS[0]]]),
	);

	it("leave the steps of other tools, and sums that are no business of the tool", async () => {
		const asked = `${REMINDED}, and tell me the weather in Paris.`;
		expect(await callsOf(asked, { tools: [operate, weather] })).toEqual([
			...SUMS.map((sum) => ({ name: "calculator", arguments: sum })),
			{ name: "get_weather", arguments: { city: "Paris" } },
		]);
		const searches = "Search the web for 2 + 2 and search the web for cats";
		expect(await callsOf(searches, { tools: [search] })).toHaveLength(2);
	});
});

describe("results", () => {
	const asked = user("What is 17 times 23?");
	const made = called("1", "calculator", { expression: "17 * 23" });

	it("are passed on, not asked for again, whatever tool_choice says", async () => {
		for (const tool_choice of ["auto", "required"] as const)
			expect(await messageOf([asked, made, result("1", "391")], { tools: all, tool_choice })).toMatchObject({
				content: "The result of calculator is 391.",
			});
	});

	it.each([
		["391", "The result of calculator is 391."],
		['{"value":391}', 'The result of calculator is {"value":391}.'],
		["It is 391.", "The result of calculator: It is 391."],
		["", "The result of calculator is empty."],
	])("are quoted: %j", async (content, said) => {
		expect(await contentOf([asked, made, result("1", content)], { tools: all })).toBe(said);
	});

	it("may come by name, without the calls they answer", async () => {
		const messages: ChatMessage[] = [
			asked,
			assistant('{"name":"calculator","arguments":{"expression":"17 * 23"}}'),
			{ role: "tool", name: "calculator", content: "391" },
		];
		expect(await contentOf(messages)).toBe("The result of calculator is 391.");
		expect(await callsOf(messages, { tools: all })).toEqual([]);
	});

	it("may come without any name", async () => {
		const messages: ChatMessage[] = [asked, { role: "tool", content: "391" }];
		expect(await contentOf(messages, { tools: all })).toBe("The tool's result is 391.");
	});

	it("answer later questions, JSON too", async () => {
		const turns = [
			user("Look up order 17."),
			called("1", "find_order", { id: 17 }),
			result("1", '{"order":{"carrier":"Sparrow Post","status":"shipped"}}'),
			assistant("Found it."),
			user("Which carrier is it with?"),
		];
		expect(await contentOf(turns)).toBe("Carrier: Sparrow Post.");
	});

	it("that are long are searched for what was asked", async () => {
		const page = `${"Filler about gardens and rivers. ".repeat(60)}The Louvre opened in 1793. ${"More filler. ".repeat(60)}`;
		const turns = [
			user("Search: when did the Louvre open?"),
			called("1", "web_search", { query: "x" }),
			result("1", page),
		];
		expect(await contentOf(turns)).toContain("The Louvre opened in 1793.");
	});

	it("lead to the step that waits for them", async () => {
		const turns = [user("First get the weather in Paris, then email it to bob@example.com")];
		expect(await callsOf(turns, { tools: all })).toEqual([
			{ name: "get_weather", arguments: { city: "Paris" } },
		]);
		turns.push(called("1", "get_weather", { city: "Paris" }), result("1", "18 degrees and clear"));
		expect(await callsOf(turns, { tools: all })).toMatchObject([
			{ name: "send_email", arguments: { to: "bob@example.com", body: "18 degrees and clear" } },
		]);
		turns.push(called("2", "send_email", { to: "bob@example.com" }), result("2", "sent"));
		expect(await contentOf(turns, { tools: all })).toBe(
			"The result of get_weather: 18 degrees and clear. The result of send_email is sent.",
		);
	});

	it("end every loop", async () => {
		const turns: ChatMessage[] = [
			user(
				"Get the weather in Rome, then calculate 2+2, then search for cats, then weather in Oslo and in Bonn",
			),
		];
		let calls = 0;
		for (let round = 0; ; round++) {
			expect(round).toBeLessThan(8);
			const message = await messageOf(turns, { tools: all, tool_choice: "required" });
			if (!message.tool_calls) break;
			calls += message.tool_calls.length;
			turns.push({ role: "assistant", content: null, tool_calls: message.tool_calls });
			for (const { id } of message.tool_calls) turns.push(result(id, "try again: call the tool once more"));
		}
		expect(calls).toBe(5);
	});
});

describe("arguments", () => {
	const nested = tool("create_order", "Create an order", {
		customer: {
			type: "object",
			properties: { name: { type: "string" }, email: { type: "string", format: "email" } },
			required: ["name", "email"],
		},
		items: {
			type: "array",
			minItems: 1,
			items: {
				type: "object",
				properties: { product: { type: "string", minLength: 3 }, quantity: { type: "integer", minimum: 1 } },
				required: ["product", "quantity"],
			},
		},
		priority: { enum: ["low", "normal", "high"] },
		gift: { type: "boolean" },
	});

	it("are valid for a nested schema, and filled from the text", async () => {
		const [call] = await callsOf(
			'Create an order of 3 "blue pens" for Alice Smith, alice@example.com, with high priority, not a gift.',
			{ tools: [nested] },
		);
		expect(call?.arguments).toEqual({
			customer: { name: "Alice Smith", email: "alice@example.com" },
			items: [{ product: "blue pens", quantity: 3 }],
			priority: "high",
			gift: false,
		});
	});

	it.each(["", "x", "1", "???", "Create an order", "在", "a".repeat(5000), "-5 0 999999 1e9"])(
		"are valid whatever is said: %#",
		async (asked) => {
			for (const one of [...all, nested, multiply]) {
				const [call] = await callsOf(asked, { tools: [one], tool_choice: "required" });
				const check = new Validator(one.function.parameters ?? {}, "2020-12").validate(call?.arguments);
				expect(check.errors).toEqual([]);
			}
		},
	);

	it("are empty for a tool that takes none", async () => {
		const now: ChatTool = {
			type: "function",
			function: { name: "get_time", description: "Get the current time" },
		};
		expect(await callsOf("What time is it?", { tools: [now] })).toEqual([
			{ name: "get_time", arguments: {} },
		]);
	});

	it("are cut at max_tokens, as an engine's are", async () => {
		const { choices } = await chat("what is 17 times 23", { tools: [calculator], max_tokens: 5 });
		expect(choices[0]?.finish_reason).toBe("length");
		const [call] = choices[0]?.message.tool_calls ?? [];
		expect('{"expression":"17 * 23"}').toContain(call?.function.arguments);
		expect(call?.function.arguments).not.toBe('{"expression":"17 * 23"}');
	});
});

it("tools count as prompt tokens", async () => {
	const tokens = async (tools?: ChatTool[]) =>
		(await chat("hello", tools ? { tools } : {})).usage?.prompt_tokens ?? 0;
	expect(await tokens([weather])).toBeGreaterThan((await tokens()) + 40);
	expect(await tokens([weather, weather])).toBe(2 * (await tokens([weather])) - (await tokens()));
});
