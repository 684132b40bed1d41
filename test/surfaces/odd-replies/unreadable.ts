/** A gateway in front of one engine whose replies cannot be read, and the log of it. */
import { createApp } from "../../../src/app.ts";
import { logObserver } from "../../../src/telemetry/exchange-observer.ts";
import { BASE, OPEN_ACCESS, testServices } from "../../gateway.ts";

export const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const CHAT = { messages: [{ role: "user", content: "Hi" }] };

export const KINDS = {
	openai: { kind: "openai", url: "http://engine/v1" },
	"openai, Responses": { kind: "openai", url: "http://engine/v1", api: "responses" },
	anthropic: { kind: "anthropic", url: "http://engine", key: "KEY" },
	gemini: { kind: "gemini", url: "http://engine", key: "KEY" },
	ollama: { kind: "ollama", url: "http://engine" },
	"workers-ai": { kind: "workers-ai", url: "http://engine/ai", key: "KEY" },
} satisfies Record<string, object>;

interface SentRequest {
	path: string;
	body: object;
}

export const SURFACES: Record<string, (stream: boolean) => SentRequest> = {
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

interface Reply {
	text: string;
	type: string;
}

/** All gateways share accounts and ids of requests: a new account costs as much as six requests. */
const { ledgers, uuid } = testServices();

/** Sends a request for `model` to a gateway with one backend, `gpu-7`, whose every reply is `reply`. */
export async function answerTo(
	backend: object,
	{ path, body }: SentRequest,
	{ text, type }: Reply,
	model = LLAMA,
): Promise<{ status: number; answer: string; logged: string }> {
	const services = testServices({
		vars: {
			BACKENDS: { "gpu-7": backend },
			ROUTES: {
				[model]: { targets: [{ backend: "gpu-7", model: "llama-4-scout" }], retries: { attempts: 1 } },
			},
			KEY: "sk-engine-secret",
		},
		fetch: async () => new Response(text, { headers: { "content-type": type } }),
	});
	const lines: string[] = [];
	const log = (entry: unknown) => void lines.push(JSON.stringify(entry));
	const app = createApp({ ...services, ledgers, uuid, observers: [logObserver(log)] }, OPEN_ACCESS);
	const response = await app.request(`${BASE}${path}`, {
		method: "POST",
		headers: { "content-type": "application/json" },
		body: JSON.stringify(body),
	});
	return { status: response.status, answer: await response.text(), logged: lines.join("\n") };
}
