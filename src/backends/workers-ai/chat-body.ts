/** The body of a chat for Workers AI in OpenAI's format, shared by the OpenAI route and the route `run`. */
import { isRecord } from "../../core/json.ts";
import { inputFamily } from "../../models/family.ts";
import {
	type ChatInput,
	type ChatMessage,
	type ChatTool,
	commonEffort,
} from "../../tasks/text-generation/types.ts";
import { withoutSignatures } from "../sealed-messages.ts";
import { objectSchema } from "../tool-parameters.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { upstreamModel } from "./run.ts";

/** Whether the model takes the role `developer` and OpenAI's `response_format`. */
export const takesOpenAiMessages = (call: Call): boolean =>
	inputFamily(upstreamModel(call)).takesOpenAiMessages === true;

/** OpenAI's body, including the additional fields of the product's own models. */
export function chatBody(input: ChatInput, call: Call): Record<string, unknown> {
	const { messages, passthrough, reasoning_effort: _e, stream, ...others } = input;
	const effort = commonEffort(input);
	// `prompt` and `suffix` have a request of their own, `verbatim` is for Anthropic, and `dropped` is for the caller.
	const { prompt: _p, suffix: _s, verbatim: _v, dropped: _d, defaults: _f, ...withSummary } = others;
	const { reasoning_summary: _r, ...fields } = withSummary;
	const isOpenAi = takesOpenAiMessages(call);
	const { tools } = fields;
	return {
		...passthrough,
		...fields,
		...(tools && !isOpenAi && { tools: tools.map(describedTool) }),
		model: call.target.model,
		messages: messages.map((message) => messageOf(message, isOpenAi)),
		// Cloudflare's models have three of OpenAI's four efforts; `null` disables reasoning.
		reasoning_effort: effort === "minimal" ? "low" : effort,
		stream,
		stream_options: stream ? { include_usage: true } : undefined,
	};
}

/** The schemas of older models require descriptions, and a type of each parameter. */
export function describedTool(tool: ChatTool): object {
	const { description = "", parameters, ...called } = tool.function;
	const { properties } = objectSchema(parameters ?? undefined);
	const described = Object.entries(isRecord(properties) ? properties : {}).map(([name, sent]) => {
		const schema = isRecord(sent) ? sent : {};
		const type = typeof schema.type === "string" ? schema.type : (typesOf(schema.type)[0] ?? "string");
		return [name, { ...schema, type, description: schema.description ?? "" }];
	});
	const schema = { ...objectSchema(parameters ?? undefined), properties: Object.fromEntries(described) };
	return { ...tool, function: { ...called, description, parameters: schema } };
}

const typesOf = (sent: unknown): string[] =>
	Array.isArray(sent)
		? sent.filter((type): type is string => typeof type === "string" && type !== "null")
		: [];

/** Older models lack the role `developer`, and require a content. Reasoning of earlier turns is the field `reasoning`, without signatures. */
function messageOf(sent: ChatMessage, isOpenAi: boolean): object {
	const { reasoning_content, role, ...message } = withoutSignatures(sent);
	return {
		role: role === "developer" && !isOpenAi ? "system" : role,
		...message,
		...(message.content === null && !isOpenAi && { content: "" }),
		...(reasoning_content !== undefined && { reasoning: reasoning_content }),
	};
}
