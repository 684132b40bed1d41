/** Patterns of tokens that run models: large, deep, compressed and multiplied requests, and what they leave on the disk. */
import { deflateSync, gzipSync } from "node:zlib";
import type { Attacker, Pattern } from "../attacker.ts";
import { api, chat, gateway, HOLD_MS, inventedToken, KILOBYTE, MEGABYTE, padding } from "./requests.ts";
import { passed, provider } from "./streams.ts";

const BOMB = gzipSync(padding(100 * MEGABYTE));
const DOUBLE_BOMB = deflateSync(BOMB);
const DEPTH = 100_000;
const MAX_STEPS = 32;

const byToken = (name: string, attempt: Pattern["attempt"]): Pattern => ({ name, by: "token", attempt });
const refused = (name: string, attempt: Pattern["attempt"]): Pattern => ({
	...byToken(name, attempt),
	isRefused: true,
});
const chats = (a: Attacker): string => `${api(a)}/v1/chat/completions`;
const inPlain = { "cf-aig-gateway-id": "plain" };

const steps = (count: number, query: object) =>
	Array.from({ length: count }, () => ({
		provider: "custom-evil",
		endpoint: "chat/completions",
		headers: {
			authorization: "Bearer sk-of-the-attacker",
			"cf-aig-max-attempts": "5",
			"cf-aig-retry-delay": "1",
		},
		query,
	}));

export const BODY_PATTERNS: readonly Pattern[] = [
	byToken("one token beside invented ones", async (a) => {
		const headers = { "cf-aig-authorization": `Bearer ${inventedToken(a)}`, "x-api-key": `sk-${a.number}` };
		await a.ask(chats(a), { body: chat(), headers });
	}),
	refused("a compressed bomb", async (a) => {
		await a.ask(chats(a), { body: BOMB, headers: { "content-encoding": "gzip" } });
	}),
	refused("a bomb in a bomb", async (a) => {
		await a.ask(chats(a), { body: DOUBLE_BOMB, headers: { "content-encoding": "gzip, deflate" } });
	}),
	refused("deep JSON", async (a) => {
		await a.ask(chats(a), { body: `{"messages":${"[".repeat(DEPTH)}` });
	}),
	refused("100,000 fields", async (a) => {
		const fields = Object.fromEntries(Array.from({ length: DEPTH }, (_, i) => [`k${i}`, i]));
		await a.ask(chats(a), { body: { ...fields, model: "hostile/quick" } });
	}),
	refused("a small budget, prompts of 1 MB", async (a) => {
		const body = chat(padding(MEGABYTE));
		await a.ask("/v1/chat/completions", { body, headers: inPlain, token: a.target.poorToken });
	}),
	byToken("a small budget", async (a) => {
		await a.ask("/v1/chat/completions", { body: chat(), headers: inPlain, token: a.target.poorToken });
	}),
	byToken("a small budget, endless streams", async (a) => {
		const body = chat("Hi", { model: "endless", stream: true });
		await a.ask("/v1/chat/completions", { body, headers: inPlain, token: a.target.poorToken });
	}),
	refused("a budget that pays for no request", async (a) => {
		await a.ask("/v1/chat/completions", { body: chat(), headers: inPlain, token: a.target.emptyToken });
	}),
	refused("invalid requests in a gateway", async (a) => {
		await a.ask(chats(a), {
			body: { model: "hostile/quick", messages: padding(100 * KILOBYTE) },
			headers: inPlain,
		});
	}),
	refused("unknown models", async (a) => {
		const model = `hostile/none-${a.number}`;
		await a.ask(chats(a), { body: { ...chat(padding(100 * KILOBYTE)), model }, headers: inPlain });
	}),
	refused("blocked by data-loss prevention", async (a) => {
		const body = chat(`4111 1111 1111 1111 ${padding(100 * KILOBYTE)}`);
		await a.ask(provider(a, "searched"), { body, headers: passed(a) });
	}),
	byToken("large prompts in logs", async (a) => {
		await a.ask(provider(a), { body: chat(padding(5 * MEGABYTE)), headers: passed(a) });
	}),
	byToken("large answers in a cache", async (a) => {
		const headers = { ...passed(a), "cf-aig-cache-key": `key-${a.number}`, "cf-aig-cache-ttl": "86400" };
		await a.ask(provider(a, "cached"), { body: chat("Hi", { model: "large" }), headers, leaveMs: HOLD_MS });
	}),
	byToken("metadata, event ids and sessions that never repeat", async (a) => {
		const headers = {
			...passed(a),
			"cf-aig-metadata": JSON.stringify({ user: `u-${a.number}` }),
			"cf-aig-event-id": `e-${a.number}`,
			"x-session-affinity": `s-${a.number}`,
		};
		await a.ask(provider(a), { body: chat(), headers });
	}),
	byToken("a universal request of 160 calls", async (a) => {
		await a.ask(gateway(a, "plain"), {
			body: steps(MAX_STEPS, chat("Hi", { model: "busy" })),
			leaveMs: HOLD_MS,
		});
	}),
	byToken("a universal request, left", async (a) => {
		await a.ask(gateway(a, "plain"), {
			body: steps(MAX_STEPS, chat("Hi", { model: "silent" })),
			leaveMs: 300,
		});
	}),
	refused("a universal request of 1,000 steps", async (a) => {
		await a.ask(gateway(a, "plain"), { body: steps(1_000, chat()) });
	}),
	byToken("a request of 1,000 tools", async (a) => {
		const tools = Array.from({ length: 1_000 }, (_, i) => ({
			type: "function",
			function: { name: `f${i}`, parameters: { type: "object", properties: { a: { type: "string" } } } },
		}));
		await a.ask(chats(a), { body: { ...chat(), tools } });
	}),
	byToken("a schema with an expensive pattern", async (a) => {
		const schema = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
		const response_format = { type: "json_schema", json_schema: { name: "x", schema } };
		await a.ask(chats(a), { body: { ...chat(padding(KILOBYTE)), response_format } });
	}),
	byToken("prompts of 9 MB are counted", async (a) => {
		await a.ask(`${api(a)}/v1/messages/count_tokens`, { body: chat(padding(9 * MEGABYTE)) });
	}),
	byToken("prompts of 9 MB are explained", async (a) => {
		await a.ask(`${api(a)}/explain/v1/chat/completions`, { body: chat(padding(9 * MEGABYTE)) });
	}),
	byToken("10,000 embeddings", async (a) => {
		const input = Array.from({ length: 10_000 }, (_, i) => `text ${i}`);
		await a.ask(`${api(a)}/v1/embeddings`, { body: { model: "hostile/embed", input } });
	}),
	byToken("a form with audio of 20 MB", async (a) => {
		const boundary = "----x";
		const part = (name: string, extra = ""): string =>
			`--${boundary}\r\ncontent-disposition: form-data; name="${name}"${extra}\r\n\r\n`;
		const body = `${part("model")}hostile/quick\r\n${part("file", '; filename="a.wav"')}${padding(20 * MEGABYTE)}\r\n--${boundary}--\r\n`;
		const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
		await a.ask(`${api(a)}/v1/audio/transcriptions`, { body, headers });
	}),
	byToken("files for Markdown", async (a) => {
		const boundary = "----x";
		const file = "<div>".repeat(200_000);
		const body = `--${boundary}\r\ncontent-disposition: form-data; name="files"; filename="a.html"\r\ncontent-type: text/html\r\n\r\n${file}\r\n--${boundary}--\r\n`;
		const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
		await a.ask(`${api(a)}/tomarkdown`, { body, headers });
	}),
	byToken("stored responses of 1 MB", async (a) => {
		await a.ask(`${api(a)}/v1/responses`, {
			body: { model: "hostile/quick", input: padding(MEGABYTE), store: true },
		});
	}),
	byToken("responses in the background", async (a) => {
		await a.ask(`${api(a)}/v1/responses`, {
			body: { model: "hostile/silent", input: "Hi", background: true, store: true },
		});
	}),
	byToken("background streams, left", async (a) => {
		await a.ask(`${api(a)}/v1/responses`, {
			body: { model: "hostile/slow", input: "Hi", background: true, store: true, stream: true },
			leaveMs: 500,
		});
	}),
	byToken("polls of responses that are left", async (a) => {
		await a.ask(`${api(a)}/v1/responses/resp_${String(a.number).padStart(48, "0")}`, { leaveMs: 2 });
	}),
	byToken("conversations", async (a) => {
		const items = Array.from({ length: 20 }, () => ({
			type: "message",
			role: "user",
			content: padding(KILOBYTE),
		}));
		await a.ask(`${api(a)}/v1/conversations`, { body: { items } });
	}),
];
