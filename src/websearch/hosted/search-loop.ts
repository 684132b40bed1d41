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
	ToolCall,
	WebSearchCall,
} from "../../tasks/text-generation/types.ts";
import type { SearchServices } from "../services.ts";
import type { HostedRequest } from "./hosted-request.ts";
import { type Round, runRound } from "./rounds.ts";
import { resultText } from "./search-tool.ts";
import { Searches } from "./searches.ts";

/** Rounds of one answer that may end with searches. */
const MAX_ROUNDS = 10;

/** What a round has answered, besides the calls of the caller's tools. */
export interface RoundText {
	content: string;
	reasoning: string;
	thinking_blocks: ThinkingBlock[];
	usage: Usage | null | undefined;
}

/** How the answer goes on after a round. */
export type NextStep =
	/** It ends. `finishReason`: replaces that of the round. `left`: searches that the caller's next request runs. */
	| { kind: "end"; finishReason?: string; left: readonly WebSearchCall[] }
	| { kind: "search"; calls: PendingSearch[] };

export interface PendingSearch {
	call: WebSearchCall;
	tool: ToolCall;
}

export class SearchLoop {
	readonly hosted: HostedRequest;
	readonly searches: Searches;
	/** Fires when the caller leaves. */
	readonly signal: AbortSignal;
	readonly #request: InferenceRequest;
	readonly #services: SearchServices;
	readonly #stop = new AbortController();
	readonly #messages: ChatMessage[] = [];
	#rounds = 0;
	#usage: Usage | undefined;

	constructor(request: InferenceRequest, hosted: HostedRequest, services: SearchServices) {
		this.signal = AbortSignal.any([request.signal, this.#stop.signal]);
		this.#request = { ...request, signal: this.signal };
		this.hosted = hosted;
		this.#services = services;
		this.searches = new Searches(request, hosted.settings, services);
	}

	get uuid(): () => string {
		return () => this.#services.uuid();
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

	/** Called once at the end of each round. */
	after({ usage }: RoundText, tools: readonly ToolCall[], hasCallerCalls: boolean): NextStep {
		this.#usage = sumOf(this.#usage, usage);
		const { leavesPending } = this.hosted.style;
		if (tools.length === 0) return { kind: "end", left: [] };
		const calls = tools.map((tool) => ({ tool, call: this.searches.of(tool) }));
		if (hasCallerCalls)
			return {
				kind: "end",
				finishReason: "tool_calls",
				left: leavesPending ? calls.map(({ call }) => call) : [],
			};
		// The model was told not to call, and has called.
		if (this.#rounds > MAX_ROUNDS) return { kind: "end", finishReason: "stop", left: [] };
		return { kind: "search", calls };
	}

	/** Adds a round with the results of its searches to the conversation. Returns the finish reason if the answer ends here. */
	add(text: RoundText, finished: readonly { call: WebSearchCall; tool: ToolCall }[]): string | undefined {
		const { content, reasoning, thinking_blocks } = text;
		this.#messages.push(
			{
				role: "assistant",
				content: content || null,
				...(reasoning && { reasoning_content: reasoning }),
				...(thinking_blocks.length > 0 && { thinking_blocks }),
				tool_calls: finished.map(({ tool }) => tool),
			},
			...finished.map(
				({ call, tool }): ChatMessage => ({ role: "tool", tool_call_id: tool.id, content: resultText(call) }),
			),
		);
		return this.hosted.style.pauses && this.#rounds >= MAX_ROUNDS ? PAUSED : undefined;
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
