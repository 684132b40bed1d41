/** A planned request as it is asked: its route, its body, and what may be reserved for it. */
import { PRICES, type ReservedCost, reservedCost, reservedFor } from "./books.ts";
import type { Door, Planned } from "./plan.ts";

export interface Question {
	/** Below the account's `…/ai`. */
	path: string;
	body: Record<string, unknown>;
	/** Id of the model. */
	model: string;
	prompt: string;
	cost: ReservedCost;
	/** Micro-neurons, where a budget has room for all. */
	reserved: number;
}

export const MODEL_OF: Record<Door, string> = {
	native: "@cf/meta/llama-3.1-8b-instruct",
	chat: "soak/chat",
	responses: "soak/chat",
	messages: "soak/chat",
	ollama: "soak/ollama",
	pair: "soak/pair",
	embed: "soak/embed",
};

/** The soak's own models, as the gateway is configured with them. */
export const MODELS = Object.fromEntries(
	Object.entries(PRICES)
		.filter(([id]) => id.startsWith("soak/"))
		.map(([id, { input, cached, output }]) => [
			id,
			{
				...(id === "soak/embed"
					? { task: "Text Embeddings" }
					: { task: "Text Generation", context_window: 131_072 }),
				prices: [
					{ unit: "per M input tokens", neurons: input },
					...(cached === undefined ? [] : [{ unit: "per M cached input tokens", neurons: cached }]),
					...(output === 0 ? [] : [{ unit: "per M output tokens", neurons: output }]),
				],
			},
		]),
);

/** Questions of one run: no two of one account and model may cost the same, so that a row identifies its question. */
export class Questions {
	readonly #taken = new Set<string>();

	put(planned: Planned): Question {
		for (let padding = 0; ; padding++) {
			const question = questionOf(planned, planned.prompt + "·".repeat(padding));
			const key = `${planned.account} ${question.model} ${question.reserved}`;
			if (this.#taken.has(key)) continue;
			this.#taken.add(key);
			return question;
		}
	}
}

function questionOf(planned: Planned, prompt: string): Question {
	const model = MODEL_OF[planned.door];
	const cost = reservedCost(planned, model, prompt);
	return {
		...asked(planned, prompt),
		model,
		prompt,
		cost,
		reserved: reservedFor(cost, cost.outputTokens),
	};
}

function asked({ door, maxTokens, stream, usage }: Planned, prompt: string): Pick<Question, "path" | "body"> {
	const model = MODEL_OF[door];
	const messages = [{ role: "user", content: prompt }];
	const limit = maxTokens === undefined ? {} : { max_tokens: maxTokens };
	switch (door) {
		case "native":
			return { path: `/run/${model}`, body: { messages, stream, ...limit } };
		case "responses":
			return {
				path: "/v1/responses",
				body: { model, input: prompt, stream, ...(maxTokens && { max_output_tokens: maxTokens }) },
			};
		case "messages":
			return { path: "/v1/messages", body: { model, messages, stream, ...limit } };
		case "embed":
			return { path: "/v1/embeddings", body: { model, input: [prompt] } };
		default:
			return {
				path: "/v1/chat/completions",
				body: {
					model,
					messages,
					stream,
					...limit,
					...(stream && usage === "end" && { stream_options: { include_usage: true } }),
				},
			};
	}
}
