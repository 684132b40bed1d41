/**
 * Chat templates of many open models (Qwen, Gemma, Mistral) take one system message, at the beginning, and fail on any
 * other. Coding agents send them in the middle of a conversation.
 *
 * The leading ones are joined into one. A later one is appended to the preceding user message, or else prepended to the
 * following one, or else becomes a user message itself. Only its neighbours decide, so a longer conversation begins with
 * the same bytes, and an engine's prefix cache stays valid. Pure.
 */
import type { ChatMessage, ContentPart } from "../tasks/text-generation/types.ts";
import type { Target } from "./backend.ts";

const isSystem = ({ role }: ChatMessage): boolean => role === "system" || role === "developer";

export function foldSystemMessages(
	messages: readonly ChatMessage[],
	{ systemMessages }: Target,
): ChatMessage[] {
	if (systemMessages === "anywhere" || !messages.slice(1).some(isSystem)) return [...messages];
	const headLength = messages.findIndex((message) => !isSystem(message));
	const head = headLength < 0 ? messages : messages.slice(0, headLength);
	const folded: ChatMessage[] = [];
	const [first, ...others] = head;
	if (first)
		folded.push({
			...first,
			content: others.reduce((sum, { content }) => join(sum, content), first.content),
		});
	/** The last message is a converted system message; a following user message is joined to it. */
	let isJoinable = false;
	for (const message of messages.slice(head.length)) {
		const last = folded.at(-1);
		if (isSystem(message)) {
			const content = marked(message.content);
			if (last?.role === "user") last.content = join(last.content, content);
			else {
				folded.push({ role: "user", content });
				isJoinable = true;
			}
		} else if (isJoinable && message.role === "user" && last) {
			last.content = join(last.content, message.content);
			isJoinable = false;
		} else {
			folded.push({ ...message });
			isJoinable = false;
		}
	}
	return folded;
}

/** Lets the model distinguish it from the user's text. */
const marked = (content: ChatMessage["content"]): ChatMessage["content"] =>
	typeof content === "string"
		? `<system>\n${content}\n</system>`
		: [{ type: "text", text: "<system>" }, ...(content ?? []), { type: "text", text: "</system>" }];

function join(one: ChatMessage["content"], other: ChatMessage["content"]): ChatMessage["content"] {
	if (typeof one === "string" && typeof other === "string") return `${one}\n\n${other}`;
	return [...partsOf(one), ...partsOf(other)];
}

const partsOf = (content: ChatMessage["content"]): ContentPart[] =>
	typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
