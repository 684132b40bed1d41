/** Helpers of the Messages dialect tests. */
import type { WriteContext } from "../../../src/dialects/dialect.ts";
import { anthropicMessages } from "../../../src/dialects/messages/messages.ts";
import { validate } from "../../../src/dialects/validation/validation.ts";
import type { ChatInput, Verbatim } from "../../../src/tasks/text-generation/types.ts";
import { CHAT_MODEL, NOW } from "../responses/fixtures.ts";

export const REQUEST = { max_tokens: 100, messages: [{ role: "user", content: "hi" }] };

type Targets = readonly { kind: string }[];

function readRequest(body: unknown, model = CHAT_MODEL, targets?: Targets): ChatInput {
	const { schema, read } = anthropicMessages.reader;
	const call = read(validate(schema(model), body) as never, model, false, targets);
	if (call.task !== "text-generation") throw new Error(`read as ${call.task}`);
	return call.input;
}

/** The chat input without the verbatim request. */
export function readChat(body: unknown, model = CHAT_MODEL, targets?: Targets): ChatInput {
	const { verbatim: _, ...input } = readRequest(body, model, targets);
	return input;
}

export function verbatimOf(body: unknown, model = CHAT_MODEL, targets?: Targets): Verbatim {
	const { verbatim } = readRequest(body, model, targets);
	if (!verbatim) throw new Error("the request is not kept");
	return verbatim;
}

/** Ids are consecutive numbers from 1. */
export function contextOf(fields: object = {}): WriteContext {
	const body = { ...REQUEST, ...fields };
	let ids = 0;
	return {
		model: CHAT_MODEL,
		inputs: validate(anthropicMessages.reader.schema(CHAT_MODEL), body),
		call: { task: "text-generation", input: readChat(body) },
		now: NOW,
		withCost: (usage) => usage,
		requestId: "req-1",
		uuid: () => `0-${++ids}`,
	};
}
