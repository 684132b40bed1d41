/**
 * Data-loss prevention with BLOCK in the gateway that a token must use. Every way in which a text reaches an engine through a room is tried with
 * a card number in five forms. The engine's own record of what it was sent must never have it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Gateway } from "../../tools/soak/gateway.ts";

const CHAT = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const LORA = "@cf/mistral/mistral-7b-instruct-v0.2-lora";
const EMBEDDINGS = "@cf/baai/bge-base-en-v1.5";
const DIGITS = "4111111111111111";
/** The forms of the number in a JSON string. */
const FORMS = {
	digits: DIGITS,
	"groups with spaces": "4111 1111 1111 1111",
	"groups with hyphens": "4111-1111-1111-1111",
	"escaped JSON": String.raw`\u0034111111111111111`,
	base64: btoa(`card ${DIGITS}`),
} as const;
/** Stands for the number, until it is in a text of JSON. */
const PLACE = "{number}";
const SENTENCE = "Request content blocked due to DLP policy violations";
const ACCOUNT = "acme";

/** What the engine was sent. */
const book: string[] = [];
let engine: Server;
let gateway: Gateway;
let folder = "";
let token = "";

const reply = (body: Record<string, unknown>): object => {
	if ("input" in body && !("messages" in body)) {
		const inputs = Array.isArray(body.input) ? body.input : [body.input];
		const data = inputs.map((_, index) => ({
			...{ object: "embedding", index },
			embedding: Array.from({ length: 768 }, (__, at) => (at === 0 ? 1 : 0)),
		}));
		return { object: "list", data, model: body.model, usage: { prompt_tokens: 1, total_tokens: 1 } };
	}
	return {
		...{ id: "c", object: "chat.completion", created: 1, model: body.model },
		choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
		usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
	};
};

beforeAll(async () => {
	engine = createServer(async (request, response) => {
		const body = await text(request);
		book.push(`${request.url} ${body}`);
		response.setHeader("content-type", "application/json").end(JSON.stringify(reply(JSON.parse(body))));
	});
	await new Promise<void>((resolve) => engine.listen(0, "127.0.0.1", resolve));
	const url = `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1`;
	folder = mkdtempSync(join(tmpdir(), "ganglion-rules-"));
	gateway = await Gateway.start(folder, {
		BACKENDS: { engine: { kind: "openai", url } },
		ROUTES: { "*": [{ backend: "engine", model: "engine-model" }] },
		LIMITS: { requests_per_minute: "none" },
	});
	const operator = (path: string, body: object) => call(path, JSON.stringify(body), Gateway.operator);
	await operator("/ai-gateway/gateways", {
		...{ id: "prod", collect_logs: true, cache_ttl: 0, cache_invalidate_on_update: false },
		...{ rate_limiting_interval: 0, rate_limiting_limit: 0 },
		dlp: { enabled: true, action: "BLOCK", profiles: ["credit_card"] },
	});
	const created = await operator("/tokens", {
		name: "bound",
		gateway: { id: "prod", mode: "required" },
		policies: [
			{
				effect: "allow",
				resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: "*" },
				permission_groups: [{ name: "Workers AI Write" }, { name: "AI Search Write" }],
			},
		],
	});
	token = `Bearer ${JSON.parse(created).result?.value}`;
	expect(created).toContain('"success":true');
}, 120_000);
afterAll(async () => {
	await gateway?.stop();
	engine?.close();
	if (folder) rmSync(folder, { recursive: true, force: true });
});

/** Returns the answer's text. `path`: below the account. */
async function call(
	path: string,
	body?: string | FormData,
	authorization = token,
	headers: Record<string, string> = {},
): Promise<string> {
	const response = await fetch(`${gateway.url}/client/v4/accounts/${ACCOUNT}${path}`, {
		method: body === undefined ? "GET" : "POST",
		headers: {
			authorization,
			...(typeof body === "string" && { "content-type": "application/json" }),
			...headers,
		},
		...(body !== undefined && { body }),
	});
	return response.text();
}

/** A body of JSON with the number in this form. */
const bodyOf = (body: object, form: string): string => JSON.stringify(body).replaceAll(PLACE, form);

const upload = async (purpose: string, name: string, content: string): Promise<string> => {
	const form = new FormData();
	form.append("purpose", purpose);
	form.append("file", new File([content], name));
	return JSON.parse(await call("/ai/v1/files", form)).id;
};

/** Asks until the text has this. */
async function until(ask: () => Promise<string>, pattern: RegExp): Promise<string> {
	let last = "";
	for (const end = Date.now() + 30_000; Date.now() < end; await wait(100)) {
		last = await ask();
		if (pattern.test(last)) return last;
	}
	throw new Error(`still ${last.slice(0, 1_000)}`);
}

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
		const stored = await call(
			"/ai/v1/responses",
			bodyOf({ model: CHAT, input: PLACE }, form),
			Gateway.operator,
		);
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
		const stored = await call(
			"/ai/v1/responses",
			bodyOf({ model: CHAT, input: PLACE }, form),
			Gateway.operator,
		);
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
		return until(poll, /responses|DLP|error/);
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

/** The engine reads escapes, and a person reads groups. */
const readable = (sent: string): string => sent.replaceAll(String.raw`\u0034`, "4").replaceAll(/[\s-]/g, "");

describe.each(Object.entries(WAYS))("%s", (_, send) => {
	it.each(Object.entries(FORMS))(
		"does not send %s to an engine, and says why",
		async (__, form) => {
			book.length = 0;
			const answer = await send(form);
			const seen = book.filter((sent) => {
				const all = readable(sent);
				return all.includes(DIGITS) || sent.includes(FORMS.base64);
			});
			expect(seen).toEqual([]);
			expect(answer).toContain(SENTENCE);
		},
		60_000,
	);
});

it("sends what has no such number", async () => {
	book.length = 0;
	expect(await call(`/ai/run/${CHAT}`, JSON.stringify({ prompt: "Hi" }))).toContain("Hello");
	expect(book).toHaveLength(1);
});
