/** The properties of a request by which `cloudflare/auto` and smart aliases choose a model: from a body of chat, Responses or Messages. */
import { isRecord } from "../../core/json.ts";

export interface RequestFeatures {
	/** Characters of all texts, without embedded media. */
	characters: number;
	/** Characters of the first message of the user, which stays the same for all turns of a conversation. */
	openingCharacters: number;
	/** Characters of the last message of the user. */
	latestCharacters: number;
	/** Messages of the user. */
	turns: number;
	tools: number;
	hasImages: boolean;
	/** Lower case. `none` also for a `null`. */
	effort?: string;
}

const IMAGE_TYPES: ReadonlySet<unknown> = new Set(["image", "image_url", "input_image"]);
const MAX_DEPTH = 32;

export function featuresOf(body: unknown): RequestFeatures {
	const fields = isRecord(body) ? body : {};
	const messages = messagesOf(fields);
	const own = messages.filter((message) => !isRecord(message) || isOfUser(message));
	const effort = effortOf(fields);
	return {
		characters: charactersIn([messages, fields.system, fields.instructions, fields.prompt, fields.tools]),
		openingCharacters: charactersIn(own[0]),
		latestCharacters: charactersIn(own.at(-1)),
		turns: own.length,
		tools: Array.isArray(fields.tools) ? fields.tools.length : 0,
		hasImages: messages.some((message) => hasImage(message, 0)),
		...(effort !== undefined && { effort }),
	};
}

function messagesOf({ messages, input, prompt }: Record<string, unknown>): unknown[] {
	if (Array.isArray(messages)) return messages;
	if (Array.isArray(input)) return input;
	return [input ?? prompt ?? ""];
}

/** A result of a tool is no turn. In Messages it is a part of a message of the user. */
const isOfUser = ({ role, content }: Record<string, unknown>): boolean =>
	role === "user" &&
	!(Array.isArray(content) && content.some((part) => isRecord(part) && part.type === "tool_result"));

function effortOf({
	reasoning_effort,
	reasoning,
	output_config,
	thinking,
}: Record<string, unknown>): string | undefined {
	const sent = [
		reasoning_effort,
		isRecord(reasoning) ? reasoning.effort : undefined,
		isRecord(output_config) ? output_config.effort : undefined,
	].find((value) => value !== undefined);
	if (sent === null) return "none";
	if (typeof sent === "string") return sent.toLowerCase();
	return isRecord(thinking) && thinking.type === "disabled" ? "none" : undefined;
}

function charactersIn(value: unknown, depth = 0): number {
	if (typeof value === "string") return value.startsWith("data:") ? 0 : value.length;
	if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return 0;
	// Base64 of a part of Messages has no prefix.
	if (isRecord(value) && typeof value.media_type === "string") return 0;
	return Object.values(value).reduce((sum: number, inner) => sum + charactersIn(inner, depth + 1), 0);
}

function hasImage(value: unknown, depth: number): boolean {
	if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return false;
	if (isRecord(value) && IMAGE_TYPES.has(value.type)) return true;
	return Object.values(value).some((inner) => hasImage(inner, depth + 1));
}
