/** Reads tool calls as engines send them, whole or in pieces. */
import { isRecord, parseJson, parseRecord } from "../../../core/json.ts";
import { JsonRepair } from "../../../core/json-repair.ts";
import type { ChatInput, ChatTool, ToolCall } from "../../../tasks/text-generation/types.ts";
import { decodedOnce, mayBeEncodedTwice, mayBeFenced, readArguments } from "../../tool-arguments.ts";
import type { Call } from "../../transport/upstream-failure.ts";

export interface ToolCallContext {
	/** Names of the tools that the request offers. Empty: unknown. */
	toolNames: readonly string[];
	/** Names of those whose arguments are no object. */
	otherTools: ReadonlySet<string>;
	newId(): string;
}

/** What the readers of a reply have to know of the request. */
export const toolContext = (
	{ tools }: Pick<ChatInput, "tools">,
	{ services }: Pick<Call, "services">,
): ToolCallContext => ({
	toolNames: tools?.map(({ function: { name } }) => name) ?? [],
	otherTools: new Set(tools?.filter((tool) => !takesObject(tool)).map(({ function: { name } }) => name)),
	newId: () => `call_${services.uuid()}`,
});

function takesObject({ function: { parameters } }: ChatTool): boolean {
	const type = parameters?.type ?? "object";
	return type === "object" || (Array.isArray(type) && type.includes("object"));
}

/** Arguments of a call that has none. */
export const NO_ARGUMENTS = "{}";

/** One call, or a piece of one. */
export interface SentCall {
	id: string | undefined;
	index: number | undefined;
	/** "" if the piece has none. */
	name: string;
	/** JSON text, or a piece of it. */
	arguments: string;
	/** Further fields, such as Gemini's signature. */
	fields: Record<string, unknown>;
}

/** `tool_calls`, as a list or as one call, or the legacy `function_call`. */
export function sentCallsOf({ tool_calls, function_call }: Record<string, unknown>): readonly unknown[] {
	const calls = Array.isArray(tool_calls) ? tool_calls : isRecord(tool_calls) ? [tool_calls] : [];
	return calls.length === 0 && isRecord(function_call) ? [{ function: function_call }] : calls;
}

/**
 * OpenAI's forms (`{id, index, function}`, `{custom}`), or flat (`{name, arguments}`). Some hosts call the arguments `parameters`, `input` or
 * `args`, and send the function as a text: its JSON, or its name.
 */
export function readCall(sent: unknown): SentCall {
	if (!isRecord(sent)) return { id: undefined, index: undefined, name: "", arguments: "", fields: {} };
	const {
		id,
		index,
		type: _,
		function: called,
		custom,
		name,
		arguments: flat,
		parameters,
		input,
		args,
		...fields
	} = sent;
	const inner = typeof called === "string" ? (parseRecord(called) ?? { name: called }) : called;
	const own = { arguments: flat, parameters, input, args };
	const call = { ...own, name, ...[inner, custom].find(isRecord) };
	const at = typeof index === "string" && index.trim() !== "" ? Number(index) : index;
	return {
		id: typeof id === "number" ? String(id) : typeof id === "string" && id !== "" ? id : undefined,
		index: typeof at === "number" && Number.isInteger(at) && at >= 0 ? at : undefined,
		name: typeof call.name === "string" ? call.name : "",
		arguments: argumentsText(call.arguments ?? call.parameters ?? call.input ?? call.args),
		fields,
	};
}

/** Arguments as JSON text. Some engines send the object. */
export const argumentsText = (sent: unknown): string =>
	typeof sent === "string" ? sent : sent === undefined || sent === null ? "" : JSON.stringify(sent);

/**
 * The calls of a complete reply. A call without a name is that of the only tool; if there are several tools, it is left out.
 */
export function readToolCalls(sent: readonly unknown[], context: ToolCallContext): ToolCall[] {
	const ids = new Set<string>();
	return sent.map(readCall).flatMap((call) => {
		const name = toolNameOf(call, context);
		if (name === undefined) return [];
		const id = call.id !== undefined && !ids.has(call.id) ? call.id : context.newId();
		ids.add(id);
		const sentText = context.otherTools.has(name) ? call.arguments : readArguments(call.arguments);
		const text = sentText.trim() === "" ? NO_ARGUMENTS : sentText;
		return [{ ...call.fields, id, type: "function", function: { name, arguments: text } }];
	});
}

/**
 * Whether the text is the beginning of an object, or of one that is encoded twice. Observed: engines that claim complete calls
 * (`tool_calls`) when the limit of the answer cut their arguments off (vLLM's streams).
 */
export function isCutOff(text: string): boolean {
	if (mayBeFenced(text)) return decodedOnce(text) === text || isCutOff(decodedOnce(text));
	if (mayBeEncodedTwice(text)) return parseJson(text) === undefined;
	const json = new JsonRepair();
	json.write(text);
	return json.state === "open";
}

/** Text that models write before or after a tool's name: "functions.get_weather", "get_weather<|channel|>commentary". */
const AROUND_NAME = /^(?:functions|tools|default_api)[.:]|<\|.*$/g;

/** The name of the called tool. `undefined`: there is none. */
export function toolNameOf(
	{ name, arguments: text }: Pick<SentCall, "name" | "arguments">,
	{ toolNames }: ToolCallContext,
): string | undefined {
	if (toolNames.includes(name)) return name;
	const trimmed = name.trim();
	if (trimmed === "") return text !== "" && toolNames.length === 1 ? toolNames[0] : undefined;
	const bare = trimmed.replace(AROUND_NAME, "");
	return toolNames.includes(bare) ? bare : trimmed;
}
