/** Messages of the Chat Completions API, and the conversation in them. */
import * as z from "zod";
import { parseJson } from "../../../src/core/json.ts";
import { bytesOf, type Turn } from "../script.ts";

const cacheBreakpoint = z.looseObject({}).optional();
const Text = z.strictObject({
	type: z.literal("text"),
	text: z.string(),
	prompt_cache_breakpoint: cacheBreakpoint,
});
const Image = z.strictObject({
	type: z.literal("image_url"),
	image_url: z.strictObject({
		url: z.string().min(1),
		detail: z.enum(["auto", "low", "high", "original"]).optional(),
	}),
	prompt_cache_breakpoint: cacheBreakpoint,
});
const Audio = z.strictObject({
	type: z.literal("input_audio"),
	input_audio: z.strictObject({ data: z.string(), format: z.enum(["wav", "mp3"]) }),
});
const File = z.strictObject({
	type: z.literal("file"),
	file: z.strictObject({
		file_data: z.string().optional(),
		file_id: z.string().optional(),
		filename: z.string().optional(),
	}),
	prompt_cache_breakpoint: cacheBreakpoint,
});
const Refused = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });
const name = z.string().optional();
const texts = z.union([z.string(), z.array(Text).min(1)]);

const Call = z.discriminatedUnion("type", [
	z.strictObject({
		id: z.string(),
		type: z.literal("function"),
		function: z.strictObject({ name: z.string().regex(/^[\w-]{1,64}$/), arguments: z.string() }),
	}),
	z.strictObject({
		id: z.string(),
		type: z.literal("custom"),
		custom: z.strictObject({ name: z.string(), input: z.string() }),
	}),
]);

export const ChatMessage = z.discriminatedUnion("role", [
	z.strictObject({ role: z.literal("system"), content: texts, name }),
	z.strictObject({ role: z.literal("developer"), content: texts, name }),
	z.strictObject({
		role: z.literal("user"),
		content: z.union([z.string(), z.array(z.discriminatedUnion("type", [Text, Image, Audio, File])).min(1)]),
		name,
	}),
	z.strictObject({
		role: z.literal("assistant"),
		content: z
			.union([z.string(), z.array(z.discriminatedUnion("type", [Text, Refused])).min(1), z.null()])
			.optional(),
		name,
		refusal: z.string().nullish(),
		annotations: z.array(z.unknown()).optional(),
		audio: z.unknown().optional(),
		function_call: z.unknown().optional(),
		tool_calls: z.array(Call).min(1).optional(),
	}),
	// Text only: the API refuses images in results of tools.
	z.strictObject({ role: z.literal("tool"), content: texts, tool_call_id: z.string() }),
]);
export type ChatMessage = z.output<typeof ChatMessage>;

/** A fault of the order of calls and results, as the API words it. */
export function orderFault(messages: readonly ChatMessage[]): string | undefined {
	let open: string[] = [];
	for (const message of messages) {
		if (message.role === "tool") {
			if (!open.includes(message.tool_call_id))
				return "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";
			open.splice(open.indexOf(message.tool_call_id), 1);
			continue;
		}
		if (open.length > 0) return unanswered(open);
		if (message.role !== "assistant") continue;
		if (!message.tool_calls && (message.content ?? null) === null && !message.refusal)
			return "Invalid value for 'content': expected a string, got null.";
		open = (message.tool_calls ?? []).map(({ id }) => id);
	}
	return open.length > 0 ? unanswered(open) : undefined;
}

const unanswered = (ids: readonly string[]): string =>
	`An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(", ")}`;

type Part = z.output<typeof Text> | z.output<typeof Image> | { type: string };

const textOfContent = (content: string | readonly Part[] | null | undefined): string =>
	typeof content === "string"
		? content
		: (content ?? []).map((part) => ("text" in part ? part.text : "")).join("\n");

/** Results of neighbouring tool messages are one turn. */
export function turnsOf(messages: readonly ChatMessage[]): Turn[] {
	const names = new Map<string, string>();
	const turns: Turn[] = [];
	for (const message of messages) {
		const text = textOfContent(message.content);
		if (message.role === "tool") {
			const result = { name: names.get(message.tool_call_id) ?? "", text };
			const last = turns.at(-1);
			if (last && last.results.length > 0)
				turns[turns.length - 1] = { ...last, results: [...last.results, result] };
			else turns.push({ role: "user", text: "", images: [], calls: [], results: [result] });
			continue;
		}
		const calls = message.role === "assistant" ? (message.tool_calls ?? []) : [];
		for (const call of calls) if (call.type === "function") names.set(call.id, call.function.name);
		turns.push({
			role: message.role === "developer" ? "system" : message.role,
			text,
			images:
				message.role === "user" && typeof message.content !== "string"
					? message.content.flatMap((part) =>
							part.type === "image_url" ? [imageBytes(part.image_url.url)] : [],
						)
					: [],
			calls: calls.flatMap((call) =>
				call.type === "function"
					? [{ name: call.function.name, input: parsed(call.function.arguments) }]
					: [],
			),
			results: [],
		});
	}
	return turns;
}

/** 0 for an address, which the host would fetch. */
export const imageBytes = (url: string): number => {
	const [, base64] = /^data:image\/[\w+.-]+;base64,(.*)$/s.exec(url) ?? [];
	return base64 === undefined ? 0 : bytesOf(base64);
};

export const parsed = (text: string): Record<string, unknown> =>
	z
		.record(z.string(), z.unknown())
		.catch({})
		.parse(text === "" ? {} : parseJson(text));
