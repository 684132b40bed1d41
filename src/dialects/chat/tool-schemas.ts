/**
 * The tools that a model's schema declares, and the calls in a conversation, for `models/schema`. They describe, and refuse nothing: the product's
 * validator does not fail on an unmet alternative below the root of the inputs (github.com/cloudflare/cabidela,
 * `parseSubSchema`), and tools are alternatives. `readTools` refuses what no engine takes (8001), as the product does.
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

/** Of models whose own form is `{response}`: flat, or nested as OpenAI has them. */
export const NativeTool = z.unknown().meta({
	type: "object",
	oneOf: [nativeFunction, object({ type: text, function: nativeFunction }, ["type", "function"])],
});

/** Of models whose own form is OpenAI's. */
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

/** A call in an assistant's message: as OpenAI has it, or flat. `tool-turns.ts` refuses any other (8001). */
export const SentToolCall = z.unknown().meta({
	type: "object",
	anyOf: [
		object({ id: text, type: { type: "string", enum: ["function"] }, function: calledFunction }, [
			"function",
		]),
		calledFunction,
	],
});
