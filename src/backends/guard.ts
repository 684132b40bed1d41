/**
 * Moderation by a guard model: a chat for each part of each item, whose answer is Llama Guard's verdict. The first failure cancels the
 * other calls.
 */
import { type Usage, usageOfCounts } from "../core/usage.ts";
import { inputFamily } from "../models/family.ts";
import { MAX_VERDICT_TOKENS, piecesOf } from "../tasks/moderation/index.ts";
import type { ModeratedItem, ModerationResult } from "../tasks/moderation/types.ts";
import { type Verdict, verdictIn } from "../tasks/moderation/verdict.ts";
import type { ChatInput, ContentPart } from "../tasks/text-generation/types.ts";
import type { Handler } from "./handler.ts";
import { type Call, failureOfContent } from "./transport/upstream-failure.ts";

/** Calls at the same time. */
const PARALLEL = 4;
const GUARD_NAME = /llama-?guard/i;

/** Whether the model answers with verdicts. Other models have a moderation of their own. */
export const isGuard = ({ model, target }: Call): boolean =>
	inputFamily(model).isGuard === true || GUARD_NAME.test(target.model);

interface Judged extends Verdict {
	usage: Usage | null | undefined;
}

export const guardWith =
	(generate: Handler<"text-generation">): Handler<"moderation"> =>
	async ({ items }, call) => {
		const stop = new AbortController();
		const guarded: Call = { ...call, signal: AbortSignal.any([call.signal, stop.signal]) };
		const waiting = items.flatMap((item, index) =>
			chatsOf(item).map((messages) => ({
				index,
				judge: async () => judged(await generate(chatOf(messages), guarded), guarded),
			})),
		);
		const found: Judged[][] = items.map(() => []);
		const worker = async (): Promise<void> => {
			for (let next = waiting.shift(); next && !stop.signal.aborted; next = waiting.shift())
				found[next.index]?.push(await next.judge());
		};
		try {
			await Promise.all(Array.from({ length: PARALLEL }, worker));
		} catch (thrown) {
			stop.abort();
			throw thrown;
		}
		const counted = found.flat().flatMap(({ usage }) => usage ?? []);
		const usage = usageOfCounts(
			counted.reduce((sum, { prompt_tokens }) => sum + prompt_tokens, 0),
			counted.reduce((sum, { completion_tokens }) => sum + completion_tokens, 0),
		);
		return { results: found.map(merged), ...(usage && counted.length === found.flat().length && { usage }) };
	};

/** Each image is judged with the first part of the text. */
function chatsOf(item: ModeratedItem): (string | ContentPart[])[] {
	const images = item.images.map((url): ContentPart => ({ type: "image_url", image_url: { url } }));
	return piecesOf(item).map((text, index) => {
		if (index > 0 || images.length === 0) return text;
		return text === "" ? images : [{ type: "text", text }, ...images];
	});
}

const chatOf = (content: string | ContentPart[]): ChatInput => ({
	messages: [{ role: "user", content }],
	stream: false,
	max_tokens: MAX_VERDICT_TOKENS,
	temperature: 0,
});

function judged(reply: Awaited<ReturnType<Handler<"text-generation">>>, call: Call): Judged {
	if ("events" in reply) throw new TypeError("A stream was not requested");
	const verdict = verdictIn(reply.choices[0]?.message.content ?? "");
	if (!verdict) throw failureOfContent(call, "answered with something that is not a verdict");
	return { ...verdict, usage: reply.usage };
}

/** An item is unsafe if any part of it is. */
const merged = (parts: readonly Judged[]): ModerationResult => ({
	verdict: {
		safe: parts.every(({ safe }) => safe),
		categories: [...new Set(parts.flatMap(({ categories }) => categories))],
	},
});
