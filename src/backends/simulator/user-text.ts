/** The text that the user typed last, without what clients and templates add to it. */
import { type ChatInput, textOf } from "../../tasks/text-generation/types.ts";

/** Characters of a raw prompt that are read, the last ones. */
const MAX_PROMPT = 20_000;

/** Blocks that coding agents put into user messages: `<system-reminder>…</system-reminder>`, `<environment_context>…`. */
const MACHINE_BLOCK = /<([a-z]{1,60}[-_][\w-]{0,60}|instructions)\b[^<>]{0,500}>[\s\S]*?(?:<\/\1>|$)/gi;

/** The marks of chat templates, which a raw prompt contains. */
const TEMPLATE_MARKS =
	/<\|[^|>]{1,40}\|>(?:\s{0,9}(?:system|user|assistant)\b\n?)?|\[\/?INST\]|<<\/?SYS>>|<\/?s>|<(?:start|end)_of_turn>(?:user|model)?/g;

export interface UserText {
	/** Empty if the conversation has no text of the user. */
	text: string;
	/** Images, audio and files beside it. */
	attachments: number;
	/** The index of its message; -1 without one. Calls and results after it belong to it. */
	at: number;
}

/** A message that holds machine blocks only is not the user's last one. */
export function lastUserText({ messages, prompt }: ChatInput): UserText {
	if (prompt !== undefined) {
		const parts = prompt.slice(-MAX_PROMPT).split(TEMPLATE_MARKS);
		return { text: parts.findLast((part) => part.trim() !== "")?.trim() ?? "", attachments: 0, at: -1 };
	}
	for (const [at, { role, content }] of [...messages.entries()].reverse()) {
		if (role !== "user") continue;
		const text = textOf(content).replace(MACHINE_BLOCK, "").trim();
		const attachments = Array.isArray(content)
			? content.filter(({ text, refusal }) => text === undefined && refusal === undefined).length
			: 0;
		if (text !== "" || attachments > 0) return { text, attachments, at };
	}
	return { text: "", attachments: 0, at: -1 };
}
