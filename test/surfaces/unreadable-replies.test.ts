/** An engine's reply that cannot be read: 502 by every interface, with the engine's name in the log and without the reply in the answer. */
import { describe, expect, it } from "vitest";
import { createApp } from "../../src/app.ts";
import { observersOf } from "../../src/telemetry/exchange-observer.ts";
import { BASE, OPEN_ACCESS, testServices } from "../gateway.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const CHAT = { messages: [{ role: "user", content: "Hi" }] };

const KINDS: Record<string, object> = {
	openai: { kind: "openai", url: "http://engine/v1" },
	"openai, Responses": { kind: "openai", url: "http://engine/v1", api: "responses" },
	anthropic: { kind: "anthropic", url: "http://engine", key: "KEY" },
	gemini: { kind: "gemini", url: "http://engine", key: "KEY" },
	ollama: { kind: "ollama", url: "http://engine" },
	"workers-ai": { kind: "workers-ai", url: "http://engine/ai", key: "KEY" },
};

const SURFACES: Record<string, (stream: boolean) => { path: string; body: object }> = {
	chat: (stream) => ({ path: "/v1/chat/completions", body: { model: LLAMA, ...CHAT, stream } }),
	Responses: (stream) => ({
		path: "/v1/responses",
		body: { model: LLAMA, input: "Hi", stream, store: false },
	}),
	Messages: (stream) => ({ path: "/v1/messages", body: { model: LLAMA, max_tokens: 50, ...CHAT, stream } }),
	Gemini: (stream) => ({
		path: `/v1beta/models/${LLAMA}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
		body: { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
	}),
	"the native route": (stream) => ({ path: `/run/${LLAMA}`, body: { ...CHAT, stream } }),
};

const WORD = "Lorem";
const REPLIES: Record<string, { text: string; type: string }> = {
	"a page": { text: `<html>${`${WORD} `.repeat(100)}</html>`, type: "text/html" },
	"other JSON": { text: JSON.stringify({ [WORD]: [WORD] }), type: "application/json" },
	"text that calls itself JSON": { text: `${WORD} ipsum`, type: "application/json" },
	nothing: { text: "", type: "application/json" },
};

const cases = Object.entries(KINDS).flatMap(([kind, backend]) =>
	Object.entries(SURFACES).flatMap(([surface, request]) =>
		[false, true].map((stream) => ({ kind, backend, surface, request, stream })),
	),
);

describe.each(Object.entries(REPLIES))("%s", (_, { text, type }) => {
	it.each(cases)("by $kind for $surface, stream: $stream", async ({ backend, request, stream }) => {
		const services = testServices({
			vars: {
				BACKENDS: { "gpu-7": backend },
				ROUTES: {
					[LLAMA]: { targets: [{ backend: "gpu-7", model: "llama-4-scout" }], retries: { attempts: 1 } },
				},
				KEY: "sk-engine-secret",
			},
			fetch: async () => new Response(text, { headers: { "content-type": type } }),
		});
		const lines: string[] = [];
		const log = (entry: unknown) => void lines.push(JSON.stringify(entry));
		const app = createApp(
			{ ...services, observers: observersOf({ ledgers: services.ledgers, log }) },
			OPEN_ACCESS,
		);
		const { path, body } = request(stream);
		const response = await app.request(`${BASE}${path}`, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(body),
		});
		const answer = await response.text();
		expect([response.status, answer]).toEqual([502, answer]);
		expect(answer).not.toContain(WORD);
		const logged = lines.join("\n");
		expect(logged).toContain("gpu-7");
		if (text === "") return;
		expect(logged).toContain(JSON.stringify(text.slice(0, 200)).slice(1, -1));
		expect(logged).not.toContain(JSON.stringify(text.slice(0, 201)).slice(1, -1) + WORD);
	});
});
