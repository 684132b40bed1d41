/** The searches of one answer: their number, their cost, and the failures that the model and the caller see. */
import { type AiError, toAiError } from "../../core/errors.ts";
import { parseRecord } from "../../core/json.ts";
import { present } from "../../core/present.ts";
import type { InferenceRequest } from "../../pipeline/request.ts";
import type { ToolCall, WebSearchCall, WebSearchProblem } from "../../tasks/text-generation/types.ts";
import type { ChosenProvider } from "../choose-provider.ts";
import { SearchError } from "../failures.ts";
import { search } from "../search.ts";
import type { SearchServices } from "../services.ts";
import { CONTEXT_SIZES, MAX_USES, type SearchToolSettings, sourceOf } from "./search-tool.ts";

/** Characters. */
const MAX_QUERY = 1_024;

type SearchCaller = Pick<InferenceRequest, "caller" | "observers">;

export class Searches {
	readonly #request: SearchCaller;
	readonly #settings: SearchToolSettings;
	readonly #provider: ChosenProvider;
	readonly #services: SearchServices;
	#started = 0;
	/** Of the searches that have ended. */
	neurons = 0;

	constructor(
		request: SearchCaller,
		{ settings, provider }: { settings: SearchToolSettings; provider: ChosenProvider },
		services: SearchServices,
	) {
		this.#request = request;
		this.#settings = settings;
		this.#provider = provider;
		this.#services = services;
	}

	/** The search that a call of the function requests. */
	of({ function: called }: ToolCall): WebSearchCall {
		const query = parseRecord(called.arguments)?.query;
		return { id: this.#services.uuid(), query: typeof query === "string" ? query.trim() : "" };
	}

	/** Throws only if the caller has left. */
	async run(call: WebSearchCall, signal: AbortSignal): Promise<Required<WebSearchCall>> {
		const { query } = call;
		const ended = (problem: WebSearchProblem) => ({ ...call, outcome: { problem } });
		if (query === "") return ended("invalid_tool_input");
		if (query.length > MAX_QUERY) return ended("query_too_long");
		const { maxUses = MAX_USES, contextSize = "medium", location, ...domains } = this.#settings;
		if (++this.#started > Math.min(maxUses, MAX_USES)) return ended("max_uses_exceeded");
		const { caller, observers } = this.#request;
		const { excerpt, limit } = CONTEXT_SIZES[contextSize];
		const options = { ...domains, limit, ...present({ country: location?.country }) };
		const id = this.#services.uuid();
		try {
			const request = { ...options, query, id, caller, signal, ...(observers && { observers }) };
			const { provider, isOwnKey, usd } = this.#provider;
			const items = await search(request, this.#provider, this.#services);
			this.neurons += provider.model.prices[0]?.neurons ?? 0;
			if (isOwnKey) this.#services.searchKeys?.used(usd);
			return { ...call, outcome: { sources: items.map((item) => sourceOf(item, excerpt)) } };
		} catch (thrown) {
			if (signal.aborted) throw thrown;
			this.#services.log(toAiError(thrown instanceof SearchError ? thrown.cause : thrown), id);
			return ended(problemOf(thrown));
		}
	}
}

function problemOf(thrown: unknown): WebSearchProblem {
	if (!(thrown instanceof SearchError))
		return (thrown as AiError).status === 429 ? "too_many_requests" : "unavailable";
	if (thrown.key === "rateLimited") return "too_many_requests";
	return thrown.key === "invalidInput" ? "invalid_tool_input" : "unavailable";
}
