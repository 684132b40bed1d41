/**
 * Cache breakpoints (`cache_control` of Anthropic's API) in a chat input. Hosts that know them get them. All others get the request
 * without: content that is only text is then one text, because some chat templates accept only strings.
 */
import type { CacheBreakpoint, ChatInput, ChatMessage } from "../tasks/text-generation/types.ts";

const hasBreakpoint = ({ content }: ChatMessage): boolean =>
	Array.isArray(content) && content.some(({ cache_control }) => cache_control !== undefined);

/** The input itself if it has no breakpoint. */
export function withoutBreakpoints(sent: ChatInput): ChatInput {
	const input = sent.cache_control === undefined ? sent : withoutBreakpoint(sent);
	const { messages, tools } = input;
	const inMessages = messages.some(hasBreakpoint);
	const inTools = tools?.some(({ cache_control }) => cache_control !== undefined);
	if (!inMessages && !inTools) return input;
	return {
		...input,
		messages: messages.map((message) => (hasBreakpoint(message) ? plainMessage(message) : message)),
		...(tools && { tools: tools.map(withoutBreakpoint) }),
	};
}

function plainMessage(message: ChatMessage): ChatMessage {
	const parts = Array.isArray(message.content) ? message.content : [];
	const isText = parts.every(({ type }) => type === "text");
	// As instructions without breakpoints are joined.
	const separator = message.role === "system" ? "\n\n" : "\n";
	return {
		...message,
		content: isText ? parts.map(({ text }) => text).join(separator) : parts.map(withoutBreakpoint),
	};
}

const withoutBreakpoint = <T extends { cache_control?: CacheBreakpoint }>({ cache_control: _, ...sent }: T) =>
	sent;
