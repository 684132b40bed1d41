/**
 * Anthropic's `web_search_*` tools, and the blocks of earlier searches that callers send back.
 * https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/web-search-tool
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { parseAt } from "../../dialects/invalid-input.ts";
import { isOwnSeal, SERVER_TOOL_ID, unsealedText } from "../../dialects/messages/web-search.ts";
import { isProductId } from "../../models/model.ts";
import type { WebSearchCall } from "../../tasks/text-generation/types.ts";
import { type HostedFormat, recordsIn } from "./hosted-request.ts";
import { Domains, Location, refuseBoth } from "./search-fields.ts";
import { resultText, searchTool, searchToolName, searchToolSettings } from "./search-tool.ts";

const TYPE = /^web_search_\d{8}$/;

const Tool = lazy(() =>
	z.looseObject({
		max_uses: z.int().min(1).nullish(),
		allowed_domains: Domains(),
		blocked_domains: Domains(),
		user_location: Location(),
	}),
);

type Fields = Record<string, unknown>;

const isSearch = ({ type }: Fields): boolean => typeof type === "string" && TYPE.test(type);

const USE = "server_tool_use";
const RESULT = "web_search_tool_result";
const isUse = ({ type, name }: Fields): boolean => type === USE && name === "web_search";
const isSearchBlock = (block: Fields): boolean => isUse(block) || block.type === RESULT;

const blocksOf = ({ content }: Fields): Fields[] => recordsIn(content);

export const messagesTool: HostedFormat = {
	toolName: "tools.web_search",
	// A request for a model of Workers AI is not passed on unchanged.
	isAtUpstream: ({ kind }, { id }) => kind === "anthropic" && !isProductId(id),
	concerns: ({ tools, messages }) =>
		(Array.isArray(tools) && recordsIn(tools).some(isSearch)) ||
		(Array.isArray(messages) && recordsIn(messages).some(hasOwnBlock)),
	read(fields) {
		const tools = recordsIn(fields.tools);
		const index = tools.findIndex(isSearch);
		const hosted = tools[index];
		const { tool_choice: choice } = fields;
		if (!hosted || (isRecord(choice) && choice.type === "none")) return undefined;
		const at = `tools[${index}]`;
		const { max_uses, allowed_domains, blocked_domains, user_location } = parseAt(Tool(), hosted, at);
		refuseBoth(at, allowed_domains, blocked_domains);
		const toolName = searchToolName(tools.filter((tool) => !isSearch(tool)).map(({ name }) => name));
		const { name, description, parameters: input_schema } = searchTool(toolName);
		const isNamed = isRecord(choice) && choice.type === "tool" && choice.name === hosted.name;
		const isOnly = isRecord(choice) && choice.type === "any" && tools.every(isSearch);
		return {
			toolName,
			isForced: isNamed || isOnly,
			settings: searchToolSettings({
				maxUses: max_uses,
				allowedDomains: allowed_domains,
				blockedDomains: blocked_domains,
				location: user_location,
			}),
			fields: (finished) => ({
				...fields,
				messages: asToolMessages(recordsIn(fields.messages), { toolName, finished }),
				tools: [...tools.filter((tool) => !isSearch(tool)), { name, description, input_schema }],
				...(isNamed && { tool_choice: { ...choice, name: toolName } }),
			}),
			echoed: {},
			pending: pendingIn(recordsIn(fields.messages)),
			style: { showsSearches: true, leavesPending: true, pauses: true },
		};
	},
	forUpstream: (fields) =>
		recordsIn(fields.messages).some(hasOwnBlock)
			? { ...fields, messages: withoutOwnBlocks(recordsIn(fields.messages)) }
			: fields,
	withoutTool(fields) {
		if (!recordsIn(fields.messages).some(hasOwnBlock)) return fields;
		const messages = asToolMessages(recordsIn(fields.messages), { toolName: "web_search", finished: [] });
		return { ...fields, messages };
	},
};

/** The searches of the last answer that have no result. */
function pendingIn(messages: readonly Fields[]): WebSearchCall[] {
	const last = messages.findLast(({ role }) => role === "assistant");
	if (!last) return [];
	const blocks = blocksOf(last);
	const finished = new Set(blocks.map(({ tool_use_id }) => tool_use_id));
	return blocks.filter(isUse).flatMap(({ id, input }) => {
		const query = isRecord(input) && typeof input.query === "string" ? input.query : "";
		return typeof id === "string" && !finished.has(id) ? [{ id, query }] : [];
	});
}

interface ToolHistory {
	toolName: string;
	/** Searches whose results are not in the messages. */
	finished: readonly WebSearchCall[];
}

/** Searches as calls and results of a function. An answer with searches becomes several messages. */
function asToolMessages(messages: readonly Fields[], { toolName, finished }: ToolHistory): Fields[] {
	const found = new Map(finished.map((call) => [call.id, call]));
	const converted: Fields[] = [];
	let results: Fields[] = [];
	for (const message of messages) {
		const blocks = blocksOf(message);
		if (message.role === "user" && results.length > 0) {
			const content =
				typeof message.content === "string" ? [{ type: "text", text: message.content }] : blocks;
			converted.push({ ...message, content: [...results, ...content] });
			results = [];
			continue;
		}
		if (!blocks.some(isSearchBlock)) {
			converted.push(message);
			continue;
		}
		const answered = new Set(blocks.map(({ tool_use_id }) => tool_use_id));
		let part: Fields[] = [];
		const endPart = (): void => {
			if (part.length > 0) converted.push({ ...message, content: part });
			if (results.length > 0) converted.push({ role: "user", content: results });
			part = [];
			results = [];
		};
		for (const block of blocks) {
			if (block.type === RESULT) {
				results.push({
					type: "tool_result",
					tool_use_id: block.tool_use_id,
					content: storedResult(block),
				});
				continue;
			}
			if (results.length > 0) endPart();
			if (!isUse(block)) part.push(block);
			else if (answered.has(block.id) || found.has(String(block.id)))
				part.push({ type: "tool_use", id: block.id, name: toolName, input: block.input ?? {} });
		}
		// The results of pending searches stand beside those of the caller's tools, in the next message.
		const pending = blocks.filter(isUse).flatMap(({ id }) => found.get(String(id)) ?? []);
		endPart();
		results = pending.map((call) => ({
			type: "tool_result",
			tool_use_id: call.id,
			content: resultText(call),
		}));
	}
	if (results.length > 0) converted.push({ role: "user", content: results });
	return converted;
}

/**
 * The text of a result that the caller sends back. Only the gateway's own results have excerpts. A page without an address cannot be cited,
 * and is left out; one without a title has its address instead.
 */
function storedResult({ tool_use_id, content }: Fields): string {
	const id = String(tool_use_id);
	if (!Array.isArray(content)) return resultText({ id, query: "" });
	const sources = recordsIn(content).flatMap(({ url, title, page_age, encrypted_content }) => {
		if (typeof url !== "string") return [];
		const date = typeof page_age === "string" && { date: page_age };
		const text = unsealedText(String(encrypted_content));
		return [{ url, title: typeof title === "string" && title ? title : url, text, ...date }];
	});
	return resultText({ id, query: "", outcome: { sources } });
}

/** Anthropic refuses results and citations that it has not made. */
function withoutOwnBlocks(messages: readonly Fields[]): Fields[] {
	return messages.flatMap((message) => {
		if (message.role !== "assistant" || !Array.isArray(message.content)) return [message];
		const content = blocksOf(message)
			.filter(({ id, tool_use_id }) => ![id, tool_use_id].some(isOwnId))
			.map(withoutOwnCitations);
		return content.length > 0 ? [{ ...message, content }] : [];
	});
}

const hasOwnBlock = (message: Fields): boolean =>
	Array.isArray(message.content) &&
	blocksOf(message).some(
		({ id, citations }) =>
			isOwnId(id) || recordsIn(citations).some(({ encrypted_index }) => isOwnSeal(encrypted_index)),
	);

const isOwnId = (id: unknown): boolean => typeof id === "string" && id.startsWith(SERVER_TOOL_ID);

function withoutOwnCitations(block: Fields): Fields {
	if (!Array.isArray(block.citations)) return block;
	const { citations, ...others } = block;
	const kept = recordsIn(citations).filter(({ encrypted_index }) => !isOwnSeal(encrypted_index));
	if (kept.length === recordsIn(citations).length) return block;
	return kept.length > 0 ? { ...others, citations: kept } : others;
}
