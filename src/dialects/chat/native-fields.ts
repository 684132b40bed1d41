/**
 * The inputs of native chat models: `{prompt}` or `{messages}` with sampling fields. Ranges depend on the age of the
 * model's schema, defaults on the model. A family (`NativeChat`) lists which of these fields it has.
 *
 * A strict route refuses `null` if the model's schema has no `null`. On a lenient route `null` means "not set", and an
 * assistant's message may omit its content.
 *
 * Known differences: the batch form (`requests`) is not read here; every model with `tools` also accepts `tool_choice`. No
 * native schema has it, but the product's clients send it.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import type { NativeChat } from "../../models/families.ts";
import type { Model } from "../../models/model.ts";
import { defaulted, fieldsOf, nullAsAbsent } from "../fields.ts";
import { ByteArray } from "../media/media.ts";
import { AnyPart, type SentMessage, sealFields, toolFields } from "./messages.ts";
import { NativeTool } from "./tool-schemas.ts";

/** The schemas of models that ended in 2025 limit each text to this length. */
const LEGACY_TEXT_CHARACTERS = 131_072;
const MAX_SEED = 9_999_999_999;

/** The parsed inputs of all native schemas. */
export type NativeInputs = z.output<
	z.ZodObject<
		ReturnType<typeof samplingFields> & ReturnType<typeof extraFields> & ReturnType<typeof toolInputs>
	>
> & { prompt?: string; messages?: SentMessage[] };

export function nativeSchema(model: Model, shape: NativeChat, strict: boolean): z.ZodType<NativeInputs> {
	const common = { ...samplingFields(model, shape.ranges), ...extraFields(model, shape, strict) };
	const text = z.string().min(1);
	const prompt = shape.content === "text" ? text.max(LEGACY_TEXT_CHARACTERS) : text;
	const messages = z.array(z.object(nativeMessageFields(shape, strict)));
	const byPrompt = z.object({ prompt, ...common });
	const byMessages = z.object({ messages, ...common, ...toolInputs(model, strict) });
	return strict ? z.xor([byPrompt, byMessages]) : z.xor([nullAsAbsent(byPrompt), nullAsAbsent(byMessages)]);
}

/** The fields of a model's own schema that a strict `/ai/v1/chat/completions` uses. */
export const nativeChatFields = (model: Model, shape: NativeChat) => ({
	...samplingFields(model, shape.ranges),
	...toolInputs(model, true),
	...(shape.responseFormat && { response_format: NativeFormat().optional() }),
});

const CONTENT = lazy(() => ({
	text: z.string().max(LEGACY_TEXT_CHARACTERS),
	parts: z.union([z.string(), z.array(z.object({ type: z.string(), text: z.string() }))]),
	media: z.union([z.string(), AnyPart, z.array(AnyPart)]),
}));

/** Mistral's templates require nine letters and digits. The product's pattern matches them anywhere in the id. */
const ToolCallId = lazy(() => z.string().regex(/[a-zA-Z0-9]{9}/));

/**
 * Schemas with media require no field of a message, so content of any kind passes the product's validator: an unmet
 * alternative below the root counts as absent (github.com/cloudflare/cabidela).
 */
export function nativeMessageFields({ content }: NativeChat, strict: boolean) {
	const schema = CONTENT()[content];
	const isRequired = strict && content !== "media";
	const role = z.string();
	return {
		...toolFields,
		// The product has no such fields.
		...((strict ? {} : sealFields) as typeof sealFields),
		...(strict && content === "media" && { tool_call_id: ToolCallId().optional() }),
		role: content === "media" ? role.optional() : role,
		content: isRequired ? schema : schema.nullish(),
	};
}

function samplingFields(model: Model, ranges: NativeChat["ranges"]) {
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
		seed: defaulted(model, "seed", z.int().min(1).max(MAX_SEED)),
		repetition_penalty: defaulted(model, "repetition_penalty", z.number().min(0).max(2)),
		frequency_penalty: defaulted(model, "frequency_penalty", penalty),
		presence_penalty: defaulted(model, "presence_penalty", penalty),
	});
}

const NativeFormat = lazy(() =>
	z.object({
		type: z.enum(["json_object", "json_schema"]),
		json_schema: z.unknown().optional(),
	}),
);
/** llama.cpp accepts a schema with `json_object`. The product ignores it. */
const LenientNativeFormat = lazy(() => NativeFormat().extend({ schema: z.looseObject({}).nullish() }));

function extraFields(model: Model, { responseFormat, guidedJson, image }: NativeChat, strict: boolean) {
	const fields = fieldsOf(
		model,
		{
			raw: defaulted(model, "raw", z.boolean()),
			response_format: strict ? NativeFormat() : LenientNativeFormat(),
			guided_json: z.record(z.string(), z.unknown()),
			image: z.union([z.string(), ByteArray]),
		},
		{
			without: [
				// Some models' schemas lack it, but their engines accept it.
				...(responseFormat || !strict ? [] : (["response_format"] as const)),
				...(guidedJson ? [] : (["guided_json"] as const)),
				...(image ? [] : (["image"] as const)),
			],
		},
	);
	// Always declared, so that a request with an adapter is never answered without it (`checkLora`).
	return { ...fields, lora: z.string().optional() };
}

/** `functions` belongs to an experiment of the product that runs code with the model: accepted and ignored. */
const EmbeddedFunction = lazy(() => z.object({ name: z.string(), code: z.string() }));

const toolInputs = (model: Model, strict: boolean) =>
	fieldsOf(
		model,
		{
			tools: z.array(NativeTool),
			functions: z.array(strict ? EmbeddedFunction() : z.unknown()),
			tool_choice: z.unknown(),
		},
		{ with: [["tool_choice", "tools"]] },
	);
