/**
 * What the native chat models take: `{prompt}` or `{messages}` beside sampling. Ranges differ by the age of a model's
 * schema, defaults by model; a shape says which of the fields below it has.
 *
 * Known differences: the batch form (`requests`) is not read here; `tool_choice` is taken wherever tools are, though no
 * native schema names it, because the product's clients send it; the product wants nine letters and digits in an id of
 * a call, which those that some engines make do not have.
 */
import * as z from "zod";
import type { Model } from "../../models/model.ts";
import { lean } from "../../schemas/lean.ts";
import { defaulted, fieldsOf } from "../fields.ts";
import { ByteArray, type SentBytes } from "../media/media.ts";
import { AnyPart, type SentMessage, toolFields } from "./messages.ts";

/** Characters of one text in the schemas of models that ended in 2025. */
const LEGACY_TEXT_CHARACTERS = 131_072;
const LARGEST_SEED = 9_999_999_999;

export interface NativeShape {
	/** `parts`: text parts beside strings; `media`: any parts, images among them, and every field may be absent. */
	content: "text" | "parts" | "media";
	ranges: "current" | "older";
	responseFormat?: boolean;
	guidedJson?: boolean;
	image?: boolean;
}

/** What the schemas give, any of them. */
export interface NativeInputs {
	prompt?: string;
	messages?: SentMessage[];
	lora?: string | undefined;
	raw?: boolean | undefined;
	stream?: boolean | undefined;
	max_tokens?: number | undefined;
	temperature?: number | undefined;
	top_p?: number | undefined;
	top_k?: number | undefined;
	seed?: number | undefined;
	repetition_penalty?: number | undefined;
	frequency_penalty?: number | undefined;
	presence_penalty?: number | undefined;
	response_format?: { type: "json_object" | "json_schema"; json_schema?: unknown } | undefined;
	guided_json?: Record<string, unknown> | undefined;
	image?: string | SentBytes | undefined;
	tools?: unknown[] | undefined;
	tool_choice?: unknown;
}

export function nativeSchema(model: Model, shape: NativeShape): z.ZodType<NativeInputs> {
	const common = { ...samplingFields(model, shape.ranges), ...extraFields(model, shape) };
	const text = z.string().min(1);
	const prompt = shape.content === "text" ? text.max(LEGACY_TEXT_CHARACTERS) : text;
	return z.xor([
		lean(z.object({ prompt, ...common })),
		lean(z.object({ messages: z.array(MESSAGES[shape.content]), ...common, ...toolInputs(model) })),
	]);
}

const MESSAGES = {
	text: z.object({ role: z.string(), content: z.string().max(LEGACY_TEXT_CHARACTERS), ...toolFields }),
	parts: z.object({
		role: z.string(),
		content: z.union([z.string(), z.array(z.object({ type: z.string(), text: z.string() }))]),
		...toolFields,
	}),
	media: z.object({
		role: z.string().optional(),
		content: z.union([z.string(), AnyPart, z.array(AnyPart)]).optional(),
		...toolFields,
	}),
};

function samplingFields(model: Model, ranges: NativeShape["ranges"]) {
	const topP = ranges === "current" ? z.number().min(0.001).max(1) : z.number().min(0).max(2);
	const penalty = z
		.number()
		.min(ranges === "current" ? -2 : 0)
		.max(2);
	return fieldsOf(model, {
		stream: defaulted(model, "stream", z.boolean()),
		max_tokens: defaulted(model, "max_tokens", z.int()),
		temperature: defaulted(model, "temperature", z.number().min(0).max(5)),
		top_p: defaulted(model, "top_p", topP),
		top_k: defaulted(model, "top_k", z.int().min(1).max(50)),
		seed: defaulted(model, "seed", z.int().min(1).max(LARGEST_SEED)),
		repetition_penalty: defaulted(model, "repetition_penalty", z.number().min(0).max(2)),
		frequency_penalty: defaulted(model, "frequency_penalty", penalty),
		presence_penalty: defaulted(model, "presence_penalty", penalty),
	});
}

function extraFields(model: Model, { responseFormat, guidedJson, image }: NativeShape) {
	const fields = fieldsOf(
		model,
		{
			raw: defaulted(model, "raw", z.boolean()),
			response_format: z.object({
				type: z.enum(["json_object", "json_schema"]),
				json_schema: z.unknown().optional(),
			}),
			guided_json: z.record(z.string(), z.unknown()),
			image: z.union([z.string(), ByteArray]),
		},
		{
			without: [
				...(responseFormat ? [] : (["response_format"] as const)),
				...(guidedJson ? [] : (["guided_json"] as const)),
				...(image ? [] : (["image"] as const)),
			],
		},
	);
	// Whatever the model's schema says of it: who asks for an adapter must not get an answer without one.
	return { ...fields, lora: z.string().optional() };
}

/** `functions` belongs to an experiment of the product that runs code beside the model: taken, and not used. */
const toolInputs = (model: Model) =>
	fieldsOf(
		model,
		{ tools: z.array(z.unknown()), functions: z.array(z.unknown()), tool_choice: z.unknown() },
		{ with: [["tool_choice", "tools"]] },
	);
