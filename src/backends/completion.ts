/** Builds answers in OpenAI's format from the replies and events of other APIs. */
import { createParser } from "eventsource-parser";
import type { z } from "zod";
import { AiError } from "../core/errors.ts";
import { parseJson } from "../core/json.ts";
import type { Usage } from "../core/usage.ts";
import type { EventFormat } from "../streams/event-splitter.ts";
import { isDone } from "../streams/sse.ts";
import type { TaskOutput } from "../tasks/task.ts";
import type {
	AssistantMessage,
	ChatChoice,
	ChatChunk,
	ChatCompletion,
	ChatDelta,
	ChatInput,
} from "../tasks/text-generation/types.ts";
import { ChunkCollector } from "./chunk-collector.ts";
import { dataLines } from "./transport/chunk-text.ts";
import { postJson, type RequestBody, type StreamReply } from "./transport/http.ts";
import { postTranslated, type Translator, type UpstreamEvent } from "./transport/translated-stream.ts";
import type { Call } from "./transport/upstream-failure.ts";

/** The fields that a completion and all chunks of a stream have in common. */
export type Heading = Pick<ChatChunk, "id" | "created" | "model">;

type SentHeading = { [Field in keyof Heading]?: Heading[Field] | null | undefined };

/** The upstream's own fields have precedence. `created` is in seconds. */
export const headingOf = ({ target, services }: Call, sent: SentHeading = {}): Heading => ({
	id: sent.id || `chatcmpl-${services.uuid()}`,
	created: sent.created || Math.floor(services.now() / 1000),
	model: sent.model || target.model,
});

type Answered = Omit<ChatChoice, "index" | "message"> & { message: Omit<AssistantMessage, "role"> };

/** A completion with one choice. */
export const completionOf = (
	heading: Heading,
	{ message, ...choice }: Answered,
	usage: Usage | undefined,
): ChatCompletion => ({
	...heading,
	object: "chat.completion",
	choices: [{ index: 0, message: { role: "assistant", ...message }, ...choice }],
	...(usage && { usage }),
});

/** Writes the chunks of a stream with one choice. */
export class ChunkWriter {
	hasBegun = false;
	readonly #heading: Heading;
	readonly #fields: { logprobs?: null };

	/** @param fields of every choice. */
	constructor(heading: Heading, fields: { logprobs?: null } = {}) {
		this.#heading = heading;
		this.#fields = fields;
	}

	/** The chunk with the role, once. */
	begin(): ChatChunk[] {
		if (this.hasBegun) return [];
		this.hasBegun = true;
		return [this.chunk({ role: "assistant", content: "" })];
	}

	/** The last chunks: the reason, and the usage if there is one. */
	end(finish_reason: string, usage: Usage | undefined): ChatChunk[] {
		return [...this.begin(), this.chunk({}, { finish_reason }), ...this.usage(usage)];
	}

	usage(usage: Usage | undefined): ChatChunk[] {
		return usage ? [{ ...this.chunk({}), choices: [], usage }] : [];
	}

	chunk(delta: ChatDelta, choice: Partial<ChatChunk["choices"][number]> = {}): ChatChunk {
		return {
			...this.#heading,
			object: "chat.completion.chunk",
			choices: [{ index: 0, delta, ...this.#fields, finish_reason: null, ...choice }],
		};
	}
}

export interface ChatRequest<Schema> {
	path: string;
	body: RequestBody;
	schema: Schema;
	completion(reply: z.output<Schema>): ChatCompletion;
	/** Called if the caller requests a stream. */
	translator(): Translator;
	format?: EventFormat;
}

/** An answer that was read from the events of a stream. */
class CollectedAnswer {
	readonly completion: ChatCompletion;

	constructor(completion: ChatCompletion) {
		this.completion = completion;
	}
}

/**
 * Requests a chat. A reply that is no stream is converted to a completion, also if a stream was requested; and so is a stream, or a
 * list of its events, that was not requested.
 */
export async function requestChat<Schema extends z.ZodType>(
	call: Call,
	{ stream }: ChatInput,
	{ path, body, schema, completion, translator, format }: ChatRequest<Schema>,
): Promise<TaskOutput<"text-generation"> | Extract<StreamReply<unknown>, { kind: "stream" }>> {
	const readOther = (text: string): CollectedAnswer | undefined => {
		const collected = collectAnswer(text, translator());
		return collected && new CollectedAnswer(collected);
	};
	const answerOf = (value: z.output<Schema> | CollectedAnswer): ChatCompletion =>
		value instanceof CollectedAnswer ? value.completion : completion(value);
	if (!stream) return answerOf(await postJson(call, path, body, schema, { readOther }));
	const options = { schema, readOther, translator: translator(), format };
	const reply = await postTranslated(call, path, body, options);
	return reply.kind === "stream" ? reply : answerOf(reply.value);
}

/** `undefined`: the text has no events, or no complete answer. Throws the failure of an event. */
function collectAnswer(text: string, translator: Translator): ChatCompletion | undefined {
	const collector = new ChunkCollector();
	const add = (chunks: readonly ChatChunk[]): void => {
		for (const chunk of chunks) collector.add({ ...chunk });
	};
	try {
		for (const event of eventsIn(text)) {
			if (isDone(event.data)) {
				translator.readDone?.();
				break;
			}
			add(translator.translate(event));
			if (translator.done) break;
		}
		const last = translator.end();
		if (!last) return undefined;
		add(last);
		return collector.completion();
	} catch (error) {
		if (error instanceof AiError) throw error;
		return undefined;
	}
}

/** The events of a complete body: server-sent events, a list, or JSON lines. */
function eventsIn(text: string): UpstreamEvent[] {
	const list = parseJson(text);
	if (Array.isArray(list)) return list.map((value) => ({ data: JSON.stringify(value) }));
	if (list !== undefined) return [];
	const events: UpstreamEvent[] = [];
	const parser = createParser({
		onEvent({ event, data }) {
			const list = dataLines(data);
			const name = list.length > 1 ? undefined : event;
			events.push(...list.map((one) => ({ ...(name !== undefined && { event: name }), data: one })));
		},
	});
	parser.feed(`${text}\n\n`);
	if (events.length > 0) return events;
	return text.split(/\r?\n/).flatMap((data) => (data.startsWith("{") ? { data } : []));
}
