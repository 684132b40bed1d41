/**
 * The content blocks of a Messages request. They are parsed one at a time, so that an error names its block.
 *
 * Blocks of unknown types are dropped and listed. They belong to tools that Anthropic runs (`server_tool_use`,
 * `web_search_tool_result`), or clients send them with a beta. A user's block of an unknown type is not dropped if Anthropic may answer.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { ContentPart } from "../../tasks/text-generation/types.ts";
import { breakpointOf } from "../chat/cache-control.ts";
import type { ContentRules } from "../chat/messages.ts";
import { badInput, parseElement, pointerTo } from "../invalid-input.ts";
import { checkImageUrl } from "../media/image-url.ts";
import { NAMEABLE } from "../nameable.ts";

export const Loose = z.looseObject({ type: z.string() });
/** A text is short for one text block. */
export const MessageContent = z.union([z.string(), z.array(Loose)]);
export type MessageContent = z.output<typeof MessageContent>;

/** A block of the request and its place. */
export interface PlacedBlock {
	block: z.output<typeof Loose>;
	/** `messages[1].content[0]` */
	at: string;
}

export function placeBlocks(content: MessageContent, at: string): PlacedBlock[] {
	if (typeof content === "string") return [{ block: { type: "text", text: content }, at }];
	return content.map((block, index) => ({ block, at: `${at}[${index}]` }));
}

const Text = z.object({ type: z.literal("text"), text: z.string() });

const Base64 = z.object({ type: z.literal("base64"), media_type: z.string().min(1), data: z.string() });
const Address = z.object({ type: z.literal("url"), url: z.string() });
const Image = z.object({
	type: z.literal("image"),
	source: z.discriminatedUnion("type", [Base64, Address]),
});

const Document = z.object({
	type: z.literal("document"),
	title: z.string().nullish(),
	source: z.discriminatedUnion("type", [
		Base64,
		z.object({ type: z.literal("text"), data: z.string() }),
		z.object({ type: z.literal("content"), content: MessageContent }),
	]),
});

const ToolResult = z.object({
	type: z.literal("tool_result"),
	tool_use_id: z.string().min(1),
	content: MessageContent.nullish(),
	is_error: z.boolean().nullish(),
});

const ToolUse = z.object({
	type: z.literal("tool_use"),
	id: z.string().min(1),
	name: z.string().min(1),
	input: z.record(z.string(), z.unknown()),
});
const Thinking = z.object({
	type: z.literal("thinking"),
	thinking: z.string(),
	signature: z.string().nullish(),
});
/** Only Anthropic's models can read it. */
const RedactedThinking = z.object({ type: z.literal("redacted_thinking"), data: z.string() });

/** A tool that a tool search has found. The request also contains the tool itself. */
const ToolReference = z.object({ type: z.literal("tool_reference"), tool_name: z.string().min(1) });

/** A result of the caller's own search. */
const SearchResult = z.object({
	type: z.literal("search_result"),
	source: z.string(),
	title: z.string(),
	content: MessageContent,
});

const PartBlock = z.discriminatedUnion("type", [Text, Image, Document, SearchResult]);
const ResultBlock = z.discriminatedUnion("type", [...PartBlock.options, ToolReference]);
type ResultBlock = z.output<typeof ResultBlock>;
const UserBlock = z.discriminatedUnion("type", [...PartBlock.options, ToolResult]);
type UserBlock = z.output<typeof UserBlock>;
const AssistantBlock = z.discriminatedUnion("type", [Text, Thinking, RedactedThinking, ToolUse]);
export type AssistantBlock = z.output<typeof AssistantBlock>;

export interface BlockRules extends ContentRules {
	/** Called with the name of a part that engines do not receive. */
	onDropped(part: string): void;
	/** Called with the error for content that is not read here, in place of throwing it. */
	onUnsupported?: UnsupportedHandler;
}
type UnsupportedHandler = (refusal: AiError) => void;

/** Returns nothing for content that was reported to `onUnsupported`. */
export function readOrReport<T>(read: () => T, onUnsupported: UnsupportedHandler | undefined): T[] {
	try {
		return [read()];
	} catch (error) {
		if (!onUnsupported || !(error instanceof AiError)) throw error;
		onUnsupported(error);
		return [];
	}
}

const typesOf = (union: { options: readonly { shape: { type: z.ZodLiteral<string> } }[] }) =>
	new Set(union.options.flatMap(({ shape }) => [...shape.type.values]));
const USER_TYPES = typesOf(UserBlock);
const RESULT_TYPES = typesOf(ResultBlock);
const ASSISTANT_TYPES = typesOf(AssistantBlock);

function isDropped({ type }: PlacedBlock["block"], types: ReadonlySet<string>, rules: BlockRules): boolean {
	if (types.has(type) || !NAMEABLE.test(type)) return false;
	rules.onDropped(`messages.${type}`);
	return true;
}

/** Throws 8001, as do the readers below. */
export const readUserBlock = ({ block, at }: PlacedBlock, rules: BlockRules): UserBlock[] =>
	!rules.onUnsupported && isDropped(block, USER_TYPES, rules)
		? []
		: readOrReport(() => parseElement(UserBlock, block, at), rules.onUnsupported);
export const readAssistantBlock = ({ block, at }: PlacedBlock, rules: BlockRules): AssistantBlock[] =>
	isDropped(block, ASSISTANT_TYPES, rules)
		? []
		: readOrReport(() => parseElement(AssistantBlock, block, at), rules.onUnsupported);

const TextBlock = z.discriminatedUnion("type", [Text]);

/** Instructions: blocks that must be text, without empty ones. Parts only if one of them has a cache breakpoint. */
export function readInstructions(blocks: PlacedBlock[], rules: BlockRules): string | ContentPart[] {
	const parts = blocks.flatMap(({ block, at }) =>
		readOrReport(
			() => withBreakpoint(textParts(parseElement(TextBlock, block, at).text), block),
			rules.onUnsupported,
		).flat(),
	);
	return contentOf(parts, "\n\n");
}

/** The breakpoint of a block is after its last part. */
export function withBreakpoint(parts: ContentPart[], block: PlacedBlock["block"]): ContentPart[] {
	const last = parts.at(-1);
	const breakpoint = breakpointOf(block);
	return last && breakpoint.cache_control ? parts.with(-1, { ...last, ...breakpoint }) : parts;
}

/** One text, if the parts are nothing else: some chat templates accept only strings. */
export function contentOf(parts: ContentPart[], separator = "\n"): string | ContentPart[] {
	const isPlain = parts.every(({ type, cache_control }) => type === "text" && !cache_control);
	return isPlain ? parts.map(({ text }) => text).join(separator) : parts;
}

/** The content of a tool's result. */
export const readResult = (content: MessageContent, at: string, rules: BlockRules): ContentPart[] =>
	placeBlocks(content, at).flatMap(({ block, at: here }) =>
		!rules.onUnsupported && isDropped(block, RESULT_TYPES, rules)
			? []
			: readOrReport(
					() => withBreakpoint(partsOf(parseElement(ResultBlock, block, here), here, rules), block),
					rules.onUnsupported,
				).flat(),
	);

/** The block as chat parts; none for an empty text. Throws 5006 for content that the model does not accept. */
export function partsOf(block: ResultBlock, at: string, rules: BlockRules): ContentPart[] {
	switch (block.type) {
		case "text":
			return textParts(block.text);
		case "image": {
			const { source } = block;
			refuseIfTextOnly(at, rules);
			const url = source.type === "url" ? source.url : dataUrl(source);
			checkImageUrl(url, pointerTo(`${at}.source`), rules);
			return [{ type: "image_url", image_url: { url } }];
		}
		case "document":
			return documentParts(block, at, rules);
		case "search_result":
			return [
				...textParts(`${block.title}\n${block.source}`),
				...readResult(block.content, `${at}.content`, rules),
			];
		case "tool_reference":
			return textParts(`Tool ${block.tool_name} is now available.`);
		default:
			return block satisfies never;
	}
}

/** The title and the text, or a file for the engine to read. */
function documentParts(
	{ title, source }: z.output<typeof Document>,
	at: string,
	rules: BlockRules,
): ContentPart[] {
	const heading = textParts(title ?? "");
	switch (source.type) {
		case "text":
			return [...heading, ...textParts(source.data)];
		case "content":
			return [...heading, ...readResult(source.content, `${at}.source.content`, rules)];
		case "base64": {
			refuseIfTextOnly(at, rules);
			const file = { file_data: dataUrl(source), ...(title && { filename: title }) };
			return [{ type: "file", file }];
		}
		default:
			return source satisfies never;
	}
}

const textParts = (text: string): ContentPart[] => (text.trim() === "" ? [] : [{ type: "text", text }]);

const dataUrl = ({ media_type, data }: z.output<typeof Base64>): string =>
	`data:${media_type};base64,${data}`;

function refuseIfTextOnly(at: string, rules: ContentRules): void {
	if (rules.textOnly) throw badInput(`'${pointerTo(at)}' must be text: the model takes no other`);
}
