/** Replies of each API whose texts are in fields that are not known, whole and as events. */
import type { KINDS } from "./unreadable.ts";

type Kind = keyof typeof KINDS;
interface Reply {
	text: string;
	type: string;
}

const WORDS = { words: "Lorem ipsum" };
const SSE = "text/event-stream";
const json = (value: unknown): Reply => ({ text: JSON.stringify(value), type: "application/json" });
const data = (...list: object[]): Reply => ({
	text: list.map((value) => `data: ${JSON.stringify(value)}\n\n`).join(""),
	type: SSE,
});
const events = (...list: { type: string; [field: string]: unknown }[]): Reply => ({
	text: list.map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`).join(""),
	type: SSE,
});
const lines = (...list: object[]): Reply => ({
	text: list.map((value) => `${JSON.stringify(value)}\n`).join(""),
	type: "application/x-ndjson",
});
const withDone = ({ text, type }: Reply): Reply => ({ text: `${text}data: [DONE]\n\n`, type });

const choice = (fields: object) => ({ choices: [{ index: 0, finish_reason: "stop", ...fields }] });

const message = (content: unknown, fields: object = {}) => ({
	...{ type: "message", id: "msg_1", role: "assistant", model: "m", content, stop_reason: "end_turn" },
	...{ usage: { input_tokens: 20, output_tokens: 9 }, ...fields },
});
const messageEvents = (start: object, delta: object, stop_reason = "end_turn") =>
	events(
		{ type: "message_start", message: message([], { stop_reason: null }) },
		{ type: "content_block_start", index: 0, content_block: start },
		{ type: "content_block_delta", index: 0, delta },
		{ type: "content_block_stop", index: 0 },
		{ type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 9 } },
		{ type: "message_stop" },
	);

const candidate = (fields: object) => ({ candidates: [{ index: 0, finishReason: "STOP", ...fields }] });

const LAST = { done: true, done_reason: "stop", prompt_eval_count: 20, eval_count: 9 };

const response = (output: unknown[]) => ({
	...{ id: "resp_1", object: "response", created_at: 1, model: "m", status: "completed", output },
	usage: { input_tokens: 20, output_tokens: 9 },
});
const item = (part: object) => ({ type: "message", id: "msg_1", role: "assistant", content: [part] });
const responseEvents = (delta: object, output: unknown[]) =>
	events(
		{ type: "response.created", response: { ...response([]), status: "in_progress" } },
		{ type: "response.output_item.added", output_index: 0, item: { ...item({}), content: [] } },
		{ type: "response.output_text.delta", output_index: 0, content_index: 0, ...delta },
		{ type: "response.completed", response: response(output) },
	);

export const UNREAD_ANSWERS: Readonly<Record<Kind, Readonly<Record<string, Reply>>>> = {
	openai: {
		"a message with another field": json(choice({ message: { role: "assistant", ...WORDS } })),
		"an empty message with another field": json(choice({ message: { content: "", ...WORDS } })),
		"a delta with another field": withDone(data(choice({ delta: WORDS }))),
		"tool calls as the reason, without a call": json(
			choice({ message: { content: "", name: "Lorem" }, finish_reason: "tool_calls" }),
		),
	},
	"openai, Responses": {
		"a part with another field": json(response([item({ type: "output_text", ...WORDS })])),
		"an item with another field": json(response([{ type: "message", content: [], ...WORDS }])),
		"an item of another type": json(response([{ type: "answer", ...WORDS }])),
		"a delta with another field": responseEvents(WORDS, []),
		"a delta and a part with another field": responseEvents(WORDS, [item({ type: "output_text", ...WORDS })]),
	},
	anthropic: {
		"a block with another field": json(message([{ type: "text", ...WORDS }])),
		"an empty block with another field": json(message([{ type: "text", text: "", ...WORDS }])),
		"a block of another type": json(message([{ type: "answer", ...WORDS }])),
		"no block, and another field": json(message([], WORDS)),
		"no reason, and no content": json(message([], { stop_reason: undefined, id: "Lorem" })),
		"a delta with another field": messageEvents({ type: "text", text: "" }, { type: "text_delta", ...WORDS }),
		"a delta of another type": messageEvents({ type: "text", text: "" }, { type: "answer", ...WORDS }),
		"a block of another type in a stream": messageEvents({ type: "answer" }, { type: "answer", ...WORDS }),
	},
	gemini: {
		"a part with another field": json(candidate({ content: { role: "model", parts: [WORDS] } })),
		"content with another field": json(candidate({ content: { role: "model", ...WORDS } })),
		"a candidate with another field": json(candidate(WORDS)),
		"a candidate without a reason": json({ candidates: [{ index: 0, safetyRatings: ["Lorem"] }] }),
		"a part with another field, streamed": data(candidate({ content: { parts: [WORDS] } })),
		"two events": data(
			{ candidates: [{ index: 0, content: { parts: [WORDS] } }] },
			candidate({ content: { parts: [] } }),
		),
	},
	ollama: {
		"a message with another field": json({ message: { role: "assistant", ...WORDS }, ...LAST }),
		"a message without content": json({ model: "Lorem", message: { role: "assistant" }, ...LAST }),
		"a line with another field": lines(
			{ message: { role: "assistant", ...WORDS }, done: false },
			{ message: { role: "assistant", content: "" }, ...LAST },
		),
	},
	"workers-ai": {
		"a message with another field": json(choice({ message: { role: "assistant", ...WORDS } })),
		"a delta with another field": withDone(data(choice({ delta: WORDS }))),
	},
};

interface UnreadValue {
	task: string;
	name: string;
	kind: Kind;
	model: string;
	request: { path: string; body: object };
	reply: Reply;
}

const BGE = "@cf/baai/bge-base-en-v1.5";
const RERANKER = "@cf/baai/bge-reranker-base";
const FLUX = "@cf/black-forest-labs/flux-1-schnell";
const MELO = "@cf/myshell-ai/melotts";
const WHISPER = "@cf/openai/whisper-large-v3-turbo";

const value =
	(task: string, model: string, body: object) =>
	(kind: Kind, name: string, reply: Reply): UnreadValue => ({
		...{ task, name, kind, model, reply },
		request: { path: `/run/${model}`, body },
	});
const vectors = value("embeddings", BGE, { text: ["Hi"] });
const ranks = value("ranking", RERANKER, { query: "Hi", contexts: [{ text: "a" }, { text: "b" }] });
const image = value("an image", FLUX, { prompt: "A cat" });
const speech = value("speech", MELO, { prompt: "Hi" });
const transcript = value("a transcript", WHISPER, { audio: btoa("RIFF....WAVEfmt sound") });
const PAGE: Reply = { text: "<!DOCTYPE html><html>Lorem</html>", type: "audio/mpeg" };

export const UNREAD_VALUES: readonly UnreadValue[] = [
	vectors("openai", "another field", json({ data: [{ index: 0, vector: "Lorem" }] })),
	vectors("openai", "too few", json({ data: [], id: "Lorem", model: "Lorem" })),
	vectors("openai", "no numbers", json({ data: [{ index: 0, embedding: ["Lorem"] }] })),
	vectors("ollama", "another field", json({ vectors: [["Lorem"]] })),
	vectors("gemini", "another field", json({ embeddings: [{ vector: ["Lorem"] }] })),
	vectors("workers-ai", "another field", json({ result: { vectors: ["Lorem"] } })),
	ranks("openai", "another field", json({ results: [{ index: 0, words: "Lorem" }] })),
	ranks("workers-ai", "another field", json({ result: { ranks: ["Lorem"] } })),
	image("openai", "another field", json({ data: [{ words: "Lorem" }] })),
	image("openai", "no image", json({ data: [{ b64_json: "Lorem ipsum" }] })),
	image("workers-ai", "no image", json({ result: { image: "Lorem ipsum" } })),
	speech("openai", "a page that calls itself sound", PAGE),
	speech("openai", "JSON that calls itself sound", { ...json(WORDS), type: "audio/mpeg" }),
	speech("workers-ai", "another field", json({ result: WORDS })),
	transcript("openai", "another field", json(WORDS)),
	transcript("workers-ai", "another field", json({ result: WORDS })),
];
