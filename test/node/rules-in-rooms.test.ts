/**
 * Data-loss prevention with BLOCK in the gateway that a token must use. Every way in which a text reaches an engine through a room is tried with
 * a card number in five forms. The engine's own record of what it was sent must never have it.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
	bodyOf,
	book,
	CHAT,
	call,
	DLP,
	EMBEDDINGS,
	operator,
	PLACE,
	start,
	stop,
	until,
	use,
} from "./rules/world.ts";

const LORA = "@cf/mistral/mistral-7b-instruct-v0.2-lora";
const { forms, isBroken, sentence: SENTENCE } = DLP;

beforeAll(start, 120_000);
afterAll(stop);

const upload = async (purpose: string, name: string, content: string): Promise<string> => {
	const form = new FormData();
	form.append("purpose", purpose);
	form.append("file", new File([content], name));
	return JSON.parse(await call("/ai/v1/files", form)).id;
};

const messages = [{ role: "user", content: `Pay with ${PLACE} now` }];
const live = (path: string, body: object) => (form: string) => call(path, bodyOf(body, form));

/** Ways in, by room. Each returns what the caller reads, which must have the sentence. */
const WAYS: Record<string, (form: string) => Promise<string>> = {
	"a run": live(`/ai/run/${CHAT}`, { prompt: PLACE }),
	"a stream": live(`/ai/run/${CHAT}`, { messages, stream: true }),
	"a run with an adapter": live(`/ai/run/${LORA}`, { prompt: PLACE, lora: "mine", raw: true }),
	embeddings: live(`/ai/run/${EMBEDDINGS}`, { text: [PLACE] }),
	"chat completions": live("/ai/v1/chat/completions", { model: CHAT, messages }),
	"a tool": live("/ai/v1/chat/completions", {
		model: CHAT,
		messages: [{ role: "user", content: "Hi" }],
		tools: [
			{ type: "function", function: { name: "pay", description: PLACE, parameters: { type: "object" } } },
		],
	}),
	messages: live("/ai/v1/messages", { model: CHAT, max_tokens: 10, messages }),
	gemini: live(`/ai/v1beta/models/${CHAT}:generateContent`, { contents: [{ parts: [{ text: PLACE }] }] }),
	"a response": live("/ai/v1/responses", { model: CHAT, input: PLACE }),
	"the automatic router": live("/ai/v1/chat/completions", { model: "cloudflare/auto", messages }),
	"a web search": live("/ai/v1/chat/completions", { model: CHAT, messages, web_search_options: {} }),
	async "a response that is continued"(form) {
		// Another token has stored it, in a gateway without rules.
		const stored = await operator("/ai/v1/responses", bodyOf({ model: CHAT, input: PLACE }, form));
		book.length = 0;
		const { id } = JSON.parse(stored);
		return call(
			"/ai/v1/responses",
			JSON.stringify({ model: CHAT, input: "Go on", previous_response_id: id }),
		);
	},
	async "a conversation"(form) {
		const items = [{ type: "message", role: "user", content: PLACE }];
		const { id } = JSON.parse(await call("/ai/v1/conversations", bodyOf({ items }, form)));
		return call("/ai/v1/responses", JSON.stringify({ model: CHAT, input: "Go on", conversation: id }));
	},
	async "a conversation that is compacted"(form) {
		const stored = await operator("/ai/v1/responses", bodyOf({ model: CHAT, input: PLACE }, form));
		book.length = 0;
		const { id } = JSON.parse(stored);
		return call("/ai/v1/responses/compact", JSON.stringify({ model: CHAT, previous_response_id: id }));
	},
	"a response that is compacted": live("/ai/v1/responses", {
		...{ model: CHAT, context_management: [{ type: "compaction", compact_threshold: 1 }] },
		input: [
			{ role: "user", content: PLACE },
			{ role: "user", content: "Go on" },
		],
	}),
	async "a summary"(form) {
		const summary = Buffer.from(`${"The boat is blue. ".repeat(99)} ${form}`).toString("base64url");
		const item = { type: "compaction", encrypted_content: `ganglion-summary-2.${summary}` };
		return call("/ai/v1/responses", JSON.stringify({ model: CHAT, input: [item] }));
	},
	async "a response in the background"(form) {
		const body = bodyOf({ model: CHAT, input: PLACE, background: true }, form);
		const started = await call("/ai/v1/responses", body);
		if (started.includes(SENTENCE)) return started;
		const { id } = JSON.parse(started);
		return until(() => call(`/ai/v1/responses/${id}`), /"status":"(failed|completed|incomplete)"/);
	},
	async "a batch"(form) {
		const line = {
			custom_id: "a",
			method: "POST",
			url: "/v1/chat/completions",
			body: { model: CHAT, messages },
		};
		const file = await upload("batch", "a.jsonl", bodyOf(line, form));
		const batch = { input_file_id: file, endpoint: "/v1/chat/completions", completion_window: "24h" };
		const { id } = JSON.parse(await call("/ai/v1/batches", JSON.stringify(batch)));
		const ended = await until(() => call(`/ai/v1/batches/${id}`), /"status":"(completed|failed)"/);
		const { error_file_id: errors, output_file_id: output } = JSON.parse(ended);
		const files = [errors, output].filter(Boolean).map((one) => call(`/ai/v1/files/${one}/content`));
		return ended + (await Promise.all(files)).join("\n");
	},
	async "a batch of messages"(form) {
		const requests = [{ custom_id: "a", params: { model: CHAT, max_tokens: 10, messages } }];
		const { id } = JSON.parse(await call("/ai/v1/messages/batches", bodyOf({ requests }, form)));
		await until(() => call(`/ai/v1/messages/batches/${id}`), /"processing_status":"ended"/);
		return call(`/ai/v1/messages/batches/${id}/results`);
	},
	async "a queued run"(form) {
		const body = bodyOf({ requests: [{ prompt: PLACE }] }, form);
		const started = JSON.parse(await call(`/ai/run/${CHAT}?queueRequest=true`, body));
		const id = started.result?.request_id ?? started.request_id;
		const poll = () => call(`/ai/run/${CHAT}?queueRequest=true`, JSON.stringify({ request_id: id }));
		return until(poll, /"responses"|DLP/);
	},
	async "a search"(form) {
		await call("/ai-search/instances", JSON.stringify({ id: "docs", embedding_model: EMBEDDINGS }));
		return call(
			"/ai-search/instances/docs/search",
			bodyOf({ messages: [{ role: "user", content: PLACE }] }, form),
		);
	},
	async "an answer of a search"(form) {
		await call("/ai-search/instances", JSON.stringify({ id: "docs", embedding_model: EMBEDDINGS }));
		return call(
			"/ai-search/instances/docs/chat/completions",
			bodyOf(
				{
					messages: [{ role: "user", content: PLACE }],
					ai_search_options: { query_rewrite: { enabled: true } },
				},
				form,
			),
		);
	},
	async "an item of a search"(form) {
		await call("/ai-search/instances", JSON.stringify({ id: "docs", embedding_model: EMBEDDINGS }));
		const body = new FormData();
		// A text has no escapes of JSON.
		const content = JSON.parse(`"${form}"`) as string;
		body.append(
			"file",
			new File([`# Bills\n\nThe card is ${content} and nothing else.`], `${form.length}.md`),
		);
		const { result } = JSON.parse(await call("/ai-search/instances/docs/items", body));
		const item = () => call(`/ai-search/instances/docs/items/${result.id}`);
		return (
			(await until(item, /"status":"(completed|error|skipped)"/)) +
			(await call(`/ai-search/instances/docs/items/${result.id}/logs`))
		);
	},
};

describe.each(Object.entries(WAYS))("%s", (_, send) => {
	it.each(Object.entries(forms))(
		"does not send %s to an engine, and says why",
		async (__, form) => {
			use(DLP);
			const answer = await send(form);
			expect(isBroken(book), book.join("\n")).toBe(false);
			expect(answer).toContain(SENTENCE);
		},
		60_000,
	);
});

it("sends what has no such number", async () => {
	use(DLP);
	expect(await call(`/ai/run/${CHAT}`, JSON.stringify({ prompt: "Hi" }))).toContain("Hello");
	expect(book).toHaveLength(1);
});
