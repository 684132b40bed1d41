/**
 * Converts a chat to the body of `POST /responses`: https://platform.openai.com/docs/api-reference/responses/create. Nothing is
 * stored at the service, whose own default is to store. Reasoning is requested encrypted, so that the caller can carry it.
 *
 * The API has no `n`, `stop`, `seed`, penalties, `logit_bias` and `prediction`: several answers are refused, the others left out
 * and named. Its least output limit is 16 tokens.
 */
import { isRecord } from "../../../core/json.ts";
import { pick, present } from "../../../core/present.ts";
import type { ChatInput, ChatTool, EngineSearch, ToolChoice } from "../../../tasks/text-generation/types.ts";
import type { Seals } from "../../seals.ts";
import { objectSchema } from "../../tool-parameters.ts";
import type { Call } from "../../transport/upstream-failure.ts";
import { loraUnsupported, unsupported } from "../../unsupported.ts";
import { requestsSearch } from "../choose-api.ts";
import { ENGINE_SAMPLING, serviceAt } from "../hosts.ts";
import { modelAt } from "../model-fields.ts";
import { itemsOf } from "./items.ts";

const MIN_OUTPUT_TOKENS = 16;
export const ENCRYPTED_REASONING = "reasoning.encrypted_content";
const LOGPROBS = "message.output_text.logprobs";
const SEARCH_SOURCES = "web_search_call.action.sources";

/** The service refuses its search with the effort below. */
const LOWEST_SEARCH_EFFORT = "low";

/** Fields of a chat that the API does not have. */
const ABSENT = ["stop", "seed", "frequency_penalty", "presence_penalty", "logit_bias"] as const;
/** Fields that both APIs have, by the same name. */
const SHARED = [
	"metadata",
	"moderation",
	"prompt_cache_key",
	"prompt_cache_options",
	"prompt_cache_retention",
	"safety_identifier",
	"service_tier",
] as const;
/** Fields of a chat that have another form here, or that this request sets itself. */
const CONVERTED: ReadonlySet<string> = new Set(["verbosity", "web_search_options", "store"]);

export function bodyOf(input: ChatInput, call: Call, seals: Seals | undefined): Record<string, unknown> {
	refuseUnsupported(input, call);
	const { target } = call;
	const { max_tokens, stream, parallel_tool_calls, top_logprobs, logprobs, web_search } = input;
	const tools = toolsOf(input);
	const text = textOf(input);
	return {
		...passedFields(input, call),
		...(serviceAt(target).isOpenAi ? {} : { top_k: input.top_k, ...target.requestFields }),
		model: target.model,
		input: itemsOf(input.messages, call, seals),
		...pick(input, "temperature", "top_p", "user"),
		...(max_tokens !== undefined && { max_output_tokens: Math.max(max_tokens, MIN_OUTPUT_TOKENS) }),
		...(tools.length > 0 && { tools, ...present({ parallel_tool_calls }) }),
		...choiceField(input, tools.length > 0),
		...(Object.keys(text).length > 0 && { text }),
		...reasoningFields(input, call),
		...(logprobs && { top_logprobs: top_logprobs ?? 0 }),
		...(web_search?.maxUses !== undefined && { max_tool_calls: web_search.maxUses }),
		include: [
			...(reasons(call) ? [ENCRYPTED_REASONING] : []),
			...(logprobs ? [LOGPROBS] : []),
			...(web_search?.showsSearches ? [SEARCH_SOURCES] : []),
		],
		store: false,
		...streamFields(stream, call),
	};
}

/** The padding of events against observers of the traffic is for the service's own connection. */
export const streamFields = (stream: boolean, { target }: Call): object => ({
	stream,
	...(stream && serviceAt(target).isOpenAi && { stream_options: { include_obfuscation: false } }),
});

function refuseUnsupported(input: ChatInput, call: Call): void {
	if (input.lora !== undefined) throw loraUnsupported(call);
	if (input.n !== undefined && input.n > 1) throw unsupported(call, "gives one answer a request");
	if (Array.isArray(input.passthrough?.modalities) && input.passthrough.modalities.includes("audio"))
		throw unsupported(call, "generates no audio by its Responses API");
	for (const name of ABSENT) if (input[name] !== undefined) call.report?.dropped.push(name);
}

/** A model of the table that does not reason refuses to include reasoning. */
const reasons = (call: Call): boolean => modelAt(call)?.efforts.length !== 0;

/** The fields of the caller that are sent unchanged. Engines ignore unknown ones, OpenAI refuses them. */
function passedFields({ passthrough = {} }: ChatInput, call: Call): Record<string, unknown> {
	const shared: readonly string[] = SHARED;
	const isOwnEngine = !serviceAt(call.target).isOpenAi;
	const fields: Record<string, unknown> = {};
	for (const [name, value] of Object.entries(passthrough)) {
		if (CONVERTED.has(name)) continue;
		if (shared.includes(name) || isOwnEngine) fields[name] = value;
		else if (!ENGINE_SAMPLING.has(name)) call.report?.dropped.push(name);
	}
	return fields;
}

function reasoningFields(input: ChatInput, call: Call): object {
	const { reasoning_effort, reasoning_summary } = input;
	if (!reasons(call)) return {};
	const isTooLow = reasoning_effort === "minimal" && requestsSearch(input);
	const effort = isTooLow ? LOWEST_SEARCH_EFFORT : reasoning_effort;
	const shows = reasoning_summary ?? (effort && effort !== "none" ? "auto" : undefined);
	const summary = call.target.observed?.refusesSummaries?.has(call.target.model) ? undefined : shows;
	// A model of another host may not have `none`.
	const reasoning = present({ effort: effort ?? undefined, summary });
	return Object.keys(reasoning).length > 0 ? { reasoning } : {};
}

function toolsOf({ tools = [], passthrough, web_search }: ChatInput): object[] {
	const options = passthrough?.web_search_options;
	const search = web_search ? [engineSearch(web_search)] : isRecord(options) ? [webSearch(options)] : [];
	return [...tools.map(toolOf), ...search];
}

/** The API's default is strict, chat's is not. */
const toolOf = ({ function: { name, description, parameters, strict } }: ChatTool): object => ({
	type: "function",
	name,
	...present({ description }),
	parameters: objectSchema(parameters),
	strict: strict ?? false,
});

function engineSearch({ contextSize, location, allowedDomains, blockedDomains }: EngineSearch): object {
	const filters = present({ allowed_domains: allowedDomains, blocked_domains: blockedDomains });
	return {
		type: "web_search",
		...present({ search_context_size: contextSize }),
		...(Object.keys(filters).length > 0 && { filters }),
		...(location && { user_location: { type: "approximate", ...location } }),
	};
}

/** Chat has the location inside `approximate`. */
function webSearch({ search_context_size, user_location }: Record<string, unknown>): object {
	const location =
		isRecord(user_location) && isRecord(user_location.approximate) && user_location.approximate;
	return {
		type: "web_search",
		...present({ search_context_size }),
		...(location && { user_location: { type: "approximate", ...location } }),
	};
}

function choiceField({ tool_choice, web_search }: ChatInput, hasTools: boolean): object {
	if (web_search?.isForced) return { tool_choice: { type: "web_search" } };
	return tool_choice && hasTools ? { tool_choice: choiceOf(tool_choice) } : {};
}

function choiceOf(choice: ToolChoice): unknown {
	if (typeof choice === "string") return choice;
	if (choice.type === "function") return { type: "function", name: choice.function.name };
	const { mode, tools } = choice.allowed_tools;
	return { type: "allowed_tools", mode, tools: tools.map(flatTool) };
}

/** `{type: "function", function: {name}}` becomes `{type: "function", name}`. */
const flatTool = (tool: unknown): unknown =>
	isRecord(tool) && isRecord(tool.function) ? { type: "function", name: tool.function.name } : tool;

function textOf({ response_format: format, passthrough }: ChatInput): Record<string, unknown> {
	const verbosity = passthrough?.verbosity;
	return {
		...(format && { format: formatOf(format) }),
		...(verbosity !== undefined && { verbosity }),
	};
}

function formatOf(format: NonNullable<ChatInput["response_format"]>): object {
	if (format.type !== "json_schema") return { type: format.type };
	const { name, schema, strict, description } = format.json_schema;
	return { type: "json_schema", name, schema, ...present({ strict, description }) };
}
