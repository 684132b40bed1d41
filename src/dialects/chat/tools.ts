/**
 * Tools and the tool choice. The schemas do not check them, as in the product: its validator ignores the alternatives of
 * an array, so an unusable tool is refused after validation, with 8001 (observed).
 */
import * as z from "zod";
import { isRecord, parseJson } from "../../core/json.ts";
import { present } from "../../core/present.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import { DONE, frame, isDone, mapEvents } from "../../streams/sse.ts";
import type { ChatCompletion, ChatInput, ChatTool } from "../../tasks/text-generation/types.ts";
import { invalidInput, parseAt } from "../invalid-input.ts";
import { breakpointOf } from "./cache-control.ts";
import { functionOfChoice, functionOfTool } from "./custom-tools.ts";
import { errorFrame } from "./errors.ts";

const FunctionTool = z.object({
	name: z.string().min(1),
	description: z.string().nullish(),
	parameters: z.record(z.string(), z.unknown()).nullish(),
	strict: z.boolean().nullish(),
});

/**
 * Reads flat tools (`{name, description, parameters}`) and OpenAI's tools (`{type, function}`). `placeOf` names a tool in
 * the error message. Throws 8001.
 */
export function readTools(
	tools: readonly unknown[] | null | undefined,
	placeOf = (index: number): string => `tools[${index}]`,
): ChatTool[] {
	return (tools ?? []).map((tool, index) => {
		const place = placeOf(index);
		const { type, function: nested } = isRecord(tool) ? tool : {};
		if (type !== undefined && type !== "function")
			throw invalidInput(`${place}.type must be function or custom: other kinds of tools are not supported`);
		const at = nested === undefined ? place : `${place}.function`;
		const { name, ...others } = parseAt(FunctionTool, nested ?? tool, at);
		// Callers send it beside the function, or in it.
		const breakpoint = { ...breakpointOf(nested), ...breakpointOf(tool) };
		return { type: "function", function: { name, ...present(others) }, ...breakpoint };
	});
}

/** Tools of OpenAI's route: functions, and custom tools as functions. Throws 8001. */
export const readOpenAiTools = (tools: readonly unknown[] | null | undefined): ChatTool[] =>
	readTools(tools?.map((tool, index) => functionOfTool(tool, `tools[${index}]`)));

const ToolName = z.object({ type: z.literal("function"), function: z.object({ name: z.string() }) });

const Choice = z.union([
	z.enum(["none", "auto", "required"]),
	ToolName,
	z.object({
		type: z.literal("allowed_tools"),
		allowed_tools: z.object({ mode: z.enum(["auto", "required"]), tools: z.array(ToolName).min(1) }),
	}),
]);
type ToolChoice = z.output<typeof Choice>;

/**
 * The tools and the tool choice to send. Engines refuse a choice without tools: `none` and `auto` are then omitted, and a
 * choice that requires a call is an error. A choice of a tool that the request does not have is also an error. Throws 8001.
 */
export function chooseTools(tools: ChatTool[], choice: unknown): Pick<ChatInput, "tools" | "tool_choice"> {
	if (choice === undefined || choice === null) return tools.length > 0 ? { tools } : {};
	const parsed = safeParse(Choice, functionOfChoice(choice));
	if (!parsed.success)
		throw invalidInput(
			"tool_choice must be none, auto, required, or name a function or the allowed functions",
		);
	const tool_choice = parsed.data;
	if (tools.length === 0) {
		if (tool_choice === "none" || tool_choice === "auto") return {};
		throw invalidInput("tool_choice needs tools");
	}
	const offered = new Set(tools.map((tool) => tool.function.name));
	if (!namesOf(tool_choice).every((name) => offered.has(name)))
		throw invalidInput("tool_choice names a function that is not among the tools");
	return { tools, tool_choice };
}

function namesOf(choice: ToolChoice): string[] {
	if (typeof choice === "string") return [];
	if (choice.type === "function") return [choice.function.name];
	return choice.allowed_tools.tools.map((tool) => tool.function.name);
}

/**
 * `functions` and `function_call`, OpenAI's legacy form of tools. Engines receive tools, and the caller receives the first call of
 * an answer in the legacy form. `messages.ts` reads the legacy form in the history.
 */
interface LegacyInputs {
	functions?: unknown[] | null | undefined;
	function_call?: unknown;
	tools?: unknown[] | null | undefined;
}

/** Functions with `code` belong to an experiment of the product (`native-fields.ts`) and are not tools. */
export const hasFunctions = (inputs: unknown): boolean =>
	isRecord(inputs) &&
	Array.isArray(inputs.functions) &&
	inputs.functions.length > 0 &&
	!inputs.functions.some((called) => isRecord(called) && "code" in called);

/** The same request with tools. Throws 8001 if it has both functions and tools. */
export function functionsToTools<Inputs extends LegacyInputs>(inputs: Inputs): Inputs {
	if (!hasFunctions(inputs)) return inputs;
	if (inputs.tools?.length) throw invalidInput("functions: send either functions or tools");
	const { functions, function_call: choice } = inputs;
	return {
		...inputs,
		functions: undefined,
		function_call: undefined,
		tools: functions?.map((called) => ({ type: "function", function: called })),
		...(choice != null && {
			tool_choice: isRecord(choice) ? { type: "function", function: { name: choice.name } } : choice,
		}),
		// The legacy form has only one call.
		parallel_tool_calls: false,
	};
}

export const toLegacyCompletion = (completion: ChatCompletion): object => ({
	...completion,
	choices: completion.choices.map((choice) => toLegacyChoice({ ...choice }, "message")),
});

/** Takes over `events`, a stream with tool calls. */
export const legacyFunctionEvents = (events: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> =>
	mapEvents(events, {
		onData(data) {
			if (isDone(data)) return DONE;
			const chunk = parseJson(data);
			if (!isRecord(chunk) || !Array.isArray(chunk.choices)) return `data: ${data}\n\n`;
			return frame({
				...chunk,
				choices: chunk.choices.map((choice) => (isRecord(choice) ? toLegacyChoice(choice, "delta") : choice)),
			});
		},
		onEnd: () => "",
		onError: errorFrame,
	});

function toLegacyChoice(choice: Record<string, unknown>, name: "message" | "delta"): Record<string, unknown> {
	const { finish_reason, [name]: content } = choice;
	const { tool_calls, ...others } = isRecord(content) ? content : {};
	const [call] = (Array.isArray(tool_calls) ? tool_calls : []).filter(({ index = 0 }) => index === 0);
	return {
		...choice,
		[name]: { ...others, ...(call && { function_call: call.function }) },
		finish_reason: finish_reason === "tool_calls" ? "function_call" : finish_reason,
	};
}
