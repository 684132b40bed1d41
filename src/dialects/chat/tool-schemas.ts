/**
 * JSON Schemas of tools and of tool calls, for `models/schema`. They validate nothing: the product's validator ignores an
 * unmet alternative below the root of the inputs (github.com/cloudflare/cabidela, `parseSubSchema`), and tools are
 * alternatives. `readTools` refuses unusable tools (8001), as the product does.
 */
import * as z from "zod";

type JsonSchema = Record<string, unknown>;

const text: JsonSchema = { type: "string" };

const object = (properties: Record<string, JsonSchema>, required: string[]): JsonSchema => ({
	type: "object",
	properties,
	required,
});

const nativeFunction = object(
	{
		name: text,
		description: text,
		parameters: object(
			{
				type: text,
				required: { type: "array", items: text },
				properties: {
					type: "object",
					additionalProperties: object({ type: text, description: text }, ["type", "description"]),
				},
			},
			["type", "properties"],
		),
	},
	["name", "description", "parameters"],
);

/** For models with native outputs: flat, or nested as in OpenAI's form. */
export const NativeTool = z.unknown().meta({
	type: "object",
	oneOf: [nativeFunction, object({ type: text, function: nativeFunction }, ["type", "function"])],
});

/** For models with OpenAI's form. */
export const OpenAiTool = z.unknown().meta(
	object(
		{
			type: { type: "string", enum: ["function"] },
			function: object(
				{
					name: text,
					description: text,
					parameters: { type: "object" },
					strict: { anyOf: [{ type: "boolean" }, { type: "null" }] },
				},
				["name"],
			),
		},
		["type", "function"],
	),
);

const calledFunction = object(
	{ name: text, arguments: { anyOf: [text, { type: "object" }], description: "JSON text, or an object" } },
	["name"],
);

/** A call in an assistant's message: OpenAI's form, or flat. `tool-call-reader.ts` refuses any other (8001). */
export const SentToolCall = z.unknown().meta({
	type: "object",
	anyOf: [
		object({ id: text, type: { type: "string", enum: ["function"] }, function: calledFunction }, [
			"function",
		]),
		calledFunction,
	],
});
