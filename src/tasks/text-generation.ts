/**
 * Text generation: the hub that every chat dialect is read into and written from. Messages, tools and replies have
 * OpenAI's wire shapes (platform.openai.com/docs/api-reference/chat), because most engines speak them and bytes that
 * need no change should not be touched.
 */

export interface ContentPart {
	type: "text" | "image_url" | "input_audio" | "file" | "refusal";
	text?: string;
	image_url?: { url: string; detail?: string };
	input_audio?: { data: string; format: string };
	file?: { file_data?: string; file_id?: string; filename?: string };
	refusal?: string;
}

export interface ToolCall {
	id: string;
	type: "function";
	/** `arguments` is JSON text, as OpenAI has it, whatever the caller's dialect sent. */
	function: { name: string; arguments: string };
	/** Gemini's signature of the thoughts that led to the call, which it wants back with it; as Google's OpenAI route has it. */
	extra_content?: { google: { thought_signature: string } };
}

/**
 * Thoughts as Anthropic's models have them, which only they can read again, and only as they were: `thinking` with its
 * `signature`, or, of `redacted_thinking`, `data`.
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
	/** Thinking of an earlier turn, given back by the caller. */
	reasoning_content?: string;
	/** The same where Anthropic's model has signed it. */
	thinking_blocks?: ThinkingBlock[];
}

export interface ChatTool {
	type: "function";
	function: {
		name: string;
		description?: string;
		parameters?: Record<string, unknown>;
		strict?: boolean | null;
	};
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

/** Every field but `messages`, `prompt` and `stream` is optional, and absent means: the engine's default. */
export interface ChatInput {
	/** Empty when `prompt` is given. */
	messages: ChatMessage[];
	/** Text to continue as it is, without a chat template (`raw`). */
	prompt?: string;
	/** Text that comes after what is to be said; beside `prompt` alone. */
	suffix?: string;
	stream: boolean;
	max_tokens?: number;
	temperature?: number;
	top_p?: number;
	top_k?: number;
	seed?: number;
	repetition_penalty?: number;
	frequency_penalty?: number;
	presence_penalty?: number;
	stop?: string[];
	n?: number;
	logprobs?: boolean;
	top_logprobs?: number;
	logit_bias?: Record<string, number>;
	tools?: ChatTool[];
	tool_choice?: ToolChoice;
	parallel_tool_calls?: boolean;
	response_format?: ResponseFormat;
	/** `null` turns thinking off. */
	reasoning_effort?: "minimal" | "low" | "medium" | "high" | null;
	chat_template_kwargs?: Record<string, unknown>;
	lora?: string;
	user?: string;
	/** Fields that only OpenAI's own service knows (`metadata`, `store`, `modalities`, …), passed on as they came. */
	passthrough?: Record<string, unknown>;
	verbatim?: Verbatim;
	/**
	 * Parts of the request that no engine here can do and that the answer does without, such as `tools.web_search`. Each
	 * is a printable ASCII name without a comma. Sent back as the header `x-ganglion-dropped`.
	 */
	dropped?: readonly string[];
}

/** Whether the answer is to have sound beside its text. */
export function asksForAudio({ passthrough }: ChatInput): boolean {
	const modalities = passthrough?.modalities;
	return Array.isArray(modalities) && modalities.includes("audio");
}

/**
 * What was asked, of a caller whose dialect is an upstream's own: such an upstream is told what this hub has no word for
 * as it was said, and its answer comes with a `verbatim` of its own.
 */
export interface Verbatim {
	/** Also the kind of the backend that speaks it. */
	dialect: "anthropic";
	body: Record<string, unknown>;
	/** How many of the hub's messages stand for it. What comes after those was added here. */
	messages: number;
	/** Why nobody else can be asked: the first thing in it that was not read into the hub. */
	unread?: string;
}

export interface Usage {
	prompt_tokens: number;
	completion_tokens: number;
	total_tokens: number;
	prompt_tokens_details?: { cached_tokens?: number | null } | null;
	completion_tokens_details?: { reasoning_tokens?: number | null } | null;
}

export interface AssistantMessage {
	role: "assistant";
	content: string | null;
	refusal?: string | null;
	reasoning_content?: string | null;
	reasoning?: string | null;
	thinking_blocks?: ThinkingBlock[] | null;
	tool_calls?: ToolCall[] | null;
	/** The upstream's own message, for a caller of its dialect. */
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

/** An OpenAI `chat.completion`, with whatever further fields the engine sent. */
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
	/** Each whole, when it has ended; its text was said before in pieces, as `reasoning_content`. */
	thinking_blocks?: ThinkingBlock[] | null;
	tool_calls?: ToolCallDelta[] | null;
	/** The upstream's own events that this delta stands for, for a caller of its dialect. */
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

/** The plain text of a message's content, a part a line; parts that are not text are left out. */
export function textOf(content: ChatMessage["content"]): string {
	if (content === null) return "";
	if (typeof content === "string") return content;
	return content.flatMap(({ text }) => (text ? [text] : [])).join("\n");
}
