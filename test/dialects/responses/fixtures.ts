/** Helpers of the Responses dialect tests: a model, a context, hub streams. */
import type { Rendered, WriteContext } from "../../../src/dialects/dialect.ts";
import { responses } from "../../../src/dialects/responses/responses.ts";
import { validate } from "../../../src/dialects/validation/validation.ts";
import type { Model } from "../../../src/models/model.ts";
import type { TaskAnswer } from "../../../src/tasks/task.ts";
import type {
	ChatChunk,
	ChatCompletion,
	ChatDelta,
	ChatInput,
} from "../../../src/tasks/text-generation/types.ts";
import { streamAnswer } from "../read-write.ts";

export const CHAT_MODEL: Model = {
	id: "@cf/test/chat",
	uuid: "00000000-0000-4000-8000-000000000000",
	source: 1,
	task: "Text Generation",
	author: "test",
	created: "2026-01-01",
	description: "A model for tests.",
	status: "active",
	input: "chat",
	output: "openai-chat-completion",
	defaults: {},
	capabilities: [],
	prices: [],
	tags: [],
};
export const GPT_OSS: Model = {
	...CHAT_MODEL,
	id: "@cf/openai/gpt-oss-20b",
	input: "chat-gpt-oss",
	output: "gpt-oss",
	defaults: { raw: false, stream: false, max_tokens: 256, temperature: 0.6 },
};

export const NOW = 1_776_784_307_643;
const CREATED = 1_776_784_307;

/** Without the original request, which `verbatim.test.ts` reads. */
export function readChat(body: unknown, model = CHAT_MODEL): Omit<ChatInput, "verbatim"> {
	const { verbatim: _, ...input } = readWhole(body, model);
	return input;
}

export function readWhole(body: unknown, model = CHAT_MODEL): ChatInput {
	const { schema, read } = responses.reader;
	const call = read(validate(schema(model), body) as never, model);
	if (call.task !== "text-generation") throw new Error(`read as ${call.task}`);
	return call.input;
}

/** Ids are consecutive numbers from 1. */
export function contextOf(body: object, model = CHAT_MODEL): WriteContext {
	let ids = 0;
	return {
		model,
		inputs: validate(responses.reader.schema(model), body),
		call: { task: "text-generation", input: readChat(body, model) },
		now: NOW,
		withCost: (usage) => usage,
		requestId: "req-1",
		uuid: () => `0-${++ids}`,
	};
}

export const delta = (content: ChatDelta, finish_reason: string | null = null): ChatChunk => ({
	id: "chatcmpl-1",
	object: "chat.completion.chunk",
	created: CREATED,
	model: "engine",
	choices: [{ index: 0, delta: content, finish_reason }],
});

export const USAGE_CHUNK: ChatChunk = {
	...delta({}),
	choices: [],
	usage: {
		prompt_tokens: 5,
		completion_tokens: 2,
		total_tokens: 7,
		prompt_tokens_details: { cached_tokens: 3 },
	},
};
export const USAGE = {
	input_tokens: 5,
	input_tokens_details: { cached_tokens: 3 },
	output_tokens: 2,
	output_tokens_details: { reasoning_tokens: 0 },
	total_tokens: 7,
};

export const completion = (
	message: Partial<ChatCompletion["choices"][number]["message"]>,
	finish_reason = "stop",
): ChatCompletion => ({
	id: "chatcmpl-1",
	object: "chat.completion",
	created: CREATED,
	model: "engine",
	choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason }],
	usage: USAGE_CHUNK.usage ?? null,
});

export const hubText = (chunks: ChatChunk[]): string =>
	`${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;

/** `pieces`, then the error, if there is one, or the end. */
export function streamOf(pieces: (string | Uint8Array)[], error?: Error): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	const remaining = pieces.map((piece) => (typeof piece === "string" ? encoder.encode(piece) : piece));
	return new ReadableStream({
		pull(controller) {
			const piece = remaining.shift();
			if (piece) controller.enqueue(piece);
			else if (error) controller.error(error);
			else controller.close();
		},
	});
}

export const streamed = (events: ReadableStream<Uint8Array>): TaskAnswer => ({
	task: "text-generation",
	answer: streamAnswer(events),
});
export const answered = (output: ChatCompletion): TaskAnswer => ({
	task: "text-generation",
	answer: { kind: "value", output },
});

export function eventsOf(rendered: Rendered): ReadableStream<Uint8Array> {
	if (rendered.kind !== "events") throw new Error(`rendered as ${rendered.kind}`);
	return rendered.events;
}

export function jsonOf(rendered: Rendered): unknown {
	if (rendered.kind !== "json") throw new Error(`rendered as ${rendered.kind}`);
	return rendered.value;
}

export type Event = Record<string, unknown> & { type: string };

/** Parses the events of a stream. Checks their names and their sequence numbers. */
export function parseEvents(text: string): Event[] {
	return text
		.split("\n\n")
		.filter(Boolean)
		.map((block, index) => {
			const match = /^event: (\S+)\ndata: (.*)$/.exec(block);
			const event = JSON.parse(match?.[2] ?? "null") as Event;
			if (event?.type !== match?.[1] || event.sequence_number !== index)
				throw new Error(`not an event ${index}: ${block}`);
			return event;
		});
}
