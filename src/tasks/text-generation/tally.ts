/** Adds the parts of a prompt or a reply to a token tally. */

import { bytesOfBase64, sizeOfUrl } from "../../counting/images.ts";
import { Approximation, type Tally } from "../../counting/tally.ts";
import type { AssistantMessage, ChatCompletion, ChatInput, ContentPart } from "./types.ts";

/** Formats of `input_audio` that are not compressed. */
const SAMPLES = new Set(["wav", "pcm16", "pcm"]);
/** A template adds an introduction to the tools and the instructions for calling them. */
const TOOLS_INTRODUCTION_PARTS = 12;

export function tallyPrompt(input: ChatInput, tally: Tally): void {
	const { messages, prompt, suffix, tools } = input;
	if (suffix !== undefined) tally.text(suffix);
	if (prompt !== undefined) tally.text(prompt);
	else tally.opening();
	tally.markers(messages.length);
	for (const { content, name, tool_calls, reasoning_content } of messages) {
		tallyContent(content, tally);
		if (name) tally.text(name);
		if (reasoning_content) tally.text(reasoning_content);
		for (const { function: called } of tool_calls ?? []) {
			tally.markers(2);
			tally.text(called.name);
			tally.text(called.arguments);
		}
	}
	if (!tools?.length) return;
	tally.markers(TOOLS_INTRODUCTION_PARTS);
	for (const tool of tools) tally.json(tool);
}

/** Tokens of the prompt by our own count. */
export function promptTokens(input: ChatInput): number {
	const tally = new Approximation();
	tallyPrompt(input, tally);
	return tally.tokens;
}

function tallyContent(content: string | ContentPart[] | null, tally: Tally): void {
	if (content === null) return;
	if (typeof content === "string") {
		tally.text(content);
		return;
	}
	for (const { text, refusal, image_url, input_audio, file } of content) {
		if (text) tally.text(text);
		if (refusal) tally.text(refusal);
		if (image_url) tally.image(sizeOfUrl(image_url.url));
		if (input_audio)
			tally.audio(
				bytesOfBase64(input_audio.data),
				SAMPLES.has(input_audio.format) ? "samples" : "compressed",
			);
		if (file?.file_data) tally.file(bytesOfBase64(file.file_data));
	}
}

/** The model's output, including reasoning and tool calls. */
export function tallyReply({ choices }: Pick<ChatCompletion, "choices">, tally: Tally): void {
	for (const { message } of choices) tallyMessage(message, tally);
}

function tallyMessage(message: AssistantMessage, tally: Tally): void {
	const { content, reasoning_content, reasoning, refusal, tool_calls } = message;
	const thinking = reasoning_content ?? reasoning;
	for (const text of [content, thinking, refusal]) if (text) tally.text(text);
	for (const { function: called } of tool_calls ?? []) {
		tally.markers(1);
		tally.text(called.name);
		tally.text(called.arguments);
	}
}
