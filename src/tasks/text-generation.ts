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
}

export interface ChatMessage {
	role: "system" | "developer" | "user" | "assistant" | "tool";
	content: string | ContentPart[] | null;
	name?: string;
	tool_calls?: ToolCall[];
	tool_call_id?: string;
	/** Thinking of an earlier turn, given back by the caller. */
	reasoning_content?: string;
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
	tool_calls?: ToolCall[] | null;
}

export interface ChatChoice {
	index: number;
	message: AssistantMessage;
	finish_reason: string;
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
}

export interface ChatDelta {
	role?: string | null;
	content?: string | null;
	refusal?: string | null;
	reasoning_content?: string | null;
	reasoning?: string | null;
	tool_calls?: ToolCallDelta[] | null;
}

/** One event of an OpenAI chat stream. */
export interface ChatChunk {
	id: string;
	object: "chat.completion.chunk";
	created: number;
	model: string;
	choices: { index: number; delta: ChatDelta; finish_reason?: string | null; logprobs?: unknown }[];
	usage?: Usage | null;
}

/** The plain text of a message's content, a part a line; parts that are not text are left out. */
export function textOf(content: ChatMessage["content"]): string {
	if (content === null) return "";
	if (typeof content === "string") return content;
	return content.flatMap(({ text }) => (text ? [text] : [])).join("\n");
}
