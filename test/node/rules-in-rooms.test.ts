/**
 * The rules of the gateway that a token must use, on every way in which a text reaches an engine through a room. The engine's own record must never
 * have the forbidden text, nor any call at all if none is allowed. The other ways: `rules-everywhere.test.ts`.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeWays, type Way } from "./rules/describe-ways.ts";
import {
	bodyOf,
	book,
	CHAT,
	call,
	DLP,
	EMBEDDINGS,
	named,
	operator,
	PLACE,
	RULES,
	type Rule,
	start,
	stop,
	until,
	use,
} from "./rules/world.ts";

const LORA = "@cf/mistral/mistral-7b-instruct-v0.2-lora";

beforeAll(start, 120_000);
afterAll(stop);

const upload = (purpose: string, name: string, content: string): Promise<string> => {
	const form = new FormData();
	form.append("purpose", purpose);
	form.append("file", new File([content], name));
	return call("/ai/v1/files", form);
};

/** Goes on with what was created, or returns the refusal. */
async function after<T>(created: Promise<string>, go: (created: T) => Promise<string>): Promise<string> {
	const text = await created;
	const isRefused = Object.values(RULES).some(({ sentence }) => text.includes(sentence));
	return isRefused ? text : go(JSON.parse(text) as T);
}

/** Goes on with the path of an instance of AI Search, whose models run in the rule's gateway. */
async function inInstance(rule: Rule, go: (path: string) => Promise<string>): Promise<string> {
	const id = `docs-${named(rule)}`;
	const fields = { id, embedding_model: EMBEDDINGS, ...(rule.names && { ai_gateway_id: rule.names }) };
	const created = await call("/ai-search/instances", JSON.stringify(fields));
	return created.includes(rule.sentence) ? created : go(`/ai-search/instances/${id}`);
}

const messages = [{ role: "user", content: `Pay with ${PLACE} now` }];
const live =
	(path: string, body: object): Way =>
	(form) =>
		call(path, bodyOf(body, form));

/** Ways in, by room. Each returns what the caller reads, which must have the sentence. */
const WAYS: Readonly<Record<string, Way>> = {
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
	"a conversation": (form) => {
		const items = [{ type: "message", role: "user", content: PLACE }];
		return after<{ id: string }>(call("/ai/v1/conversations", bodyOf({ items }, form)), ({ id }) =>
			call("/ai/v1/responses", JSON.stringify({ model: CHAT, input: "Go on", conversation: id })),
		);
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
	"a response in the background": (form) =>
		after<{ id: string }>(
			call("/ai/v1/responses", bodyOf({ model: CHAT, input: PLACE, background: true }, form)),
			({ id }) => until(() => call(`/ai/v1/responses/${id}`), /"status":"(failed|completed|incomplete)"/),
		),
	"a batch": (form) => {
		const line = {
			custom_id: "a",
			method: "POST",
			url: "/v1/chat/completions",
			body: { model: CHAT, messages },
		};
		return after<{ id: string }>(upload("batch", "a.jsonl", bodyOf(line, form)), ({ id: file }) => {
			const batch = { input_file_id: file, endpoint: "/v1/chat/completions", completion_window: "24h" };
			return after<{ id: string }>(call("/ai/v1/batches", JSON.stringify(batch)), async ({ id }) => {
				const path = `/ai/v1/batches/${id}`;
				const ended = await until(() => call(path), /"status":"(completed|failed)"|"waiting":/);
				const { error_file_id: errors, output_file_id: output } = JSON.parse(ended);
				const files = [errors, output].filter(Boolean).map((one) => call(`/ai/v1/files/${one}/content`));
				return ended + (await Promise.all(files)).join("\n");
			});
		});
	},
	"a batch of messages": (form) => {
		const requests = [{ custom_id: "a", params: { model: CHAT, max_tokens: 10, messages } }];
		return after<{ id: string }>(
			call("/ai/v1/messages/batches", bodyOf({ requests }, form)),
			async ({ id }) => {
				const path = `/ai/v1/messages/batches/${id}`;
				const batch = await until(() => call(path), /"processing_status":"ended"|"waiting":/);
				return batch + (await call(`/ai/v1/messages/batches/${id}/results`));
			},
		);
	},
	"a queued run": (form) => {
		const path = `/ai/run/${CHAT}?queueRequest=true`;
		return after<{ request_id?: string; result?: { request_id: string } }>(
			call(path, bodyOf({ requests: [{ prompt: PLACE }] }, form)),
			(started) => {
				const request_id = started.result?.request_id ?? started.request_id;
				return until(() => call(path, JSON.stringify({ request_id })), /"responses"|"waiting":/);
			},
		);
	},
	"a search": (form, rule) =>
		inInstance(rule, (path) =>
			call(`${path}/search`, bodyOf({ messages: [{ role: "user", content: PLACE }] }, form)),
		),
	"an answer of a search": (form, rule) =>
		inInstance(rule, (path) => {
			const body = {
				messages: [{ role: "user", content: PLACE }],
				ai_search_options: { query_rewrite: { enabled: true } },
			};
			return call(`${path}/chat/completions`, bodyOf(body, form));
		}),
	"an item of a search": (form, rule) =>
		inInstance(rule, (path) => {
			const body = new FormData();
			// A text has no escapes of JSON.
			const content = JSON.parse(`"${form}"`) as string;
			body.append(
				"file",
				new File([`# Bills\n\nThe card is ${content} and nothing else.`], `${form.length}.md`),
			);
			return after<{ result: { id: string } }>(call(`${path}/items`, body), async ({ result }) => {
				const item = `${path}/items/${result.id}`;
				// Before it waits, it is queued, too.
				const waits = new RegExp(`${rule.sentence}|"status":"(completed|error|skipped)"`);
				return until(async () => (await call(item)) + (await call(`${item}/logs`)), waits);
			});
		}),
};

describeWays(WAYS);

it("sends what has no such number", async () => {
	use(DLP);
	expect(await call(`/ai/run/${CHAT}`, JSON.stringify({ prompt: "Hi" }))).toContain("Hello");
	expect(book).toHaveLength(1);
});
