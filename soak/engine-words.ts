/** How the engine says things: OpenAI's chat and embeddings under `/primary` and `/second`, Ollama's chat under `/ollama`. */
import { eventText, type Planned } from "./plan.ts";

export interface Counts {
	prompt: number;
	cached: number;
	output: number;
}

export interface Words {
	contentType: { stream: string; value: string };
	/** Before the first event. */
	opening?: string;
	event(number: number): string;
	/** After the last. */
	ending: string;
	whole(events: number): string;
	garbage: string;
	/** What an engine says of its own failure amid a stream. */
	error: string;
	/** A refusal's body, or a failure that comes with a 200. */
	refusal(status: number): string;
}

const json = (value: unknown): string => JSON.stringify(value);
const textOf = (events: number, tokens: number): string =>
	Array.from({ length: events }, (_, i) => eventText(i + 1, tokens)).join("");

/** What this engine counts when it has said so many events. */
export const countsOf = (
	{ promptTokens, cachedTokens, tokensPerEvent }: Planned,
	events: number,
): Counts => ({ prompt: promptTokens, cached: cachedTokens, output: events * tokensPerEvent });

export function openaiWords(planned: Planned, events: number): Words {
	const head = { id: `soak-${planned.index}`, created: 1, model: "soak" };
	const usage = (said: number) => {
		const { prompt, cached, output } = countsOf(planned, said);
		if (planned.usage === "none") return undefined;
		if (planned.usage === "zeros") return { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
		return {
			prompt_tokens: prompt,
			completion_tokens: output,
			total_tokens: prompt + output,
			...(cached > 0 && { prompt_tokens_details: { cached_tokens: cached } }),
		};
	};
	const frame = (choices: unknown[], counts?: object): string =>
		`data: ${json({ ...head, object: "chat.completion.chunk", choices, ...(counts && { usage: counts }) })}\n\n`;
	const delta = (said: number, content: object, finish: string | null = null): string =>
		frame(
			[{ index: 0, delta: content, finish_reason: finish }],
			planned.usage === "every" ? usage(said) : undefined,
		);
	const counts = usage(events);
	return {
		contentType: { stream: "text/event-stream", value: "application/json" },
		opening: delta(0, { role: "assistant", content: "" }),
		event: (number) => delta(number, { content: eventText(number, planned.tokensPerEvent) }),
		ending: `${delta(events, {}, "stop")}${counts ? frame([], counts) : ""}data: [DONE]\n\n`,
		whole: (said) =>
			json({
				...head,
				object: "chat.completion",
				choices: [
					{
						index: 0,
						message: { role: "assistant", content: textOf(said, planned.tokensPerEvent) },
						finish_reason: "stop",
					},
				],
				...(counts && { usage: counts }),
			}),
		garbage: 'data: {"choices":[{"del\n\n',
		error: `data: ${json({ error: { message: "the engine failed", type: "server_error", code: 500 } })}\n\n`,
		refusal: (status) => json({ error: { message: "not now", type: "soak", code: status } }),
	};
}

export function embeddingWords(planned: Planned): Words {
	const words = openaiWords(planned, 0);
	const { prompt } = countsOf(planned, 0);
	const told = planned.usage === "zeros" ? 0 : planned.usage === "none" ? undefined : prompt;
	return {
		...words,
		whole: () =>
			json({
				object: "list",
				model: "soak",
				data: [{ object: "embedding", index: 0, embedding: [0.6, 0.8] }],
				...(told !== undefined && { usage: { prompt_tokens: told, total_tokens: told } }),
			}),
	};
}

export function ollamaWords(planned: Planned, events: number): Words {
	const head = { model: "soak", created_at: "2026-11-21T00:00:00Z" };
	const { prompt, output } = countsOf(planned, events);
	const zeros = planned.usage === "zeros";
	const counts =
		planned.usage === "none" ? {} : { prompt_eval_count: zeros ? 0 : prompt, eval_count: zeros ? 0 : output };
	const message = (content: string) => ({ message: { role: "assistant", content } });
	return {
		contentType: { stream: "application/x-ndjson", value: "application/json" },
		event: (number) =>
			`${json({ ...head, ...message(eventText(number, planned.tokensPerEvent)), done: false })}\n`,
		ending: `${json({ ...head, ...message(""), done: true, done_reason: "stop", ...counts })}\n`,
		whole: (said) =>
			json({
				...head,
				...message(textOf(said, planned.tokensPerEvent)),
				done: true,
				done_reason: "stop",
				...counts,
			}),
		garbage: '{"model":"soak","mess\n',
		error: `${json({ error: "the engine failed" })}\n`,
		refusal: () => json({ error: "not now" }),
	};
}
