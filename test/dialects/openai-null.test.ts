/** Clients in many languages send `null` for unset fields. On OpenAI's routes `null` means absent. */
import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { openaiCompletions } from "../../src/dialects/chat/completions.ts";
import { openaiChat } from "../../src/dialects/chat/openai-route.ts";
import type { Dialect } from "../../src/dialects/dialect.ts";
import { MultipartForm } from "../../src/dialects/media/multipart.ts";
import { openaiImages } from "../../src/dialects/media/openai-images.ts";
import { openaiSpeech } from "../../src/dialects/media/openai-speech.ts";
import { openaiTranscription } from "../../src/dialects/media/openai-transcription.ts";
import { responses } from "../../src/dialects/responses/responses.ts";
import { openaiEmbeddings } from "../../src/dialects/text/openai-embeddings.ts";
import type { Model } from "../../src/models/model.ts";
import { productModel, read, refusal } from "./read-write.ts";
import { wav } from "./samples.ts";

/** Every optional field of a request, from the SDK's types. */
type Optional<Params, Required extends keyof Params> = Record<keyof Omit<Params, Required>, null>;

const chat = {
	audio: null,
	frequency_penalty: null,
	function_call: null,
	functions: null,
	logit_bias: null,
	logprobs: null,
	max_completion_tokens: null,
	max_tokens: null,
	metadata: null,
	modalities: null,
	moderation: null,
	n: null,
	parallel_tool_calls: null,
	prediction: null,
	presence_penalty: null,
	prompt_cache_key: null,
	prompt_cache_options: null,
	prompt_cache_retention: null,
	response_format: null,
	safety_identifier: null,
	seed: null,
	service_tier: null,
	stop: null,
	store: null,
	stream: null,
	stream_options: null,
	temperature: null,
	tool_choice: null,
	tools: null,
	top_logprobs: null,
	top_p: null,
	user: null,
	verbosity: null,
	web_search_options: null,
} satisfies Optional<
	OpenAI.ChatCompletionCreateParamsNonStreaming,
	"messages" | "model" | "reasoning_effort"
>;

const completions = {
	best_of: null,
	echo: null,
	frequency_penalty: null,
	logit_bias: null,
	logprobs: null,
	max_tokens: null,
	n: null,
	presence_penalty: null,
	seed: null,
	stop: null,
	stream: null,
	stream_options: null,
	suffix: null,
	temperature: null,
	top_p: null,
	user: null,
} satisfies Optional<OpenAI.CompletionCreateParamsNonStreaming, "model" | "prompt">;

const responsesFields = {
	access_programs: null,
	background: null,
	background_options: null,
	context_management: null,
	conversation: null,
	image: null,
	include: null,
	instructions: null,
	max_output_tokens: null,
	max_tool_calls: null,
	metadata: null,
	moderation: null,
	parallel_tool_calls: null,
	previous_response_id: null,
	prompt: null,
	prompt_cache_key: null,
	prompt_cache_options: null,
	prompt_cache_retention: null,
	reasoning: null,
	safety_identifier: null,
	service_tier: null,
	store: null,
	stream: null,
	stream_options: null,
	temperature: null,
	text: null,
	tool_choice: null,
	tools: null,
	top_logprobs: null,
	top_p: null,
	truncation: null,
	user: null,
} satisfies Optional<OpenAI.Responses.ResponseCreateParamsNonStreaming, "input" | "model">;

const embeddings = {
	dimensions: null,
	encoding_format: null,
	user: null,
} satisfies Optional<OpenAI.EmbeddingCreateParams, "input" | "model">;

const images = {
	background: null,
	complexity: null,
	frame_count: null,
	frame_duration_ms: null,
	moderation: null,
	n: null,
	output_compression: null,
	output_format: null,
	partial_images: null,
	quality: null,
	response_format: null,
	safety_identifier: null,
	size: null,
	stream: null,
	style: null,
	svg: null,
	user: null,
} satisfies Optional<OpenAI.ImageGenerateParamsNonStreaming, "model" | "prompt">;

const speech = {
	instructions: null,
	response_format: null,
	speed: null,
	stream_format: null,
	voice: null,
} satisfies Optional<OpenAI.Audio.SpeechCreateParams, "input" | "model">;

const messages = [{ role: "user", content: "Hi" }];
const CHAT_MODELS = [
	"@cf/meta/llama-3.3-70b-instruct-fp8-fast",
	"@cf/meta/llama-3.1-8b-instruct-fast",
	"@cf/moonshotai/kimi-k2.6",
	"@cf/moonshotai/kimi-k2.7-code",
	"@cf/google/gemma-4-26b-a4b-it",
	"@cf/openai/gpt-oss-20b",
];

interface Row {
	dialect: Dialect;
	models: string[];
	body: object;
	fields: object;
}

const ROUTES = {
	"chat/completions": { dialect: openaiChat, models: CHAT_MODELS, body: { messages }, fields: chat },
	completions: {
		dialect: openaiCompletions,
		models: CHAT_MODELS,
		body: { prompt: "Hi" },
		fields: completions,
	},
	responses: { dialect: responses, models: CHAT_MODELS, body: { input: "Hi" }, fields: responsesFields },
	embeddings: {
		dialect: openaiEmbeddings,
		models: ["@cf/baai/bge-m3", "@cf/qwen/qwen3-embedding-0.6b"],
		body: { input: "Hi" },
		fields: embeddings,
	},
	"images/generations": {
		dialect: openaiImages,
		models: ["@cf/black-forest-labs/flux-1-schnell", "@cf/black-forest-labs/flux-2-dev"],
		body: { prompt: "a fox" },
		fields: images,
	},
	"audio/speech": {
		dialect: openaiSpeech,
		models: ["@cf/deepgram/aura-1", "@cf/myshell-ai/melotts"],
		body: { input: "Hi" },
		fields: speech,
	},
} satisfies Record<string, Row>;

/** OpenAI's optional fields, and our extensions. */
function optionalFields({ dialect, fields }: Row, model: Model): string[] {
	const schema = z.toJSONSchema(dialect.reader.schema(model), { io: "input", unrepresentable: "any" });
	const declared = Object.keys(schema.properties ?? {}).filter((name) => !schema.required?.includes(name));
	const nullHasMeaning = ["model", "reasoning_effort"];
	return [...new Set([...Object.keys(fields), ...declared])].filter((name) => !nullHasMeaning.includes(name));
}

/** The original request (`verbatim`) keeps a `null`, which its API takes. */
const withoutNulls = (value: object): unknown =>
	JSON.parse(
		JSON.stringify(value, (name, field: unknown) =>
			field === null || name === "verbatim" ? undefined : field,
		),
	);

const CASES = Object.entries(ROUTES).flatMap(([route, row]) =>
	row.models.map((id) => [route, id, row] as const),
);

describe.each(CASES)("%s of %s", (_, id, row) => {
	const model = productModel(id);
	const { reader } = row.dialect;
	const body = { model: id, ...row.body };
	const fields = optionalFields(row, model);
	const readPlain = (sent: object) => withoutNulls(read(reader, model, sent));

	it.each(fields)("reads null for %s as absent", (field) => {
		expect(readPlain({ ...body, [field]: null })).toEqual(readPlain(body));
	});

	it("reads null for all fields as absent", () => {
		const nulls = Object.fromEntries(fields.map((field) => [field, null]));
		expect(readPlain({ ...body, ...nulls })).toEqual(readPlain(body));
	});

	it.each(Object.keys(row.body))("requires %s", (field) => {
		expect(refusal(reader, model, { ...body, [field]: null })).toMatch(new RegExp(`'/${field}'`));
	});
});

it.each([
	["chat/completions", "response_format", { type: "text", json_schema: null }],
	["chat/completions", "stream_options", { include_usage: null }],
	["completions", "stream_options", { include_usage: null }],
	["responses", "text", { format: null, verbosity: null }],
	["responses", "reasoning", { effort: null, summary: null }],
] as const)("reads null inside a field as absent: %s, %s", (route, field, value) => {
	const { body, dialect } = ROUTES[route];
	const llama = productModel("@cf/meta/llama-3.3-70b-instruct-fp8-fast");
	const callOf = (fields: object) =>
		withoutNulls(read(dialect.reader, llama, { model: llama.id, ...body, ...fields }).call);
	expect(callOf({ [field]: value })).toEqual(callOf({}));
});

it("disables reasoning for a reasoning_effort of null", () => {
	const kimi = productModel("@cf/moonshotai/kimi-k2.6");
	const { call } = read(openaiChat.reader, kimi, { model: kimi.id, messages, reasoning_effort: null });
	expect(call.input).toMatchObject({ reasoning_effort: null });
});

describe("audio/transcriptions", () => {
	const whisper = productModel("@cf/openai/whisper");
	const callOf = (fields: object) => {
		const file = { name: "file", bytes: wav(), contentType: "audio/wav", filename: "a.wav" };
		const texts = Object.entries({ model: whisper.id, ...fields }).map(([name, value]) => ({ name, value }));
		const multipart = { body: new MultipartForm([file, ...texts]), contentType: "multipart/form-data" };
		return read(openaiTranscription.reader, whisper, { multipart }).call;
	};
	const optional = {
		chunking_strategy: null,
		include: null,
		keywords: null,
		known_speaker_names: null,
		known_speaker_references: null,
		language: null,
		languages: null,
		prompt: null,
		response_format: null,
		stream: null,
		temperature: null,
		timestamp_granularities: null,
	} satisfies Optional<OpenAI.Audio.TranscriptionCreateParamsNonStreaming, "file" | "model">;

	it.each([...Object.keys(optional), "timestamp_granularities[]"])("reads null for %s as absent", (field) => {
		for (const empty of ["null", ""]) expect(callOf({ [field]: empty })).toEqual(callOf({}));
	});
});
