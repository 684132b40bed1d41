/** What the tests of the chat dialects share: models, a way through a dialect as the pipeline takes it, hub streams. */
import fc from "fast-check";
import type { Usage } from "../../../src/core/usage.ts";
import type { Dialect, Rendered, WriteContext } from "../../../src/dialects/dialect.ts";
import { nativeDialect } from "../../../src/dialects/index.ts";
import { validate } from "../../../src/dialects/validation/validation.ts";
import { PRODUCT_MODELS } from "../../../src/models/catalog.ts";
import type { Model } from "../../../src/models/model.ts";
import { DONE, frame } from "../../../src/streams/sse.ts";
import type { Answer } from "../../../src/tasks/task.ts";
import type { ChatCompletion, ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { streamAnswer } from "../read-write.ts";

export const NOW = 1_776_784_307_643;

export function model(name: string): Model {
	const found = PRODUCT_MODELS.find(({ id }) => id.endsWith(`/${name}`));
	if (!found) throw new Error(`No model ${name} in the catalogue`);
	return found;
}

export const LLAMA = model("llama-3.1-8b-instruct-fp8");
export const LLAMA_70B = model("llama-3.3-70b-instruct-fp8-fast");
export const SCOUT = model("llama-4-scout-17b-16e-instruct");
export const VISION = model("llama-3.2-11b-vision-instruct");
export const MISTRAL = model("mistral-small-3.1-24b-instruct");
export const R1 = model("deepseek-r1-distill-qwen-32b");
export const GUARD = model("llama-guard-3-8b");
export const LEGACY = model("llama-3.1-8b-instruct-fast");
export const LORA = model("gemma-2b-it-lora");
export const QWEN = model("qwen3-30b-a3b-fp8");
export const KIMI = model("kimi-k2.6");
export const KIMI_CODE = model("kimi-k2.7-code");

/** The caller's inputs through a dialect's schema and reader. */
export function read(
	asked: Model,
	sent: unknown,
	dialect: Dialect = nativeDialect(asked),
	strict = false,
): { inputs: unknown; input: ChatInput } {
	const inputs = validate(dialect.reader.schema(asked, strict), sent);
	const call = dialect.reader.read(inputs as never, asked, strict);
	if (call.task !== "text-generation") throw new Error(`A chat became ${call.task}`);
	return { inputs, input: call.input };
}

/** An engine's answer to `sent`, written for its caller. */
export function write(
	asked: Model,
	sent: unknown,
	answer: Answer<"text-generation">,
	dialect: Dialect = nativeDialect(asked),
): Rendered {
	const { inputs, input } = read(asked, sent, dialect);
	let ids = 0;
	const context: WriteContext = {
		model: asked,
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

/** The text of the events that a hub stream becomes; the hub stream as chunks of bytes. */
export async function writtenEvents(
	asked: Model,
	sent: object,
	events: ReadableStream<Uint8Array> | ChatCompletion,
	dialect?: Dialect,
): Promise<string> {
	const answer: Answer<"text-generation"> =
		events instanceof ReadableStream ? streamAnswer(events) : { kind: "value", output: events };
	const rendered = write(asked, { ...sent, stream: true }, answer, dialect ?? nativeDialect(asked));
	if (rendered.kind !== "events") throw new Error(`${rendered.kind} instead of events`);
	return new Response(rendered.events).text();
}

export const USAGE: Usage = { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 };

export const completion = (
	message: Partial<ChatCompletion["choices"][number]["message"]>,
	more: Partial<ChatCompletion> = {},
): ChatCompletion => ({
	id: "chatcmpl-1",
	object: "chat.completion",
	created: 1_776_784_300,
	model: "engine-model",
	choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason: "stop" }],
	usage: USAGE,
	...more,
});

export const toolCall = (name: string, args: string, id = "call_1") => ({
	id,
	type: "function" as const,
	function: { name, arguments: args },
});

/** An engine's chunk, with an engine's name of the model. */
export const chunk = (choices: object[], more: object = {}): string =>
	frame({
		id: "chatcmpl-1",
		object: "chat.completion.chunk",
		created: 1_776_784_300,
		model: "engine-model",
		choices,
		...more,
	});

export const delta = (said: object, more: object = {}): string =>
	chunk([{ index: 0, delta: said, finish_reason: null }], more);
export const finish = (reason = "stop"): string => chunk([{ index: 0, delta: {}, finish_reason: reason }]);
export const usageChunk = (usage: Usage = USAGE): string => chunk([], { usage });

/** A hub stream, whole: a role, the given deltas, the end, the usage. */
export const hubText = (...deltas: object[]): string =>
	[
		delta({ role: "assistant", content: "" }),
		...deltas.map((said) => delta(said)),
		finish(),
		usageChunk(),
		DONE,
	].join("");

const encoder = new TextEncoder();

/** Bytes of `text`, cut at the given fractions of their length. */
export function split(text: string, cuts: readonly number[] = []): ReadableStream<Uint8Array> {
	const bytes = encoder.encode(text);
	const places = [...new Set(cuts.map((cut) => Math.floor(cut * bytes.length)))].sort((a, b) => a - b);
	let from = 0;
	return new ReadableStream({
		pull(controller) {
			const to = places.shift() ?? bytes.length;
			if (to > from) controller.enqueue(bytes.slice(from, to));
			from = to;
			if (to >= bytes.length) controller.close();
		},
	});
}

export const hub = (...deltas: object[]): ReadableStream<Uint8Array> => split(hubText(...deltas));

/** A stream that gives `text` and then fails. */
export function failing(text: string, error: unknown): ReadableStream<Uint8Array> {
	let given = false;
	return new ReadableStream({
		pull(controller) {
			if (given) return controller.error(error);
			given = true;
			controller.enqueue(encoder.encode(text));
		},
	});
}

/** Where a network may cut bytes, as fractions. */
export const anyCuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 16 });
