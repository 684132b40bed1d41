/**
 * Input and output of text generation: the common format that every chat dialect is converted to and from. Messages, tools
 * and replies have OpenAI's wire shapes (platform.openai.com/docs/api-reference/chat), because most engines use them and
 * then no conversion is needed.
 */
import type { Usage } from "../../core/usage.ts";
import type { EngineSearch, WebSearchCall } from "./web-search.ts";

export interface ContentPart {
	type: "text" | "image_url" | "input_audio" | "file" | "refusal";
	text?: string;
	image_url?: { url: string; detail?: string };
	input_audio?: { data: string; format: string };
	file?: { file_data?: string; file_id?: string; filename?: string };
	refusal?: string;
	cache_control?: CacheBreakpoint;
}

/** Anthropic's mark: the prompt up to and including this part is cached. Sent to hosts that know it. */
export interface CacheBreakpoint {
	type: string;
	/** `5m` or `1h`. */
	ttl?: string;
}

export interface ToolCall {
	id: string;
	type: "function";
	/** `arguments` is JSON text, as in OpenAI's format, in every dialect. */
	function: { name: string; arguments: string };
	/** The seal of the reasoning before the call, in the field of Google's OpenAI route, which many clients send back. */
	extra_content?: SignatureField;
}

export interface SignatureField {
	google: { thought_signature: string };
}

/**
 * Reasoning that only the model that wrote it can read again: `thinking` with a `signature`, or `redacted_thinking` with
 * `data`. Signature and data are seals of the gateway (`src/backends/seals.ts`), also in a request.
 */
export interface ThinkingBlock {
	type: "thinking" | "redacted_thinking";
	thinking?: string;
	signature?: string;
	data?: string;
}

export interface ChatMessage {
	role: "system" | "developer" | "user" | "assistant" | "tool";
	content: string | ContentPart[] | null;
	name?: string;
	tool_calls?: ToolCall[];
	tool_call_id?: string;
	/** Reasoning of an earlier turn, sent back by the caller. */
	reasoning_content?: string;
	/** The same reasoning, sealed. */
	thinking_blocks?: ThinkingBlock[];
	/** The reasoning in OpenRouter's form, with seals. Sent to OpenRouter alone. */
	reasoning_details?: readonly Record<string, unknown>[];
	/** The seal of the reasoning before the text. */
	extra_content?: SignatureField;
	/** OpenAI's kind of an assistant's text: `commentary` or `final_answer`. Its models want it back. */
	phase?: string;
}

export interface ChatTool {
	type: "function";
	function: {
		name: string;
		description?: string;
		parameters?: Record<string, unknown>;
		strict?: boolean | null;
	};
	cache_control?: CacheBreakpoint;
}

export type ToolChoice =
	| "none"
	| "auto"
	| "required"
	| { type: "function"; function: { name: string } }
	| { type: "allowed_tools"; allowed_tools: { mode: "auto" | "required"; tools: unknown[] } };

export type ResponseFormat =
	| { type: "text" }
	| { type: "json_object" }
	| {
			type: "json_schema";
			json_schema: { name: string; description?: string; schema?: unknown; strict?: boolean | null };
	  };

/** An absent field means the engine's default. */
export interface Sampling {
	max_tokens?: number;
	temperature?: number;
	top_p?: number;
	top_k?: number;
	seed?: number;
	repetition_penalty?: number;
	frequency_penalty?: number;
	presence_penalty?: number;
}

/** Fields of a chat that have defaults in the catalogue. */
export type DefaultedField = keyof Sampling | "logprobs";

/**
 * `top_k` for an API whose values begin at 1. Engines also accept 0 and -1, which mean all tokens. Such an API has no value
 * for that, so the field is absent.
 */
export const positiveTopK = ({ top_k }: Sampling): number | undefined =>
	top_k !== undefined && top_k >= 1 ? top_k : undefined;

export type ReasoningEffort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
/** The efforts that every API with levels has, or can approximate. */
export type CommonEffort = "minimal" | "low" | "medium" | "high";

/**
 * The effort for an API without the levels above `high` and without `none`. `null`: reasoning is disabled. `undefined`: the
 * model decides.
 */
export function commonEffort({ reasoning_effort: effort }: Pick<ChatInput, "reasoning_effort">) {
	if (effort === "none") return null;
	return effort === "xhigh" || effort === "max" ? "high" : (effort satisfies CommonEffort | null | undefined);
}

/** An absent optional field means the engine's default. */
export interface ChatInput extends Sampling {
	/** Empty if `prompt` is set. */
	messages: ChatMessage[];
	/** Text to continue without a chat template (`raw`). */
	prompt?: string;
	/** Text after the gap to fill; only together with `prompt`. */
	suffix?: string;
	stream: boolean;
	stop?: string[];
	n?: number;
	logprobs?: boolean;
	top_logprobs?: number;
	logit_bias?: Record<string, number>;
	tools?: ChatTool[];
	tool_choice?: ToolChoice;
	parallel_tool_calls?: boolean;
	response_format?: ResponseFormat;
	/** `"none"`: the caller disables reasoning with OpenAI's value. `null`: with a field of another API. */
	reasoning_effort?: ReasoningEffort | null;
	/** The caller wants to see a summary of the reasoning, where the model hides its text. */
	reasoning_summary?: "auto" | "concise" | "detailed";
	chat_template_kwargs?: Record<string, unknown>;
	lora?: string;
	user?: string;
	/** The host sets the breakpoint itself, at the end of the prompt. */
	cache_control?: CacheBreakpoint;
	/** Fields that only OpenAI's service supports (`metadata`, `store`, `modalities`, …), forwarded unchanged. */
	passthrough?: Record<string, unknown>;
	verbatim?: Verbatim;
	/** The caller's format has OpenRouter's `reasoning_details`: only their secrets are sealed. */
	takesReasoningDetails?: true;
	/** A search tool that the engine runs by itself. Sent to engines that have one. */
	web_search?: EngineSearch;
	/** The fields that are the catalogue's defaults: the caller did not set them. */
	defaults?: readonly DefaultedField[];
	/**
	 * Parts of the request that no engine here supports and that the answer ignores, such as `tools.web_search`, unless an upstream receives
	 * the complete body (`verbatim`). Each is a printable ASCII name without a comma. Sent back as the header `x-ganglion-dropped`.
	 */
	dropped?: readonly string[];
}

/** Whether the caller requests audio in addition to text. */
export function requestsAudio({ passthrough }: ChatInput): boolean {
	const modalities = passthrough?.modalities;
	return Array.isArray(modalities) && modalities.includes("audio");
}

/** The caller's original request, if its dialect is also an upstream's: it receives the fields that this format lacks, and answers in it. */
export interface Verbatim {
	/** `anthropic` equals the `kind` of the backends that accept this dialect. */
	dialect: "anthropic" | "responses";
	body: Record<string, unknown>;
	/** The number of `messages` of the input that were converted from `body`. Later messages were added by the gateway. */
	messages: number;
	/**
	 * The upstream receives the complete `body`, in which the caller has chosen every field for it. Absent for a model of Workers AI that
	 * a route sends there: such a body has the fields of another model.
	 */
	complete?: true;
	/** The first part of `body` that this format cannot express. If set, only backends of this dialect can answer. */
	unconverted?: string;
}

export type {
	EngineSearch,
	SearchContextSize,
	SearchLocation,
	WebSearchCall,
	WebSearchProblem,
	WebSearchSource,
} from "./web-search.ts";

/** A part of an answer that ended with web searches. */
export interface SearchedRound {
	content: string;
	reasoning: string;
	thinking_blocks: readonly ThinkingBlock[];
	searches: readonly WebSearchCall[];
}

export interface AssistantMessage {
	role: "assistant";
	content: string | null;
	refusal?: string | null;
	reasoning_content?: string | null;
	reasoning?: string | null;
	thinking_blocks?: ThinkingBlock[] | null;
	extra_content?: SignatureField;
	reasoning_details?: unknown[] | null;
	phase?: string | null;
	/** Sources of the text, in OpenAI's form. */
	annotations?: unknown[] | null;
	tool_calls?: ToolCall[] | null;
	/** The parts of the answer before `content`, with the gateway's web searches. */
	searched?: readonly SearchedRound[];
	/** The upstream's original message, for a caller with the same dialect. */
	verbatim?: Record<string, unknown>;
}

export interface ChatChoice {
	index: number;
	message: AssistantMessage;
	finish_reason: string;
	/** The stop sequence that ended the text, as vLLM reports it. */
	stop_reason?: unknown;
	logprobs?: unknown;
}

/** An OpenAI `chat.completion`, including further fields of the engine. */
export interface ChatCompletion {
	id: string;
	object: "chat.completion";
	created: number;
	model: string;
	choices: ChatChoice[];
	usage?: Usage | null;
	system_fingerprint?: string | null;
}

export interface ToolCallDelta {
	index: number;
	id?: string | null;
	type?: string | null;
	function?: { name?: string | null; arguments?: string | null } | null;
	extra_content?: ToolCall["extra_content"];
}

export interface ChatDelta {
	role?: string | null;
	content?: string | null;
	refusal?: string | null;
	reasoning_content?: string | null;
	reasoning?: string | null;
	/** Complete blocks, sent when each ends. Their text was sent before in pieces, as `reasoning_content`. */
	thinking_blocks?: ThinkingBlock[] | null;
	extra_content?: SignatureField;
	reasoning_details?: unknown[] | null;
	phase?: string | null;
	annotations?: unknown[] | null;
	tool_calls?: ToolCallDelta[] | null;
	/** A web search of the gateway starts or ends. */
	web_search?: WebSearchCall;
	/** The upstream's original events for this delta, for a caller with the same dialect. */
	verbatim?: Record<string, unknown>[];
}

/** One event of an OpenAI chat stream. */
export interface ChatChunk {
	id: string;
	object: "chat.completion.chunk";
	created: number;
	model: string;
	choices: {
		index: number;
		delta: ChatDelta;
		finish_reason?: string | null;
		stop_reason?: unknown;
		logprobs?: unknown;
	}[];
	usage?: Usage | null;
}

/** The text of a message's content, one line per part. Other parts are omitted. */
export function textOf(content: ChatMessage["content"]): string {
	if (content === null) return "";
	if (typeof content === "string") return content;
	return content.flatMap(({ text }) => (text ? [text] : [])).join("\n");
}
