/** An engine's reply that cannot be read: 502 by every interface, with the engine's name in the log and without the reply in the answer. */
import { describe, expect, it } from "vitest";
import { UNREAD_ANSWERS, UNREAD_VALUES } from "./odd-replies/unread-cases.ts";
import { answerTo, KINDS, LLAMA, SURFACES } from "./odd-replies/unreadable.ts";

const WORD = "Lorem";
const REPLIES: Record<string, { text: string; type: string }> = {
	"a page": { text: `<html>${`${WORD} `.repeat(100)}</html>`, type: "text/html" },
	"other JSON": { text: JSON.stringify({ [WORD]: [WORD] }), type: "application/json" },
	"text that calls itself JSON": { text: `${WORD} ipsum`, type: "application/json" },
	nothing: { text: "", type: "application/json" },
};

const surfaces = Object.entries(SURFACES).flatMap(([surface, request]) =>
	[false, true].map((stream) => ({ surface, request, stream })),
);
/** Without Responses and Gemini, which write the same events of the gateway as Messages. */
const readers = surfaces.filter(({ surface }) => surface !== "Responses" && surface !== "Gemini");
const casesOf = (reply: string) =>
	Object.entries(KINDS).flatMap(([kind, backend]) =>
		(reply === "a page" ? surfaces : readers).map((call) => ({ kind, backend, ...call })),
	);

describe.each(Object.entries(REPLIES))("%s", (name, reply) => {
	it.each(casesOf(name))("by $kind for $surface, stream: $stream", async ({ backend, request, stream }) => {
		const { text } = reply;
		const { status, answer, logged } = await answerTo(backend, request(stream), reply);
		expect([status, answer]).toEqual([502, answer]);
		expect(answer).not.toContain(WORD);
		expect(logged).toContain("gpu-7");
		if (text === "") return;
		expect(logged).toContain(JSON.stringify(text.slice(0, 200)).slice(1, -1));
		expect(logged).not.toContain(JSON.stringify(text.slice(0, 201)).slice(1, -1) + WORD);
	});
});

/** The reply is in the log, and nothing of it is in the answer. */
function expectUnread({ status, answer, logged }: Awaited<ReturnType<typeof answerTo>>): void {
	expect([status, answer]).toEqual([502, answer]);
	expect(answer).toContain("The backend 'gpu-7' answered with something that is not");
	expect(answer).not.toContain(WORD);
	expect(logged).toContain("gpu-7");
	expect(logged).toContain(WORD);
}

describe.each(Object.entries(UNREAD_ANSWERS))("an answer of %s", (kind, replies) => {
	const backend = KINDS[kind as keyof typeof KINDS];
	it.each(Object.entries(replies))("%s", async (_, reply) => {
		for (const { request, stream } of readers) expectUnread(await answerTo(backend, request(stream), reply));
	});
});

describe("a raw prompt", () => {
	const choice = { index: 0, finish_reason: "stop", words: WORD };
	const REPLIES = [
		{ text: JSON.stringify({ choices: [choice] }), type: "application/json" },
		{ text: `data: ${JSON.stringify({ choices: [choice] })}\n\ndata: [DONE]\n\n`, type: "text/event-stream" },
	];
	it.each([false, true])("stream: %s", async (stream) => {
		const request = { path: `/run/${LLAMA}`, body: { prompt: "Once", raw: true, stream } };
		for (const reply of REPLIES) expectUnread(await answerTo(KINDS.openai, request, reply));
	});
});

describe("a value", () => {
	it.each(UNREAD_VALUES)("$task by $kind: $name", async ({ kind, model, request, reply }) => {
		expectUnread(await answerTo(KINDS[kind], request, reply, model));
	});
});
