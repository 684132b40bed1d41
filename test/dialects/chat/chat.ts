/** Helpers of the chat dialect tests: models, reading and writing as in the pipeline, hub streams. */
import fc from "fast-check";
import type { Usage } from "../../../src/core/usage.ts";
import type { Dialect, Rendered, WriteContext } from "../../../src/dialects/dialect.ts";
import { nativeDialect } from "../../../src/dialects/native.ts";
import { validate } from "../../../src/dialects/validation/validation.ts";
import { PRODUCT_MODELS } from "../../../src/models/catalog.ts";
import type { Model } from "../../../src/models/model.ts";
import { DONE, frame } from "../../../src/streams/sse.ts";
import type { Answer } from "../../../src/tasks/task.ts";
import type { ChatCompletion, ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { streamAnswer } from "../read-write.ts";

export const NOW = 1_776_784_307_643;

export function chatModel(name: string): Model {
	const found = PRODUCT_MODELS.find(({ id }) => id.endsWith(`/${name}`));
	if (!found) throw new Error(`No model ${name} in the catalogue`);
	return found;
}

export const LLAMA = chatModel("llama-3.1-8b-instruct-fp8");
export const LLAMA_70B = chatModel("llama-3.3-70b-instruct-fp8-fast");
export const SCOUT = chatModel("llama-4-scout-17b-16e-instruct");
export const VISION = chatModel("llama-3.2-11b-vision-instruct");
export const MISTRAL = chatModel("mistral-small-3.1-24b-instruct");
export const R1 = chatModel("deepseek-r1-distill-qwen-32b");
export const GUARD = chatModel("llama-guard-3-8b");
export const LEGACY = chatModel("llama-3.1-8b-instruct-fast");
export const LORA = chatModel("gemma-2b-it-lora");
export const QWEN = chatModel("qwen3-30b-a3b-fp8");
export const KIMI = chatModel("kimi-k2.6");
export const KIMI_CODE = chatModel("kimi-k2.7-code");

/** Reads the caller's inputs with a dialect's schema and reader. */
export function read(
	model: Model,
	sent: unknown,
	dialect: Dialect = nativeDialect(model),
	strict = false,
): { inputs: unknown; input: ChatInput } {
	const inputs = validate(dialect.reader.schema(model, strict), sent);
	const call = dialect.reader.read(inputs as never, model, strict);
	if (call.task !== "text-generation") throw new Error(`A chat became ${call.task}`);
	return { inputs, input: call.input };
}

/** Writes an engine's answer to `sent`. */
export function write(
	model: Model,
	sent: unknown,
	answer: Answer<"text-generation">,
	dialect: Dialect = nativeDialect(model),
): Rendered {
	const { inputs, input } = read(model, sent, dialect);
	let ids = 0;
	const context: WriteContext = {
		model,
		inputs,
		call: { task: "text-generation", input },
		now: NOW,
		withCost: (usage) => usage,
		requestId: "request",
		uuid: () => `00000000-0000-4000-8000-${String(++ids).padStart(12, "0")}`,
	};
	return dialect.writer.write({ task: "text-generation", answer }, context);
}

export function writtenJson(...args: Parameters<typeof write>): unknown {
	const rendered = write(...args);
	if (rendered.kind !== "json") throw new Error(`${rendered.kind} instead of JSON`);
	return rendered.value;
}

/** The text of the events that are written for a hub stream or a completion. */
export async function writtenEvents(
	model: Model,
	sent: object,
	events: ReadableStream<Uint8Array> | ChatCompletion,
	dialect?: Dialect,
): Promise<string> {
	const answer: Answer<"text-generation"> =
		events instanceof ReadableStream ? streamAnswer(events) : { kind: "value", output: events };
	const rendered = write(model, { ...sent, stream: true }, answer, dialect ?? nativeDialect(model));
	if (rendered.kind !== "events") throw new Error(`${rendered.kind} instead of events`);
	return new Response(rendered.events).text();
}

export const USAGE: Usage = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 };

export const completion = (
	message: Partial<ChatCompletion["choices"][number]["message"]>,
	overrides: Partial<ChatCompletion> = {},
): ChatCompletion => ({
	id: "chatcmpl-1",
	object: "chat.completion",
	created: 1_776_784_300,
	model: "engine-model",
	choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason: "stop" }],
	usage: USAGE,
	...overrides,
});

export const toolCall = (name: string, args: string, id = "call_1") => ({
	id,
	type: "function" as const,
	function: { name, arguments: args },
});

/** A chunk with the engine's model name. */
export const chunk = (choices: object[], fields: object = {}): string =>
	frame({
		id: "chatcmpl-1",
		object: "chat.completion.chunk",
		created: 1_776_784_300,
		model: "engine-model",
		choices,
		...fields,
	});

export const delta = (content: object, fields: object = {}): string =>
	chunk([{ index: 0, delta: content, finish_reason: null }], fields);
export const finish = (reason = "stop"): string => chunk([{ index: 0, delta: {}, finish_reason: reason }]);
export const usageChunk = (usage: Usage = USAGE): string => chunk([], { usage });

/** A complete hub stream: the role, the deltas, the end, the usage. */
export const hubText = (...deltas: object[]): string =>
	[
		delta({ role: "assistant", content: "" }),
		...deltas.map((content) => delta(content)),
		finish(),
		usageChunk(),
		DONE,
	].join("");

const encoder = new TextEncoder();

/** Bytes of `text`, split at `cuts`, which are fractions of their length. */
export function split(text: string, cuts: readonly number[] = []): ReadableStream<Uint8Array> {
	const bytes = encoder.encode(text);
	const offsets = [...new Set(cuts.map((cut) => Math.floor(cut * bytes.length)))].sort((a, b) => a - b);
	let from = 0;
	return new ReadableStream({
		pull(controller) {
			const to = offsets.shift() ?? bytes.length;
			if (to > from) controller.enqueue(bytes.slice(from, to));
			from = to;
			if (to >= bytes.length) controller.close();
		},
	});
}

export const hub = (...deltas: object[]): ReadableStream<Uint8Array> => split(hubText(...deltas));

/** A stream that sends `text` and then fails. */
export function failing(text: string, error: unknown): ReadableStream<Uint8Array> {
	let isSent = false;
	return new ReadableStream({
		pull(controller) {
			if (isSent) return controller.error(error);
			isSent = true;
			controller.enqueue(encoder.encode(text));
		},
	});
}

/** Arbitrary fractions at which a network may split bytes. */
export const anyCuts = fc.array(
	// Most numbers of `fc.double` are close to 0.
	fc.nat(1_000).map((thousandths) => thousandths / 1_000),
	{ maxLength: 16 },
);
