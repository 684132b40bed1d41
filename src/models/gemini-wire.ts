/**
 * Names and numbers of Google's Gemini API (https://ai.google.dev/api/generate-content), for the backend that asks it and
 * the dialect that answers as it does.
 */

export interface Part {
	text?: string;
	/** The text is a summary of what was thought. */
	thought?: boolean;
	inlineData?: { mimeType: string; data: string };
	fileData?: { fileUri: string; mimeType?: string };
	functionCall?: { id: string; name: string; args: Record<string, unknown> };
	functionResponse?: { id: string; name: string; response: Record<string, unknown> };
	thoughtSignature?: string;
}

/** Tokens of thinking for each effort, as Google's own OpenAI route has them. */
export const THINKING_BUDGETS = { minimal: 1024, low: 1024, medium: 8192, high: 24_576 } as const;

/** MIME types of the formats of `input_audio` that are not `audio/{format}`. */
export const AUDIO_TYPES: Readonly<Record<string, string>> = { mp3: "audio/mp3", pcm16: "audio/pcm" };

/** OpenAI's reasons to finish. The first of several for one of OpenAI's is the usual one. */
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
