/** The prompt of a chat, for the choice among replicas that have beginnings of prompts in their caches. */
import type { Prompt } from "../definition.ts";
import type { ChatInput, ContentPart } from "./types.ts";

/** Roughly, for a typical size. */
const MEDIA_TOKENS = 1_000;
/** Characters at the beginning and at the end of encoded media that distinguish it from other media. */
const MEDIA_SAMPLE = 128;

/** Chat templates write the tools before the messages. */
export function chatPrompt({ lora, messages, prompt, tools }: ChatInput): Prompt {
	const texts: string[] = [];
	let openingTexts = 0;
	let mediaTokens = 0;
	if (tools?.length) texts.push(JSON.stringify(tools));
	if (prompt !== undefined) openingTexts = texts.push(prompt);
	for (const { role, content, reasoning_content, tool_calls } of messages) {
		texts.push(role);
		if (typeof content === "string") texts.push(content);
		else
			for (const part of content ?? []) {
				const media = mediaOf(part);
				if (media !== undefined) mediaTokens += MEDIA_TOKENS;
				texts.push(media === undefined ? (part.text ?? part.refusal ?? "") : sampleOf(media));
			}
		if (reasoning_content) texts.push(reasoning_content);
		if (tool_calls) texts.push(JSON.stringify(tool_calls));
		if (role === "user" && openingTexts === 0) openingTexts = texts.length;
	}
	return { texts, openingTexts, mediaTokens, ...(lora !== undefined && { adapter: lora }) };
}

const mediaOf = ({ image_url, input_audio, file }: ContentPart): string | undefined =>
	image_url?.url ?? input_audio?.data ?? file?.file_data ?? file?.file_id;

const sampleOf = (media: string): string =>
	media.length <= 2 * MEDIA_SAMPLE
		? media
		: `${media.length} ${media.slice(0, MEDIA_SAMPLE)}${media.slice(-MEDIA_SAMPLE)}`;
