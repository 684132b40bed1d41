/** Replies to a prompt as OpenAI's older completions have them: `text_completion`. */
import * as z from "zod";
import { laterUsage, type Usage } from "../../core/usage.ts";
import { DONE, frame } from "../../streams/sse.ts";
import type { ChatCompletion } from "../../tasks/text-generation/types.ts";
import type { WriteContext } from "../dialect.ts";
import { parseChunk } from "./chunks.ts";
import { mapChatEvents } from "./events.ts";
import type { UsageEnding } from "./openai-stream.ts";
import { speech, spoken } from "./thoughts.ts";
import { NativeUsage, usageFrame } from "./usage.ts";

const Choice = z.object({
	index: z.int(),
	text: z.string(),
	finish_reason: z.string().nullable(),
	logprobs: z.unknown(),
});
type Choice = z.output<typeof Choice>;

export const TextCompletion = z.object({
	id: z.string(),
	object: z.literal("text_completion"),
	created: z.int(),
	model: z.string(),
	choices: z.array(Choice),
	usage: NativeUsage.nullish(),
});

type Context = Pick<WriteContext, "model" | "now" | "uuid" | "priced">;

/** `echo`: text that is said before the reply. */
export function textCompletion(completion: ChatCompletion, context: Context, echo = ""): object {
	const { id, created, choices, usage } = completion;
	return {
		...head(context, id, created),
		choices: choices.map(
			(choice, place): Choice => ({
				index: choice.index ?? place,
				text: echo + spoken(choice.message, context.model),
				finish_reason: choice.finish_reason || "stop",
				logprobs: logprobsOf(choice.logprobs),
			}),
		),
		...(usage && { usage: context.priced(usage) }),
	};
}

/** Takes over `events`, a hub stream. */
export function textCompletionEvents(
	events: ReadableStream<Uint8Array>,
	context: Context,
	{ usage: ending, echo = "" }: { usage: UsageEnding; echo?: string },
): ReadableStream<Uint8Array> {
	let first: object | undefined;
	let usage: Usage | undefined;
	/** Choices that have said something, and so what comes before it. */
	const begun = new Set<number>();
	const speakers = new Map<number, ReturnType<typeof speech>>();
	const textOf = (index: number) => {
		const speaker = speakers.get(index) ?? speech(context.model);
		speakers.set(index, speaker);
		return speaker;
	};
	return mapChatEvents(events, {
		onData(data, value) {
			const chunk = parseChunk(data, value);
			if (chunk === "done") return "";
			first ??= head(context, chunk.id, chunk.created);
			usage = laterUsage(usage, chunk.usage);
			let out = "";
			for (const { index, delta, finish_reason, logprobs } of chunk.choices) {
				const text = (begun.has(index) ? "" : echo) + textOf(index)(delta);
				// The role is all that a first chunk may say; here there are no roles.
				if (!text && !finish_reason) continue;
				begun.add(index);
				const choice: Choice = {
					index,
					text,
					finish_reason: finish_reason ?? null,
					logprobs: logprobsOf(logprobs),
				};
				out += frame({ ...first, choices: [choice] });
			}
			return out;
		},
		onDone() {
			if (!usage || ending === "none") return DONE;
			const priced = context.priced(usage);
			return (
				(ending === "native" ? usageFrame(priced) : frame({ ...first, choices: [], usage: priced })) + DONE
			);
		},
	});
}

const head = ({ model, now, uuid }: Context, id: string, created: number) => ({
	id: id.startsWith("cmpl-") ? id : `cmpl-${uuid().replaceAll("-", "")}`,
	object: "text_completion" as const,
	created: created || Math.floor(now / 1000),
	model: model.id,
});

const ChatLogprobs = z.object({
	content: z.array(
		z.object({
			token: z.string(),
			logprob: z.number(),
			top_logprobs: z.array(z.object({ token: z.string(), logprob: z.number() })).default([]),
		}),
	),
});

/** From the form that chat has. Logarithms in the older form already stay as they are. */
function logprobsOf(sent: unknown): unknown {
	const parsed = ChatLogprobs.safeParse(sent);
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
