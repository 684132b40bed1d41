/** Tools, the tool choice, and the format of the answer, which may be a tool. */
import { isRecord } from "../../core/json.ts";
import type { ChatInput, ChatTool, ResponseFormat } from "../../tasks/text-generation/types.ts";
import { narrowTools } from "../allowed-tools.ts";
import { objectSchema } from "../tool-parameters.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { grammarOf } from "./grammar.ts";
import type { Traits } from "./traits.ts";
import { SEARCH_NAME, searchTools, type WebSearchTool } from "./web-search.ts";

/** A function of the caller. */
export interface AnthropicTool {
	name: string;
	description?: string;
	input_schema: Record<string, unknown>;
	strict?: true;
	cache_control?: unknown;
}

type AnthropicChoice =
	| { type: "none" }
	| { type: "auto" | "any"; disable_parallel_tool_use?: true }
	| { type: "tool"; name: string; disable_parallel_tool_use?: true };

export interface Offer {
	tools: (AnthropicTool | WebSearchTool)[];
	/** `undefined`: the model decides. */
	choice: AnthropicChoice | undefined;
}

/** `undefined` if there are no tools. */
export function offerOf(input: ChatInput, traits: Traits, call: Pick<Call, "report">): Offer | undefined {
	const { tools: allowed = [], tool_choice } = narrowTools(input);
	const functions = allowed.map((tool) => toolOf(tool, traits));
	const tools = [...functions, ...searchTools(input.web_search, { traits, functions }, call)];
	if (tools.length === 0) return undefined;
	const isForced = input.web_search?.isForced && tools.length > functions.length;
	const sent = functions.length > 0 ? choiceOf(tool_choice) : undefined;
	const choice: Offer["choice"] = isForced ? { type: "tool", name: SEARCH_NAME } : sent;
	if (input.parallel_tool_calls !== false || choice?.type === "none") return { tools, choice };
	return { tools, choice: { ...(choice ?? { type: "auto" }), disable_parallel_tool_use: true } };
}

/** Whether the model must call a tool, which excludes thinking. */
export const isForced = ({ choice }: Offer): boolean => choice?.type === "any" || choice?.type === "tool";

function choiceOf(choice: ReturnType<typeof narrowTools>["tool_choice"]): AnthropicChoice | undefined {
	if (choice === undefined) return undefined;
	if (choice === "required") return { type: "any" };
	return typeof choice === "object" ? { type: "tool", name: choice.function.name } : { type: choice };
}

function toolOf(
	{ cache_control, function: { name, description, parameters, strict } }: ChatTool,
	traits: Traits,
): AnthropicTool {
	const grammar = strict && traits.grammar ? grammarOf(parameters) : undefined;
	return {
		name,
		...(description && { description }),
		input_schema: grammar ?? objectSchema(parameters),
		...(grammar && { strict: true }),
		...(cache_control && { cache_control }),
	};
}

/** A tool whose call is the answer. */
export interface AnswerTool extends AnthropicTool {
	/** The field of the arguments that has the answer. For schemas that are not objects: arguments always are. */
	field?: string;
}

/**
 * The format of the answer: a grammar if the model supports one for the schema, else one forced tool whose arguments are
 * the answer, else an instruction. A forced tool would prevent calls of the caller's tools, and searches.
 */
type OutputFormat =
	| { kind: "text" }
	| { kind: "grammar"; schema: Record<string, unknown> }
	| { kind: "tool"; tool: AnswerTool }
	| { kind: "instruction"; text: string };

const FIELD = "answer";
const MAX_NAME_CHARS = 64;

export function formatOf({ response_format, tools, web_search }: ChatInput, traits: Traits): OutputFormat {
	if (!response_format || response_format.type === "text") return { kind: "text" };
	const named = response_format.type === "json_schema" ? response_format.json_schema : undefined;
	const schema = named?.schema;
	if (!named || !isRecord(schema))
		return {
			kind: "instruction",
			text: "Answer with one JSON object and nothing else: no words around it, no code fence.",
		};
	// The API refuses a grammar with citations, which an answer after a search has.
	const grammar = traits.grammar && !web_search ? grammarOf(schema) : undefined;
	if (grammar) return { kind: "grammar", schema: grammar };
	if (!tools?.length && !web_search) return { kind: "tool", tool: answerTool(named, schema) };
	const text = `Unless you call a tool, answer with JSON that is valid for this JSON Schema and nothing else: no words around it, no code fence.\n${JSON.stringify(schema)}`;
	return { kind: "instruction", text };
}

type NamedSchema = Extract<ResponseFormat, { type: "json_schema" }>["json_schema"];

function answerTool({ name, description }: NamedSchema, schema: Record<string, unknown>): AnswerTool {
	const tool = {
		name: name.replaceAll(/[^\w-]/g, "_").slice(0, MAX_NAME_CHARS) || "answer",
		description: description ?? "Gives the answer to the user, in the form that is wanted.",
	};
	if (schema.type === "object") return { ...tool, input_schema: schema };
	// References are relative to the root of the schema.
	const { $defs, definitions, ...inner } = schema;
	return {
		...tool,
		input_schema: {
			type: "object",
			properties: { [FIELD]: inner },
			required: [FIELD],
			...($defs !== undefined && { $defs }),
			...(definitions !== undefined && { definitions }),
		},
		field: FIELD,
	};
}

/** The answer as JSON text, from the arguments of the tool call. */
export function answerIn({ field }: AnswerTool, input: Record<string, unknown>): string {
	return JSON.stringify((field === undefined ? input : input[field]) ?? null);
}
