/**
 * The texts of a request that its engine reads, for a guard model: what data-loss prevention searches (`src/gateways/scanning`), without
 * what a language model reads twice or not at all: the names and short values of the protocol's fields, encoded media, texts that are
 * joined, headers.
 */
import { isRecord, parseJson } from "../../core/json.ts";
import type { GatewayStep } from "../request.ts";
import { type CollectedText, TextCollector } from "./text-collector.ts";

interface JudgedTexts {
	text: string;
	/** The engine may read a part that the guard model cannot read. */
	isUnreadable: boolean;
}

/** Fields whose values are ids and enumerations. */
const ENUMERATIONS = [
	"call_id",
	"detail",
	"encoding_format",
	"event_id",
	"finish_reason",
	"format",
	"id",
	"item_id",
	"media_type",
	"mimeType",
	"mime_type",
	"model",
	"object",
	"object_id",
	"reasoning_effort",
	"role",
	"service_tier",
	"signature",
	"status",
	"stop_reason",
	"tool_call_id",
	"tool_choice",
	"tool_use_id",
	"type",
] as const;
const ENUMERATION_FIELDS: ReadonlySet<string> = new Set(ENUMERATIONS);
/** Names of the protocols' fields. Any other name may be a text, such as that of a tool's argument. */
const PROTOCOL_NAMES: ReadonlySet<string> = new Set([
	...ENUMERATIONS,
	..."arguments audio cache_control content contents contexts data data_format description effort enum file file_data".split(
		" ",
	),
	..."frequency_penalty function functionDeclarations functions generationConfig guided_json image image_url include".split(
		" ",
	),
	..."include_usage inlineData input input_audio input_schema instructions json_schema logprobs lora mask".split(
		" ",
	),
	..."max_completion_tokens max_output_tokens maxOutputTokens max_tokens messages metadata n name options".split(
		" ",
	),
	..."parallel_tool_calls parameters parts presence_penalty previous_response_id prompt properties query raw reasoning".split(
		" ",
	),
	..."repetition_penalty required response_format safe_prompt schema seed source stop store stream stream_options".split(
		" ",
	),
	..."strict summary system systemInstruction system_instruction temperature text thinking tool_calls tools topK topP".split(
		" ",
	),
	..."top_k top_logprobs top_p url usage user video voice".split(" "),
]);
/** Of the formats of OpenAI, vLLM and SGLang. */
const PROMPT_FIELDS = ["prompt", "input", "inputs", "prompt_token_ids", "input_ids"] as const;
const IDENTIFIER = /^[\w.:/@+=-]{1,200}$/;
/** Words and ids decode as base64 to bytes that are no text. */
const UNPRINTABLE = /[^\P{Cc}\t\n\r]|\ufffd/gu;
const MAX_UNPRINTABLE_SHARE = 0.05;
const MIN_DECODED_CHARACTERS = 8;
/** Characters of Unicode that repeat ASCII and have no shape. Models read them. */
const TAG = /[\u{e0020}-\u{e007e}]/u;
const TAGS = /[\u{e0020}-\u{e007e}]/gu;
const TAG_OFFSET = 0xe0000;
/** A string of JSON, and the colon after a name. */
const JSON_STRING = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

export async function judgedTexts({ body, passed }: GatewayStep): Promise<JudgedTexts> {
	const texts = new Set<string>();
	const found = new TextCollector((collected) => {
		if (!isJudged(collected)) return;
		const { text, plain } = collected;
		texts.add(plain);
		if (TAG.test(text)) texts.add(withoutTags(text));
	});
	const { content, contentType, parameters } = body;
	found.value(parameters);
	if ("json" in content) found.value(content.json);
	else await found.body(content.bytes, contentType);
	if (typeof passed?.body === "string") {
		// The provider may read the first of two equal names, and the parser has the last one.
		if (hasRepeatedNames(passed.body)) found.text(passed.body);
	} else if (passed?.body && "json" in content) found.bytes(passed.body, contentType);
	return {
		text: [...texts].join("\n"),
		isUnreadable: found.isUnreadable || ("json" in content && hasTokenIds(content.json)),
	};
}

function isJudged({ text, form, field }: CollectedText): boolean {
	if (form === "base64" || form === "joined") return false;
	if (form === "name") return !PROTOCOL_NAMES.has(text);
	if (form === "number") return !PROTOCOL_NAMES.has(field);
	if (form === "decoded" && !isText(text)) return false;
	return !(ENUMERATION_FIELDS.has(field) && IDENTIFIER.test(text));
}

const isText = (text: string): boolean =>
	text.length >= MIN_DECODED_CHARACTERS &&
	(text.match(UNPRINTABLE)?.length ?? 0) <= text.length * MAX_UNPRINTABLE_SHARE;

const withoutTags = (text: string): string =>
	text.replace(TAGS, (tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - TAG_OFFSET));

function hasRepeatedNames(text: string): boolean {
	let names = 0;
	for (const [, colon] of text.matchAll(JSON_STRING)) if (colon !== undefined) names++;
	return names !== nameCount(parseJson(text));
}

function nameCount(value: unknown): number {
	if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + nameCount(item), 0);
	if (!isRecord(value)) return 0;
	return Object.values(value).reduce<number>((sum, item) => sum + nameCount(item) + 1, 0);
}

/**
 * Whether the prompt consists of numbers of a tokenizer's words, which only the engine can read. `json`: the body of a request, or of one
 * with several in `requests`.
 */
function hasTokenIds(json: unknown): boolean {
	if (!isRecord(json)) return false;
	const { requests } = json;
	return (
		PROMPT_FIELDS.some((field) => isTokenIds(json[field])) ||
		(Array.isArray(requests) && requests.some(hasTokenIds))
	);
}

const isTokenIds = (value: unknown): boolean =>
	Array.isArray(value) &&
	value.length > 0 &&
	value.every((item) => Number.isInteger(item) || isTokenIds(item));
