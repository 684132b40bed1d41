/** A caller's regular expressions and repetitions must not block the Worker. Without a guard, each of these takes minutes. */
import { expect, it } from "vitest";
import { completion, ENGINE_VARS, testGateway, upstream } from "../gateway.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const schema = (json_schema: object) => ({ response_format: { type: "json_schema", json_schema } });
const OVERLAPPING = { type: "string", pattern: "^a*a*a*a*a*$", default: `${"a".repeat(400)}!` };
/** The part at the end is optional, so each text has a match, but one attempt takes exponential time. */
const OPTIONAL_END = { type: "string", pattern: "^x(?:(?:a+)+b)*", default: `x${"a".repeat(60)}` };
const NESTED_KEY = { type: "object", patternProperties: { "^(a+)+$": {} }, required: [`${"a".repeat(40)}!`] };

it.each([
	[
		"counts that overlap",
		{ prompt: "Hi", ...schema({ type: "object", properties: { a: OVERLAPPING }, required: ["a"] }) },
	],
	[
		"counts in an optional end",
		{ prompt: "Hi", ...schema({ type: "object", properties: { a: OPTIONAL_END }, required: ["a"] }) },
	],
	["counts in the names of properties", { prompt: "Hi", ...schema(NESTED_KEY) }],
	[
		"line breaks where keys are listed",
		{ prompt: `keys${"\n".repeat(4000)}.`, response_format: { type: "json_object" } },
	],
	[
		"tabs",
		{ prompt: "\t".repeat(64_000), ...schema({ type: "object", properties: { a: { type: "string" } } }) },
	],
	["spaces after a number", { prompt: `what is 1${" ".repeat(64_000)}` }],
])("answers a request with %s", async (_, inputs) => {
	const response = await testGateway().post(`/run/${LLAMA}`, inputs);
	expect([200, 400]).toContain(response.status);
	await response.arrayBuffer();
});

it.each([
	["^(a+)+$", `${"a".repeat(40)}!`],
	[OPTIONAL_END.pattern, `x${"a".repeat(60)}`],
])("does not run a caller's costly expression on an engine's reply: %s", async (pattern, text) => {
	const { fetch } = upstream(() => Response.json(completion(JSON.stringify({ a: text }))));
	const { post } = testGateway({ vars: ENGINE_VARS, fetch });
	const costly = { type: "object", properties: { a: { type: "string", pattern } } };
	const response = await post(`/run/${LLAMA}`, { prompt: "Hi", ...schema(costly) });
	expect([200, 400]).toContain(response.status);
});
