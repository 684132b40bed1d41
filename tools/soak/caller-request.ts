/** A planned request as the caller sends it: its route, its body, and its reservation. */
import { PRICES, type ReservedCost, reservedCost, reservedFor } from "./books.ts";
import type { Api, Planned } from "./plan.ts";

export interface CallerRequest {
	/** Path after the account's `…/ai`. */
	path: string;
	body: object;
	/** In addition to those of every request. */
	headers?: Record<string, string>;
	/** Id of the model. */
	model: string;
	prompt: string;
	cost: ReservedCost;
	/** Micro-neurons, if no budget reduces the output. */
	reserved: number;
}

const MODEL_OF: Record<Api, string> = {
	native: "@cf/meta/llama-3.1-8b-instruct",
	chat: "soak/chat",
	responses: "soak/chat",
	messages: "soak/chat",
	ollama: "soak/ollama",
	pair: "soak/pair",
	embed: "soak/embed",
};

/** The soak's own models, for the gateway's configuration. */
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

/** Requests of one run. No two of an account and model have the same reservation, so that a row identifies its request. */
export class CallerRequests {
	readonly #used = new Set<string>();

	create(planned: Planned): CallerRequest {
		for (let padding = 0; ; padding++) {
			const callerRequest = callerRequestOf(planned, planned.prompt + "·".repeat(padding));
			const key = `${planned.account} ${callerRequest.model} ${callerRequest.reserved}`;
			if (this.#used.has(key)) continue;
			this.#used.add(key);
			return callerRequest;
		}
	}
}

function callerRequestOf(planned: Planned, prompt: string): CallerRequest {
	const model = MODEL_OF[planned.api];
	const cost = reservedCost(planned, model, prompt);
	return {
		...routeAndBody(planned, prompt),
		model,
		prompt,
		cost,
		reserved: reservedFor(cost, cost.outputTokens),
	};
}

function routeAndBody(
	{ api, maxTokens, stream, usage }: Planned,
	prompt: string,
): Pick<CallerRequest, "path" | "body"> {
	const model = MODEL_OF[api];
	const messages = [{ role: "user", content: prompt }];
	const limit = maxTokens === undefined ? {} : { max_tokens: maxTokens };
	switch (api) {
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
