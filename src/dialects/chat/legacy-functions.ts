/**
 * `functions` and `function_call`, OpenAI's form of tools before there were tools: engines get tools, and the caller gets
 * the one call of an answer in the older form. In the history it is read in `messages.ts`.
 */

import { isRecord, parseJson } from "../../core/json.ts";
import { DONE, frame, isDone, mapEvents } from "../../streams/sse.ts";
import type { ChatCompletion } from "../../tasks/text-generation/types.ts";
import { errorFrame, invalidInput } from "./errors.ts";

interface Sent {
	functions?: unknown[] | null | undefined;
	function_call?: unknown;
	tools?: unknown[] | null | undefined;
}

/** Functions with `code` are the product's own, and another matter. */
export const hasFunctions = (inputs: unknown): boolean =>
	isRecord(inputs) &&
	Array.isArray(inputs.functions) &&
	inputs.functions.length > 0 &&
	!inputs.functions.some((called) => isRecord(called) && "code" in called);

/** The same request with tools. Throws 8001 for one that has both. */
export function withTools<Inputs extends Sent>(inputs: Inputs): Inputs {
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
		// The older form has room for one call.
		parallel_tool_calls: false,
	};
}

export const withFunctionCall = (completion: ChatCompletion): object => ({
	...completion,
	choices: completion.choices.map((choice) => olderChoice({ ...choice }, "message")),
});

/** Takes over `events`, the stream that a caller of tools would get. */
export const functionCallEvents = (events: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> =>
	mapEvents(events, {
		onData(data) {
			if (isDone(data)) return DONE;
			const chunk = parseJson(data);
			if (!isRecord(chunk) || !Array.isArray(chunk.choices)) return `data: ${data}\n\n`;
			return frame({
				...chunk,
				choices: chunk.choices.map((choice) => (isRecord(choice) ? olderChoice(choice, "delta") : choice)),
			});
		},
		onEnd: () => "",
		onError: errorFrame,
	});

function olderChoice(choice: Record<string, unknown>, name: "message" | "delta"): Record<string, unknown> {
	const { finish_reason, [name]: content } = choice;
	const { tool_calls, ...others } = isRecord(content) ? content : {};
	const [call] = (Array.isArray(tool_calls) ? tool_calls : []).filter(({ index = 0 }) => index === 0);
	return {
		...choice,
		[name]: { ...others, ...(call && { function_call: call.function }) },
		finish_reason: finish_reason === "tool_calls" ? "function_call" : finish_reason,
	};
}
