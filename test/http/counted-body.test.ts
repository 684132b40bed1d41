import { createExecutionContext } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { BufferHold, bufferedBytes } from "../../src/core/process-counts.ts";
import { wireOf } from "../../src/surfaces/binding/binding.ts";
import { AiGateway } from "../../src/surfaces/gateway/gateway-wire.ts";
import { ToMarkdownService } from "../../src/surfaces/markdown/markdown.ts";
import { entrypoint } from "../../src/surfaces/rpc/entrypoint.ts";
import { CALLER, completion, ENGINE_VARS, upstream } from "../gateway.ts";
import { closedGateway } from "./access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const LARGE = "a".repeat(20_000);

async function world(answer = "Hello") {
	const engine = upstream(() => Response.json(completion(answer)));
	const { app, account, createToken, services } = closedGateway({ vars: ENGINE_VARS, fetch: engine.fetch });
	const token = await createToken(["Workers AI Run"]);
	const context = Object.defineProperty(createExecutionContext(), "props", { value: { account } });
	const caller = { ...CALLER, account };
	const ai = new (entrypoint(() => ({ services, allowAnonymous: false })))(context, {});
	return { app, account, token, services, caller, ai };
}
type World = Awaited<ReturnType<typeof world>>;

const withLength = (body: string): RequestInit => ({
	method: "POST",
	headers: { "content-type": "application/json", "content-length": String(body.length) },
	body,
});
const http = async ({ app, account, token }: World, prompt: string): Promise<Response> => {
	const init = withLength(JSON.stringify({ prompt }));
	return app.request(`/client/v4/accounts/${account}/ai/run/${LLAMA}`, {
		...init,
		headers: { ...init.headers, authorization: `Bearer ${token}` },
	});
};
const raw = { returnRawResponse: true };

/** Each returns a response, also for a failure. */
const WAYS: Readonly<Record<string, (world: World) => Promise<Response>>> = {
	HTTP: (to) => http(to, LARGE),
	binding: async ({ caller, services }) => {
		const init = withLength(JSON.stringify({ inputs: { prompt: LARGE }, options: {} }));
		const headers = { ...init.headers, "cf-consn-model-id": LLAMA };
		const request = new Request("https://workers-binding.ai/run?version=3", { ...init, headers });
		return wireOf(services).fetch(request, { caller });
	},
	RPC: ({ ai }) => ai.run(LLAMA, { prompt: LARGE }, raw) as Promise<Response>,
	"RPC in a gateway": ({ ai }) =>
		ai.run(LLAMA, { prompt: LARGE }, { ...raw, gateway: { id: "default" } }) as Promise<Response>,
	"a stream over RPC": ({ ai }) =>
		ai.run(
			"@cf/openai/whisper",
			{ audio: { body: new Blob([LARGE]).stream(), contentType: "audio/mpeg" } },
			raw,
		) as Promise<Response>,
	"steps of a gateway over RPC": ({ caller, services }) =>
		new AiGateway("default", caller, services).run({
			provider: "workers-ai",
			endpoint: LLAMA,
			headers: {},
			query: { prompt: LARGE },
		}),
	"files over RPC": ({ caller, services }) =>
		new ToMarkdownService(caller, services)
			.transform({ name: "a.csv", blob: new Blob([LARGE], { type: "text/csv" }) })
			.then(
				() => new Response("converted"),
				({ internalCode }: { internalCode: number }) => Response.json({ internalCode }, { status: 429 }),
			),
};

/** Answers that other tests did not read stay buffered for a while. */
const used = (): number => bufferedBytes.report().used;

/** Another account holds all but 10,000 bytes meanwhile. */
async function whileFull(run: () => Promise<void>): Promise<void> {
	const others = new BufferHold("others");
	others.grow(bufferedBytes.report().limit - used() - 10_000);
	try {
		await run();
	} finally {
		others.release();
	}
}

describe("the bytes of a large request", () => {
	it.each(Object.entries(WAYS))(
		"are refused with 429 if the process holds too much, and are released at the end: %s",
		async (_, send) => {
			const to = await world();
			const before = used();
			await whileFull(async () => {
				const refused = await send(to);
				expect(refused.status).toBe(429);
				expect(await refused.text()).toContain("3040");
			});
			const served = await send(to);
			expect(served.status).not.toBe(429);
			await served.text();
			// The log of a gateway waits for its object.
			await expect.poll(used).toBeLessThanOrEqual(before);
		},
	);
});

/** Routes whose work never ends. In the runtime, the work of a caller who has left does not continue. */
const ROUTES: Readonly<Record<string, { path: string; type: string; body: string }>> = {
	tomarkdown: {
		path: "/ai/tomarkdown",
		type: "multipart/form-data; boundary=b",
		body: `--b\r\ncontent-disposition: form-data; name="files"; filename="a.csv"\r\n\r\n${LARGE}\r\n--b--\r\n`,
	},
	"upsert of vectors": {
		path: "/vectorize/v2/indexes/docs/upsert",
		type: "application/x-ndjson",
		body: `${JSON.stringify({ id: "a", values: Array(3).fill(1), metadata: { text: "a".repeat(9_000) } })}\n`.repeat(
			3,
		),
	},
};

describe("the bytes of a large request whose caller leaves", () => {
	it.each(Object.entries(ROUTES))(
		"are released while its work waits: %s",
		async (_, { path, type, body }) => {
			const { app, account, services, createToken } = closedGateway();
			const token = await createToken(["Workers AI Write", "Vectorize Write"]);
			const waiting = Promise.withResolvers<void>();
			const wait = (): Promise<never> => {
				waiting.resolve();
				return new Promise(() => {});
			};
			await services.vectorIndexes.create(account, { name: "docs", dimensions: 3, metric: "cosine" });
			const { index, store } = await services.vectorIndexes.open(account, "docs");
			vi.spyOn(services.vectorIndexes, "open").mockResolvedValue({ index, store: { ...store, write: wait } });
			vi.spyOn(services, "convertDocument").mockImplementation(wait);
			const before = used();
			const caller = new AbortController();
			void app.request(`/client/v4/accounts/${account}${path}`, {
				method: "POST",
				headers: {
					"content-type": type,
					"content-length": String(body.length),
					authorization: `Bearer ${token}`,
				},
				body,
				signal: caller.signal,
			});
			await waiting.promise;
			expect(used()).toBeGreaterThan(before);
			caller.abort();
			await expect.poll(used).toBeLessThanOrEqual(before);
		},
	);
});

describe("the bytes of a large answer of an engine", () => {
	it("are refused with 429 if the process holds too much, and are released at the end", async () => {
		const to = await world(LARGE);
		const before = used();
		await whileFull(async () => {
			const refused = await http(to, "Hi");
			expect(refused.status).toBe(429);
			expect(refused.headers.get("retry-after")).toBe("2");
			expect(await refused.json()).toMatchObject({ errors: [{ code: 3040 }] });
		});
		const served = await http(to, "Hi");
		expect(served.status).toBe(200);
		expect(await served.json()).toMatchObject({ result: { response: LARGE } });
		expect(used()).toBeLessThanOrEqual(before);
	});
});
