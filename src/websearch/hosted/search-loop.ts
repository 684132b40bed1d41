/**
 * The rounds of one answer: the model calls the search function, the gateway searches, and calls the model again with the results, until
 * the model answers, or calls a tool of the caller.
 */
import { AiError } from "../../core/errors.ts";
import { cacheWritesIn, type Usage } from "../../core/usage.ts";
import type { WriteContext } from "../../dialects/dialect.ts";
import { PAUSED } from "../../dialects/messages/reply.ts";
import type { InferenceRequest } from "../../pipeline/request.ts";
import type {
	ChatMessage,
	SearchedRound,
	ThinkingBlock,
	WebSearchCall,
} from "../../tasks/text-generation/types.ts";
import type { SearchServices } from "../services.ts";
import type { HostedRequest } from "./hosted-request.ts";
import { RoundCalls } from "./round-calls.ts";
import { type Round, runRound } from "./rounds.ts";
import type { PlacedCall, SearchSeals } from "./search-seals.ts";
import { resultText } from "./search-tool.ts";
import type { Searches } from "./searches.ts";

/** Rounds of one answer that may end with searches. */
const MAX_ROUNDS = 10;

/** What a round has answered, besides its calls. */
export interface RoundText {
	content: string;
	reasoning: string;
	thinking_blocks: ThinkingBlock[];
	usage: Usage | null | undefined;
}

export const emptyRound = (): RoundText => ({
	content: "",
	reasoning: "",
	thinking_blocks: [],
	usage: undefined,
});

/** What follows a round. `finishReason`: the answer ends with it, instead of the round's. */
type NextStep =
	/** `left`: searches that the caller's next request runs. */
	| { kind: "end"; finishReason?: string; left: readonly WebSearchCall[] }
	/** With a `finishReason`, the answer ends after the searches. Otherwise another round follows. */
	| { kind: "search"; finishReason?: string; searches: readonly RoundSearch[] };

/** A search that a round requests. */
export interface RoundSearch extends PlacedCall {
	search: WebSearchCall;
}

export class SearchLoop {
	readonly hosted: HostedRequest;
	readonly searches: Searches;
	/** Fires when the caller leaves. */
	readonly signal: AbortSignal;
	readonly #request: InferenceRequest;
	readonly #services: SearchServices;
	readonly #seals: SearchSeals | undefined;
	readonly #stop = new AbortController();
	readonly #messages: ChatMessage[] = [];
	#rounds = 0;
	#usage: Usage | undefined;

	/** `seals`: absent without a key. */
	constructor(
		request: InferenceRequest,
		parts: { hosted: HostedRequest; searches: Searches; seals: SearchSeals | undefined },
		services: SearchServices,
	) {
		const { hosted, searches, seals } = parts;
		this.signal = AbortSignal.any([request.signal, this.#stop.signal]);
		this.#request = { ...request, signal: this.signal };
		this.hosted = hosted;
		this.#services = services;
		this.#seals = hosted.style.leavesPending ? undefined : seals;
		this.searches = searches;
	}

	/** The sum of all rounds. */
	get usage(): Usage | undefined {
		return this.#usage;
	}

	stop(reason: unknown): void {
		this.#stop.abort(reason);
	}

	async next(): Promise<Round> {
		if (this.signal.aborted) throw new AiError("aborted");
		const isFirst = this.#rounds++ === 0;
		return runRound(
			this.#request,
			{
				id: isFirst ? this.#request.id : this.#services.uuid(),
				messages: this.#messages,
				spentTokens: this.#usage?.completion_tokens ?? 0,
				isLast: this.#rounds > MAX_ROUNDS,
			},
			this.#services,
		);
	}

	/** The calls of the next round. Its first call for the caller carries the searches of the rounds before. */
	newCalls(): RoundCalls {
		const seal = this.#seals?.ofRounds(this.#messages);
		return new RoundCalls(this.hosted.toolName, () => this.#services.uuid(), seal);
	}

	/** Called once at the end of each round. */
	after({ usage }: RoundText, calls: RoundCalls): NextStep {
		this.#usage = sumOf(this.#usage, usage);
		const { leavesPending, pauses } = this.hosted.style;
		const searches = calls.searches.map((placed) => ({ ...placed, search: this.searches.of(placed.call) }));
		if (searches.length === 0) return { kind: "end", left: [] };
		if (calls.hasCallerCalls) {
			const finishReason = "tool_calls";
			if (leavesPending) return { kind: "end", finishReason, left: searches.map(({ search }) => search) };
			if (!this.#seals) return { kind: "end", finishReason, left: [] };
			return { kind: "search", finishReason, searches };
		}
		// The model was told not to call, and has called.
		if (this.#rounds > MAX_ROUNDS) return { kind: "end", finishReason: "stop", left: [] };
		return {
			kind: "search",
			searches,
			...(pauses && this.#rounds >= MAX_ROUNDS && { finishReason: PAUSED }),
		};
	}

	/** Adds a round to the conversation. */
	add({ content, reasoning, thinking_blocks }: RoundText, ended: readonly RoundSearch[]): void {
		this.#messages.push(
			{
				role: "assistant",
				content: content || null,
				...(reasoning && { reasoning_content: reasoning }),
				...(thinking_blocks.length > 0 && { thinking_blocks }),
				tool_calls: ended.map(({ call }) => call),
			},
			...ended.map(resultOf),
		);
	}

	/** The searches beside calls of the caller, for the caller's next request. */
	seal(ended: readonly RoundSearch[]): string {
		return (
			this.#seals?.ofCalls(
				ended.map(({ at, call }) => ({ at, call })),
				ended.map(resultOf),
			) ?? ""
		);
	}

	/** The context of the answer: what the caller sent, and the costs of all rounds and searches. */
	contextOf(context: WriteContext): WriteContext {
		const { inputs, withCost } = context;
		return {
			...context,
			inputs: { ...(inputs as object), ...this.hosted.echoed },
			withCost: (usage) => {
				const counted = withCost(usage);
				const { neurons } = counted;
				const { neurons: searched } = this.searches;
				return neurons === undefined && searched === 0
					? counted
					: { ...counted, neurons: (neurons ?? 0) + searched };
			},
		};
	}
}

export const searchedRound = (
	{ content, reasoning, thinking_blocks }: RoundText,
	searches: readonly WebSearchCall[],
): SearchedRound => ({ content, reasoning, thinking_blocks, searches });

const resultOf = ({ call, search }: RoundSearch): ChatMessage => ({
	role: "tool",
	tool_call_id: call.id,
	content: resultText(search),
});

function sumOf(one: Usage | undefined, other: Usage | null | undefined): Usage | undefined {
	if (!one || !other) return other ?? one;
	const { prompt_tokens_details: details, completion_tokens_details: completion } = other;
	const before = one.prompt_tokens_details;
	const written = (cacheWritesIn(one) ?? 0) + (cacheWritesIn(other) ?? 0);
	return {
		...other,
		prompt_tokens: one.prompt_tokens + other.prompt_tokens,
		completion_tokens: one.completion_tokens + other.completion_tokens,
		total_tokens: one.total_tokens + other.total_tokens,
		...((details || before) && {
			prompt_tokens_details: {
				...details,
				cached_tokens: (before?.cached_tokens ?? 0) + (details?.cached_tokens ?? 0),
				...(written > 0 && { cache_creation_tokens: written }),
			},
		}),
		...((completion || one.completion_tokens_details) && {
			completion_tokens_details: {
				...completion,
				reasoning_tokens:
					(one.completion_tokens_details?.reasoning_tokens ?? 0) + (completion?.reasoning_tokens ?? 0),
			},
		}),
	};
}
