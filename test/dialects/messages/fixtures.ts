/** What the tests of the Messages dialect share. */
import type { WriteContext } from "../../../src/dialects/dialect.ts";
import { anthropicMessages } from "../../../src/dialects/messages/messages.ts";
import { validate } from "../../../src/dialects/validation/validation.ts";
import type { ChatInput, Verbatim } from "../../../src/tasks/text-generation/types.ts";
import { CHAT_MODEL, NOW } from "../responses/fixtures.ts";

export const ASKED = { max_tokens: 100, messages: [{ role: "user", content: "hi" }] };

function readWhole(body: unknown, model = CHAT_MODEL): ChatInput {
	const { schema, read } = anthropicMessages.reader;
	const call = read(validate(schema(model), body) as never, model);
	if (call.task !== "text-generation") throw new Error(`read as ${call.task}`);
	return call.input;
}

/** What any engine can be asked. */
export function readChat(body: unknown, model = CHAT_MODEL): ChatInput {
	const { verbatim: _, ...input } = readWhole(body, model);
	return input;
}

export function verbatimOf(body: unknown, model = CHAT_MODEL): Verbatim {
	const { verbatim } = readWhole(body, model);
	if (!verbatim) throw new Error("nothing is kept as it was said");
	return verbatim;
}

/** Ids count up from 1, in the order in which they are asked for. */
export function contextOf(more: object = {}): WriteContext {
	const body = { ...ASKED, ...more };
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
