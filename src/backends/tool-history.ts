/**
 * Hosts that take the tool calls of a conversation only if the request has tools: LiteLLM before Anthropic and Bedrock, Bedrock, and
 * older versions of Anthropic's API. A caller that has shortened or summarises a conversation sends none. After such a refusal the
 * request has the tools that the conversation names, and the choice to call none of them, as far as the host takes that choice.
 */
import type { ChatInput, ChatTool } from "../tasks/text-generation/types.ts";
import { learnRefusal, refusalMatches, withoutIfRefused } from "./refused-feature.ts";
import type { Call } from "./transport/upstream-failure.ts";

/** LiteLLM and gateways that copied its check; Bedrock; Anthropic. */
const namesMissingTools = refusalMatches(
	/tool calling without .?tools=.? param|toolConfig field must be defined|tool_use.{1,60}tool_result.{1,40} must define tools/i,
);
const namesToolChoice = refusalMatches(/tool_?choice/i);

/** For a model that ignores the choice, or whose host does not take it. */
const DESCRIPTION = "Not available at present. Do not call it.";

type SendInput<Output> = (input: ChatInput, call: Call) => Promise<Output>;

/** Makes the request, with the tools of the conversation if the host needs them. */
export function withNamedTools<Output>(
	input: ChatInput,
	call: Call,
	request: SendInput<Output>,
): Promise<Output> {
	const tools = input.tools?.length ? [] : namedTools(input);
	if (tools.length === 0) return request(input, call);
	const { observed, model } = call.target;
	// The original body has no tools.
	const { verbatim: _, ...converted } = input;
	const withTools = (sent: Call) => withoutCalls({ ...converted, tools }, sent, request);
	if (observed?.refusesCallsWithoutTools?.has(model)) return withTools(call);
	return withoutIfRefused(call, {
		isNamed: namesMissingTools,
		request: (first) => request(input, first),
		requestWithout: withTools,
		learn: () => learnRefusal(call.target, "refusesCallsWithoutTools"),
	});
}

/** Bedrock has no choice to call no tool. */
function withoutCalls<Output>(input: ChatInput, call: Call, request: SendInput<Output>): Promise<Output> {
	const { observed, model } = call.target;
	if (observed?.refusesNoToolChoice?.has(model)) return request(input, call);
	return withoutIfRefused(call, {
		isNamed: namesToolChoice,
		request: (first) => request({ ...input, tool_choice: "none" }, first),
		requestWithout: (second) => request(input, second),
		learn: () => learnRefusal(call.target, "refusesNoToolChoice"),
	});
}

function namedTools({ messages }: ChatInput): ChatTool[] {
	const names = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ function: { name } }) => name));
	return [...new Set(names)].map((name) => ({
		type: "function",
		function: { name, description: DESCRIPTION, parameters: { type: "object", properties: {} } },
	}));
}
