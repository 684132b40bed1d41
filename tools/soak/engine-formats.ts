/** The engine's API formats: OpenAI's chat and embeddings under `/primary` and `/second`, Ollama's chat under `/ollama`. */
import { eventText, type Planned } from "./plan.ts";

export interface Counts {
	prompt: number;
	cached: number;
	output: number;
}

export interface EngineFormat {
	contentType: { stream: string; value: string };
	/** Before the first event. */
	opening?: string;
	event(number: number): string;
	/** After the last. */
	ending: string;
	complete(events: number): string;
	garbage: string;
	/** An engine's own error inside a stream. */
	error: string;
	/** Body of a refusal, or of a failure with status 200. */
	refusal(status: number): string;
}

const json = (value: unknown): string => JSON.stringify(value);
const textOf = (events: number, tokens: number): string =>
	Array.from({ length: events }, (_, i) => eventText(i + 1, tokens)).join("");

/** The engine's counts after this number of events. */
export const countsOf = (
	{ promptTokens, cachedTokens, tokensPerEvent }: Planned,
	events: number,
): Counts => ({ prompt: promptTokens, cached: cachedTokens, output: events * tokensPerEvent });

export function openaiFormat(planned: Planned, events: number): EngineFormat {
	const head = { id: `soak-${planned.index}`, created: 1, model: "soak" };
	const usage = (sent: number) => {
		const { prompt, cached, output } = countsOf(planned, sent);
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
	const delta = (sent: number, content: object, finish: string | null = null): string =>
		frame(
			[{ index: 0, delta: content, finish_reason: finish }],
			planned.usage === "every" ? usage(sent) : undefined,
		);
	const counts = usage(events);
	return {
		contentType: { stream: "text/event-stream", value: "application/json" },
		opening: delta(0, { role: "assistant", content: "" }),
		event: (number) => delta(number, { content: eventText(number, planned.tokensPerEvent) }),
		ending: `${delta(events, {}, "stop")}${counts ? frame([], counts) : ""}data: [DONE]\n\n`,
		complete: (sent) =>
			json({
				...head,
				object: "chat.completion",
				choices: [
					{
						index: 0,
						message: { role: "assistant", content: textOf(sent, planned.tokensPerEvent) },
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

export function embeddingFormat(planned: Planned): EngineFormat {
	const format = openaiFormat(planned, 0);
	const { prompt } = countsOf(planned, 0);
	const promptTokens = planned.usage === "zeros" ? 0 : planned.usage === "none" ? undefined : prompt;
	return {
		...format,
		complete: () =>
			json({
				object: "list",
				model: "soak",
				data: [{ object: "embedding", index: 0, embedding: [0.6, 0.8] }],
				...(promptTokens !== undefined && {
					usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
				}),
			}),
	};
}

export function ollamaFormat(planned: Planned, events: number): EngineFormat {
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
		complete: (sent) =>
			json({
				...head,
				...message(textOf(sent, planned.tokensPerEvent)),
				done: true,
				done_reason: "stop",
				...counts,
			}),
		garbage: '{"model":"soak","mess\n',
		error: `${json({ error: "the engine failed" })}\n`,
		refusal: () => json({ error: "not now" }),
	};
}
