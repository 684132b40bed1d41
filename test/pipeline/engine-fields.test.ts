import { describe, expect, it } from "vitest";
import { testGateway, upstream } from "../gateway.ts";

const COMPLETION = {
	choices: [
		{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello." }, text: "Hello." },
	],
	usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
};

/** Sends a request, and returns what the engine has received. */
function pooled(pool: object) {
	const engine = upstream(() => Response.json(COMPLETION));
	const { app } = testGateway({
		vars: {
			BACKENDS: { vllm: { kind: "openai", pool: { replicas: ["http://gpu-1/v1"], ...pool } } },
			ROUTES: { "pool/chat": [{ backend: "vllm" }] },
			MODELS: { "pool/chat": { task: "Text Generation" } },
		},
		fetch: engine.fetch,
	});
	return async (account: string, fields: object = {}, headers: Record<string, string> = {}) => {
		const isChat = !("prompt" in fields);
		const path = isChat ? "chat/completions" : "completions";
		const response = await app.request(`http://gateway/client/v4/accounts/${account}/ai/v1/${path}`, {
			method: "POST",
			headers: { "content-type": "application/json", ...headers },
			body: JSON.stringify({
				model: "pool/chat",
				...(isChat && { messages: [{ role: "user", content: "Hi" }] }),
				...fields,
			}),
		});
		expect({ status: response.status, body: await response.text() }).toMatchObject({ status: 200 });
		return (await engine.requests.at(-1)?.json()) as { cache_salt?: string; priority?: number };
	};
}

const BATCH = { "x-ganglion-priority": "batch" };

describe("fields that a pool adds for its engines", () => {
	it("are none by default, and callers cannot send them", async () => {
		const send = pooled({});
		const sent = await send("a", { cache_salt: "mine", priority: -9 }, BATCH);
		expect(sent).not.toHaveProperty("cache_salt");
		expect(sent).not.toHaveProperty("priority");
	});

	it("are a salt for each account", async () => {
		const send = pooled({ cache_salt: true });
		const { cache_salt } = await send("a", { cache_salt: "mine" });
		expect(cache_salt).toMatch(/^[0-9a-f]{32}$/);
		expect((await send("a")).cache_salt).toBe(cache_salt);
		expect((await send("a", { prompt: "Once" })).cache_salt).toBe(cache_salt);
		expect((await send("b")).cache_salt).not.toBe(cache_salt);
	});

	it("are a number for each priority", async () => {
		const send = pooled({ priority: { batch: 10 } });
		expect(await send("a")).not.toHaveProperty("priority");
		expect((await send("a", {}, BATCH)).priority).toBe(10);
	});
});
