/** Answers in other forms than OpenAI's, and replies without one, as every interface shows them, for values and for streams. */
import { describe, expect, it } from "vitest";
import { upstream } from "../gateway.ts";
import type { OddReply } from "./odd-replies/cases.ts";
import { chatReply, DONE, delta, finish } from "./odd-replies/chat-replies.ts";
import { FORM_FAILURES, ODD_FORMS } from "./odd-replies/form-cases.ts";
import { CALLS, callersOf, expectedAnswers, readAnswers, type Surface } from "./odd-replies/readers.ts";

const MODEL = "acme/llama-4";
const host: { reply: Pick<OddReply, "body" | "type"> } = { reply: { body: "", type: "" } };
const { fetch } = upstream(
	() => new Response(host.reply.body, { headers: { "content-type": host.reply.type } }),
);
const { send } = callersOf({
	vars: {
		BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
		ROUTES: {
			[MODEL]: { targets: [{ backend: "engine", model: "llama-4-scout" }], retries: { attempts: 1 } },
		},
		MODELS: { [MODEL]: { task: "Text Generation", capabilities: ["function_calling", "reasoning"] } },
	},
	fetch,
});

const named = <Case extends { name: string }>(cases: readonly Case[]) =>
	cases.map((one) => [one.name, one] as const);

describe("an answer", () => {
	it.each(named(ODD_FORMS))("%s", async (_, reply) => {
		host.reply = reply;
		expect(await readAnswers(send, MODEL)).toEqual(expectedAnswers(reply.answer));
	});
});

describe("no answer", () => {
	it.each(named(FORM_FAILURES))("%s", async (_, { status, sentence, ...reply }) => {
		host.reply = reply;
		const results = await Promise.all(
			CALLS.map(async ({ surface, stream }) => {
				const response = await send(surface, MODEL, stream);
				return [surface, stream, response.status, (await response.text()).includes(sentence)];
			}),
		);
		expect(results).toEqual(CALLS.map(({ surface, stream }) => [surface, stream, status, true]));
	});

	it("after a role: the stream ends with an error", async () => {
		host.reply = { body: delta({ role: "assistant" }) + finish("stop") + DONE, type: "text/event-stream" };
		for (const { surface, stream } of CALLS) {
			const response = await send(surface, MODEL, stream);
			const text = await response.text();
			expect([surface, stream, text.includes("answered with something that is not a")]).toEqual([
				surface,
				stream,
				true,
			]);
		}
	});
});

describe("a refusal without content", () => {
	const MESSAGE = { role: "assistant", content: null, refusal: "I cannot say" };
	const REPLIES = [
		{ body: chatReply({ message: MESSAGE }), type: "application/json" },
		{ body: delta(MESSAGE) + finish("stop") + DONE, type: "text/event-stream" },
	];
	it.each(CALLS)("is shown by $surface, stream: $stream", async ({ surface, stream }) => {
		for (const reply of REPLIES) {
			host.reply = reply;
			const response = await send(surface as Surface, MODEL, stream);
			expect([response.status, await response.text()]).toEqual([
				200,
				expect.stringContaining("I cannot say"),
			]);
		}
	});
});
