/** An example of a model's input, from its schema. */
import type { JsonSchema } from "../api/types.ts";

const TEXT = "Hello, who are you?";
const QUESTION = "What is in the picture?";
const SPOKEN = "The train to Lisbon leaves at noon.";

/** The prompts of forms that have one of these fields: their task is not a chat. */
const PROMPTS: readonly (readonly [prompt: string, fields: readonly string[]])[] = [
	["A lighthouse in the fog", ["height", "width", "steps", "num_steps", "guidance", "negative_prompt"]],
	[SPOKEN, ["lang", "speaker", "voice"]],
	[QUESTION, ["image"]],
];

/** By the name of the field, and its type if fields of this name differ. */
const EXAMPLES: Readonly<Record<string, unknown>> = {
	prompt: TEXT,
	messages: [{ role: "user", content: TEXT }],
	text: SPOKEN,
	texts: [SPOKEN],
	question: QUESTION,
	query: "When does the train leave?",
	queries: ["When does the train leave?"],
	contexts: [{ text: "The train to Lisbon leaves at noon." }, { text: "The ferry is blue." }],
	source_lang: "en",
	target_lang: "fr",
	target_language: "hin_Deva",
	encoding: "linear16",
	sample_rate: "16000",
	state: "The printer on the third floor does not answer, and the meeting begins in ten minutes.",
	questions: { urgent: { type: "noul", instructions: "Is the matter urgent?" } },
};

/** Texts of different similarity, for a field that takes several. */
const TEXTS = [
	"The train to Lisbon leaves at noon.",
	"At twelve, a train departs for Lisbon.",
	"The ferry is blue.",
];

/** The example for a field of a form. */
export function exampleField(name: string, properties: JsonSchema["properties"] = {}): unknown {
	const schema = properties[name] ?? {};
	if (name === "text" && schema.anyOf?.some(({ type }) => type === "array")) return TEXTS;
	const prompt =
		name === "prompt" && PROMPTS.find(([, fields]) => fields.some((field) => field in properties))?.[0];
	return prompt || (EXAMPLES[name] ?? exampleOf(schema));
}

/** The input's forms that are JSON. A schema without alternatives is its only form. */
export function formsOf(schema: JsonSchema): JsonSchema[] {
	const branches = schema.oneOf ?? schema.anyOf;
	return branches ? branches.flatMap(formsOf) : schema.properties ? [schema] : [];
}

/** Some models have it as a field. */
export const shortName = (model: string): string => model.split("/").at(-1) ?? model;

/** The model takes samples over a websocket. */
export const isLive = (schema: JsonSchema): boolean =>
	formsOf(schema).some(({ required }) => required?.includes("sample_rate"));

/** In a form without required fields, these are the example. */
const SUGGESTED = ["text", "question"];
/** Required fields that contain a file, of which there is no example. */
const FILES: ReadonlySet<string> = new Set(["audio", "image", "multipart"]);

/** Whether the example is a complete request, not one that lacks a file or a websocket. */
export const isComplete = (schema: JsonSchema): boolean =>
	!isLive(schema) && !Object.keys(exampleInput(schema, "")).some((name) => FILES.has(name));

/** The required fields of the preferred form. A form with messages is the one for chat. */
export function exampleInput(schema: JsonSchema, model: string): Record<string, unknown> {
	const forms = formsOf(schema);
	const form =
		forms.find(({ properties }) => properties?.messages) ?? forms.find((each) => each.required) ?? forms[0];
	const names = form?.required ?? SUGGESTED.filter((name) => form?.properties?.[name]);
	return Object.fromEntries(
		names.map((name) => [name, name === "model" ? shortName(model) : exampleField(name, form?.properties)]),
	);
}

function exampleOf(schema: JsonSchema = {}): unknown {
	if (schema.default !== undefined) return schema.default;
	if (schema.enum) return schema.enum[0];
	const [branch] = schema.anyOf ?? schema.oneOf ?? [];
	if (branch) return exampleOf(branch);
	switch ([schema.type].flat()[0]) {
		case "array":
			return [];
		case "object":
			return Object.fromEntries(
				(schema.required ?? []).map((name) => [name, exampleOf(schema.properties?.[name])]),
			);
		case "integer":
		case "number":
			return schema.minimum ?? 0;
		case "boolean":
			return false;
		default:
			return "";
	}
}
