/** Writes replies to a prompt in the form of OpenAI's legacy completions: `text_completion`. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { laterUsage, type Usage } from "../../core/usage.ts";
import { DONE, frame } from "../../streams/sse.ts";
import type { ChatCompletion } from "../../tasks/text-generation/types.ts";
import type { WriteContext } from "../dialect.ts";
import { parseChunk } from "./chunks.ts";
import { mapChatEvents } from "./events.ts";
import { deltaTextWriter, messageText } from "./thinking-text.ts";
import { NativeUsage, type UsageEnding, usageFrame } from "./usage.ts";

const Choice = lazy(() =>
	z.object({
		index: z.int(),
		text: z.string(),
		finish_reason: z.string().nullable(),
		logprobs: z.unknown(),
	}),
);
type Choice = z.output<ReturnType<typeof Choice>>;

export const TextCompletion = lazy(() =>
	z.object({
		id: z.string(),
		object: z.literal("text_completion"),
		created: z.int(),
		model: z.string(),
		choices: z.array(Choice()),
		usage: NativeUsage.nullish(),
	}),
);

type Context = Pick<WriteContext, "model" | "now" | "uuid" | "withCost">;

/** `echo`: text to write before the reply. */
export function textCompletion(completion: ChatCompletion, context: Context, echo = ""): object {
	const { id, created, choices, usage } = completion;
	return {
		...commonFields(context, id, created),
		choices: choices.map(
			(choice, position): Choice => ({
				index: choice.index ?? position,
				text: echo + messageText(choice.message, context.model),
				finish_reason: choice.finish_reason || "stop",
				logprobs: logprobsOf(choice.logprobs),
			}),
		),
		...(usage && { usage: context.withCost(usage) }),
	};
}

/** Takes over `events`, a stream of OpenAI chunks. */
export function textCompletionEvents(
	events: ReadableStream<Uint8Array>,
	context: Context,
	{ usage: ending, echo = "" }: { usage: UsageEnding; echo?: string },
): ReadableStream<Uint8Array> {
	let common: object | undefined;
	let usage: Usage | undefined;
	/** Choices with text, so their echo is already written. */
	const started = new Set<number>();
	const writers = new Map<number, ReturnType<typeof deltaTextWriter>>();
	const textOf = (index: number) => {
		const writer = writers.get(index) ?? deltaTextWriter(context.model);
		writers.set(index, writer);
		return writer;
	};
	return mapChatEvents(events, {
		onData(data, value) {
			const chunk = parseChunk(data, value);
			if (chunk === "done") return "";
			common ??= commonFields(context, chunk.id, chunk.created);
			usage = laterUsage(usage, chunk.usage);
			let out = "";
			for (const { index, delta, finish_reason, logprobs } of chunk.choices) {
				const text = (started.has(index) ? "" : echo) + textOf(index)(delta);
				// A first chunk may contain only the role, which text completions do not have.
				if (!text && !finish_reason) continue;
				started.add(index);
				const choice: Choice = {
					index,
					text,
					finish_reason: finish_reason ?? null,
					logprobs: logprobsOf(logprobs),
				};
				out += frame({ ...common, choices: [choice] });
			}
			return out;
		},
		onDone() {
			if (!usage || ending === "none") return DONE;
			const usageWithCost = context.withCost(usage);
			if (ending === "native") return usageFrame(usageWithCost) + DONE;
			return frame({ ...common, choices: [], usage: usageWithCost }) + DONE;
		},
	});
}

const commonFields = ({ model, now, uuid }: Context, id: string, created: number) => ({
	id: id.startsWith("cmpl-") ? id : `cmpl-${uuid().replaceAll("-", "")}`,
	object: "text_completion" as const,
	created: created || Math.floor(now / 1000),
	model: model.id,
});

const ChatLogprobs = lazy(() =>
	z.object({
		content: z.array(
			z.object({
				token: z.string(),
				logprob: z.number(),
				top_logprobs: z.array(z.object({ token: z.string(), logprob: z.number() })).default([]),
			}),
		),
	}),
);

/** Converts chat's form to the legacy form. Any other value stays unchanged. */
function logprobsOf(sent: unknown): unknown {
	const parsed = ChatLogprobs().safeParse(sent);
	if (!parsed.success) return sent ?? null;
	const { content } = parsed.data;
	let offset = 0;
	return {
		tokens: content.map(({ token }) => token),
		token_logprobs: content.map(({ logprob }) => logprob),
		top_logprobs: content.map(({ top_logprobs }) =>
			Object.fromEntries(top_logprobs.map(({ token, logprob }) => [token, logprob])),
		),
		text_offset: content.map(({ token }) => {
			const start = offset;
			offset += token.length;
			return start;
		}),
	};
}
