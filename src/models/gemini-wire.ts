/**
 * Types and constants of Google's Gemini API (https://ai.google.dev/api/generate-content), shared by the backend that calls
 * it and the dialect that imitates it.
 */

export interface Part {
	text?: string;
	/** The text is a summary of the model's reasoning. */
	thought?: boolean;
	inlineData?: { mimeType: string; data: string };
	fileData?: { fileUri: string; mimeType?: string };
	functionCall?: { id: string; name: string; args: Record<string, unknown> };
	functionResponse?: { id: string; name: string; response: Record<string, unknown> };
	thoughtSignature?: string;
}

/** Reasoning tokens per effort, the values of Google's own OpenAI route. */
export const THINKING_BUDGETS = { minimal: 1024, low: 1024, medium: 8192, high: 24_576 } as const;

/** MIME types of `input_audio` formats, where the type is not `audio/{format}`. */
export const AUDIO_TYPES: Readonly<Record<string, string>> = { mp3: "audio/mp3", pcm16: "audio/pcm" };

/** Gemini's finish reasons and OpenAI's. Among several for one of OpenAI's, the first is the usual one. */
export const FINISH_REASONS: Readonly<Record<string, string>> = {
	STOP: "stop",
	MAX_TOKENS: "length",
	SAFETY: "content_filter",
	RECITATION: "content_filter",
	BLOCKLIST: "content_filter",
	PROHIBITED_CONTENT: "content_filter",
	SPII: "content_filter",
	IMAGE_SAFETY: "content_filter",
	IMAGE_PROHIBITED_CONTENT: "content_filter",
	IMAGE_RECITATION: "content_filter",
};
