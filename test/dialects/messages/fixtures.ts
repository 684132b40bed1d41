/** Helpers of the Messages dialect tests. */
import type { WriteContext } from "../../../src/dialects/dialect.ts";
import { anthropicMessages } from "../../../src/dialects/messages/messages.ts";
import { validate } from "../../../src/dialects/validation/validation.ts";
import type { ChatInput, Verbatim } from "../../../src/tasks/text-generation/types.ts";
import { CHAT_MODEL, NOW } from "../responses/fixtures.ts";

export const REQUEST = { max_tokens: 100, messages: [{ role: "user", content: "hi" }] };

function readRequest(body: unknown, model = CHAT_MODEL): ChatInput {
	const { schema, read } = anthropicMessages.reader;
	const call = read(validate(schema(model), body) as never, model);
	if (call.task !== "text-generation") throw new Error(`read as ${call.task}`);
	return call.input;
}

/** The chat input without the verbatim request. */
export function readChat(body: unknown, model = CHAT_MODEL): ChatInput {
	const { verbatim: _, ...input } = readRequest(body, model);
	return input;
}

export function verbatimOf(body: unknown, model = CHAT_MODEL): Verbatim {
	const { verbatim } = readRequest(body, model);
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
