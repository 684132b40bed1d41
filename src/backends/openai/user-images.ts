/** Hosted services with OpenAI's API take only text in a tool's result. Its images and files move to a user message after the results. */
import type { ChatMessage, ContentPart } from "../../tasks/text-generation/types.ts";

export function withUserImages(messages: readonly ChatMessage[]): ChatMessage[] {
	const moved: ChatMessage[] = [];
	let parts: ContentPart[] = [];
	for (const [index, message] of messages.entries()) {
		const { result, files } = message.role === "tool" ? splitResult(message) : { result: message, files: [] };
		moved.push(result);
		if (files.length > 0)
			parts.push(
				{ type: "text", text: `From the result of the tool call ${message.tool_call_id}:` },
				...files,
			);
		// All results must follow the calls directly.
		if (parts.length === 0 || messages[index + 1]?.role === "tool") continue;
		moved.push({ role: "user", content: parts });
		parts = [];
	}
	return moved;
}

function splitResult(message: ChatMessage): { result: ChatMessage; files: ContentPart[] } {
	if (!Array.isArray(message.content)) return { result: message, files: [] };
	const isText = ({ type }: ContentPart) => type === "text" || type === "refusal";
	const files = message.content.filter((part) => !isText(part));
	if (files.length === 0) return { result: message, files };
	const texts = message.content.filter(isText);
	const note = { type: "text", text: "The content is in the next user message." } as const;
	return { result: { ...message, content: [...texts, note] }, files };
}
