/**
 * One call of the model, a round, in an answer with web searches. Each round passes the pipeline like a request of its own: it is admitted,
 * metered and billed. The caller's dialect reads the request, and the model receives the calls and results of the rounds before.
 */
import { type ChatReply, chatReply, withChatInput } from "../../dialects/chat/call.ts";
import type { Dialect, WriteContext, Writer } from "../../dialects/dialect.ts";
import type { Model } from "../../models/model.ts";
import type { InferenceRequest, Reply } from "../../pipeline/request.ts";
import { run } from "../../pipeline/run.ts";
import type { PipelineServices } from "../../pipeline/services.ts";
import type { TaskAnswer } from "../../tasks/task.ts";
import type { ChatInput, ChatMessage } from "../../tasks/text-generation/types.ts";

export interface Round {
	reply: Reply;
	/** The answer before the caller's dialect writes it. */
	answer: ChatReply;
	context: WriteContext;
	/** Of the caller's dialect. */
	writer: Writer;
}

interface RoundInput {
	/** After those of the caller. */
	messages: readonly ChatMessage[];
	/** Output tokens of the rounds before. */
	spentTokens: number;
	/** The model may not search any more. */
	isLast: boolean;
	/** An id that the account has not admitted. */
	id: string;
}

export async function runRound(
	request: InferenceRequest,
	input: RoundInput,
	services: PipelineServices,
): Promise<Round> {
	let written: { answer: TaskAnswer; context: WriteContext; writer: Writer } | undefined;
	const dialectOf = ({ reader, writer }: Dialect): Dialect => ({
		reader: {
			...reader,
			read: (...sent) => withChatInput(reader.read(...sent), (chat) => continued(chat, input)),
		},
		// Keeps the answer. The answer of all rounds is written once, by the caller's writer.
		writer: {
			write(answer, context) {
				written = { answer, context, writer };
				return { kind: "json", value: undefined };
			},
		},
	});
	const dialect = (model: Model): Dialect | Promise<Dialect> => {
		const loaded = request.dialect(model);
		return loaded instanceof Promise ? loaded.then(dialectOf) : dialectOf(loaded);
	};
	// Requests of one answer differ by their messages, and each is paid.
	const { singleFlight: _, ...options } = request.options ?? {};
	const reply = await run({ ...request, id: input.id, dialect, options }, services);
	if (!written) throw new TypeError("The pipeline wrote no answer");
	const { answer, context, writer } = written;
	return { reply, answer: chatReply(answer, context), context, writer };
}

/** The caller's request with the rounds before. */
function continued(sent: ChatInput, { messages, spentTokens, isLast }: RoundInput): ChatInput {
	// An upstream that receives the caller's own request would not receive the rounds. Their reasoning is kept in seals.
	const { verbatim: _, takesReasoningDetails: _details, ...input } = sent;
	const { max_tokens, tool_choice } = input;
	const choice = isLast ? "none" : messages.length > 0 ? relaxed(tool_choice) : tool_choice;
	return {
		...input,
		messages: [...input.messages, ...messages],
		...(max_tokens !== undefined && { max_tokens: Math.max(1, max_tokens - spentTokens) }),
		...(choice !== undefined && { tool_choice: choice }),
	};
}

/** The first round has made the call that the caller forces. */
const relaxed = (choice: ChatInput["tool_choice"]): ChatInput["tool_choice"] =>
	choice === undefined || choice === "none" ? choice : "auto";
