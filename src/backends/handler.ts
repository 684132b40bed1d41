/** A kind of backend as a table of handlers, one for each task that the kind supports. */
import type { Answer, TaskInput, TaskName, TaskOutput } from "../tasks/task.ts";
import type { EmbeddingsInput, EmbeddingsOutput } from "../tasks/text-embeddings/index.ts";
import type { ChatInput } from "../tasks/text-generation/types.ts";
import type { Backend, BackendTasks, CallContext } from "./backend.ts";
import { withoutBreakpoints } from "./cache-breakpoints.ts";
import { dropExtensions } from "./media-extensions.ts";
import { hasSignatures } from "./sealed-messages.ts";
import { DROPPED_SEAL } from "./seals.ts";
import type { Call } from "./transport/upstream-failure.ts";
import { checkWidth } from "./vector-width.ts";

type StreamedAnswer = Extract<Answer, { kind: "stream" }>;

type OutputsAnswer<Name extends TaskName> = Extract<Answer<Name>, { kind: "outputs" }>;

/** Returns the output of the task. Text generation may also return a stream, and other tasks several versions of the output. */
export type Handler<Name extends TaskName> = (
	input: TaskInput<Name>,
	call: Call,
) => Promise<TaskOutput<Name> | (Name extends "text-generation" ? StreamedAnswer : OutputsAnswer<Name>)>;

type Handlers = { [Name in TaskName]?: Handler<Name> };

interface BackendTraits {
	/** Its handler of text generation reads cache breakpoints. The others get a request without. */
	readsBreakpoints?: true;
	/** Tasks whose handlers read `extensions`. For the others the answer names them. */
	extended?: readonly TaskName[];
}

/** `prepare` adds to each call what all handlers of the kind need: a header with the key, failures by the kind's codes. */
export function defineBackend(
	handlers: Handlers,
	prepare = (call: Call): Call => call,
	{ readsBreakpoints, extended = [] }: BackendTraits = {},
): Backend {
	// The type pairs each handler with its input and output; the compiler cannot infer that for a union of handlers.
	const entries = Object.entries(handlers) as [TaskName, Handler<TaskName>][];
	return (target, services) => {
		const bind = (name: TaskName, handler: Handler<TaskName>) => {
			const isExtended = extended.includes(name);
			const isChat = name === "text-generation";
			return async (input: TaskInput<TaskName>, context: CallContext) => {
				if (!isExtended && "extensions" in input) dropExtensions(context, input.extensions);
				const isOther = isChat && !isPlainChat(input as ChatInput);
				const sent = isOther && !readsBreakpoints ? withoutBreakpoints(input as ChatInput) : input;
				const call = prepare({ ...context, target, services });
				const isSealed = isOther && hasSignatures((input as ChatInput).messages);
				const output = await (isSealed ? handleSealed(handler, sent, call) : handler(sent as never, call));
				if (name === "text-embeddings")
					checkWidth(input as EmbeddingsInput, output as EmbeddingsOutput, call);
				return isStream(output) ? output : { kind: "value", output };
			};
		};
		return Object.fromEntries(entries.map(([name, handler]) => [name, bind(name, handler)])) as BackendTasks;
	};
}

/**
 * Whether a chat is only text in its usual order: no tools, no parts, no reasoning of earlier turns, and no system message after the first.
 * What engines cannot take in other chats is not looked for in such a one.
 */
export function isPlainChat({ messages, tools, cache_control }: ChatInput): boolean {
	if (tools || cache_control) return false;
	for (const [place, message] of messages.entries()) {
		const { role, content, tool_calls, extra_content, phase } = message;
		if (typeof content !== "string" || tool_calls || extra_content || phase) return false;
		if (message.reasoning_content !== undefined || message.thinking_blocks || message.reasoning_details)
			return false;
		if (role !== "user" && role !== "assistant" && (role === "tool" || place > 0)) return false;
	}
	return true;
}

/** A request with sealed reasoning. A handler that does not open the seals has an engine without: the answer names them as dropped. */
async function handleSealed(handler: Handler<TaskName>, input: object, call: Call) {
	const { seals, report } = call;
	let areOpened = false;
	const opened = seals && {
		seals: () => {
			areOpened = true;
			return seals();
		},
	};
	const output = await handler(input as never, { ...call, ...opened });
	if (!areOpened) report?.dropped.push(DROPPED_SEAL);
	return output;
}

/** The fields of an engine's reply are JSON, so an output never has a stream under these names. */
const isStream = (output: object): output is StreamedAnswer | OutputsAnswer<TaskName> =>
	("events" in output && output.events instanceof ReadableStream) ||
	("outputs" in output && output.outputs instanceof ReadableStream);
