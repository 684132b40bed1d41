/** Replies in the formats of other vendors at an address of OpenAI's format, as every interface shows them, for values and for streams. */
import { describe, expect, it } from "vitest";
import { upstream } from "../gateway.ts";
import type { OddReply } from "./odd-replies/cases.ts";
import { CALLS, callersOf, expectedAnswers, readAnswers } from "./odd-replies/readers.ts";
import { VENDOR_FAILURES, VENDOR_FORMS } from "./odd-replies/vendor-forms.ts";

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

describe("an answer", () => {
	it.each(VENDOR_FORMS.map((reply) => [reply.name, reply] as const))("%s", async (_, reply) => {
		host.reply = reply;
		expect(await readAnswers(send, MODEL)).toEqual(expectedAnswers(reply.answer));
	});
});

describe("a failure with status 200 is never an empty answer", () => {
	it.each(Object.entries(VENDOR_FAILURES))("%s", async (_, body) => {
		host.reply = { body: JSON.stringify(body), type: "application/json" };
		const answers = await Promise.all(
			CALLS.map(async ({ surface, stream }) => {
				const response = await send(surface, MODEL, stream);
				return [surface, stream, response.status >= 400, await response.text()] as const;
			}),
		);
		for (const [surface, stream, isFailure, text] of answers)
			expect([surface, stream, isFailure || text]).toEqual([surface, stream, true]);
	});
});
