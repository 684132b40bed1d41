/** What each client of the odd replies requests, and how it reads the reason of the end of a message. */

export const PROMPT = "What is the weather in Oslo and in Rome?";
export const PARAMETERS = { type: "object" as const, properties: { city: { type: "string" } } };
export const NAMES = ["get_weather", "get_time"];

const STOP_REASONS: Readonly<Record<string, string>> = {
	end_turn: "stop",
	max_tokens: "length",
	tool_use: "tool_calls",
	refusal: "content_filter",
};

/** Anthropic's `stop_reason` in the words of chats. */
export const finishOfMessage = (stopReason: string | null): string =>
	STOP_REASONS[stopReason ?? ""] ?? `unknown: ${stopReason}`;
