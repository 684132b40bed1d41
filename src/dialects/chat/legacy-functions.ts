/**
 * `functions` and `function_call`, OpenAI's legacy form of tools. Engines receive tools, and the caller receives the first
 * call of an answer in the legacy form. `messages.ts` reads the legacy form in the history.
 */
import { isRecord, parseJson } from "../../core/json.ts";
import { DONE, frame, isDone, mapEvents } from "../../streams/sse.ts";
import type { ChatCompletion } from "../../tasks/text-generation/types.ts";
import { invalidInput } from "../invalid-input.ts";
import { errorFrame } from "./errors.ts";

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
