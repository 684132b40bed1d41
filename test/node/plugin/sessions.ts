/** The plugin in Miniflare itself: what the tools of the other cases share. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Miniflare } from "miniflare";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MEMBERS } from "./members.ts";
import { bundled, type SessionWorker, sessionOptions, startGateway, startSession } from "./session.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

const MEMBERS_SCRIPT = bundled(`
	import { members } from "./members.ts";
	export default {
		fetch: async (request, { AI }) => Response.json({ class: AI.constructor.name, ...await members(AI) }),
	};
`);

/**
 * `/AI` runs a chat on the binding AI, `/AI/models` lists, `/AI/url` tells where a gateway of its account is: what it
 * gave, or what it threw.
 */
const CALLING_SCRIPT = `export default {
	async fetch(request, env) {
		const [, name, member = "run"] = new URL(request.url).pathname.split("/");
		if (member === "url") return Response.json(await env[name].gateway("default").getUrl("openai"));
		const inputs = member === "run" ? ["${LLAMA}", { prompt: "Reply with exactly: Your name is Alice." }] : [];
		return Response.json(await env[name][member](...inputs).catch((error) => ({ thrown: String(error) })));
	},
}`;

const open: (() => Promise<unknown>)[] = [];

function session(plugin: string, workers: Record<string, SessionWorker>): Miniflare {
	const miniflare = startSession(plugin, workers);
	open.push(() => miniflare.dispose());
	return miniflare;
}

async function listen(answer: (request: IncomingMessage) => object): Promise<string> {
	const server: Server = createServer((request, response) => {
		request.resume();
		response.setHeader("content-type", "application/json");
		response.end(JSON.stringify(answer(request)));
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	open.push(async () => server.close());
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An engine that answers with the key it was sent. */
const engine = (): Promise<string> =>
	listen(({ headers }) => ({
		choices: [
			{ index: 0, message: { role: "assistant", content: headers.authorization }, finish_reason: "stop" },
		],
		usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
	}));

/** Routes every model to an engine. */
const routed = (url: string) => ({
	BACKENDS: { engine: { kind: "openai", url: `${url}/v1`, key: "ENGINE_KEY" } },
	DEFAULT_BACKEND: "engine",
});

async function call(miniflare: Miniflare, path: string, worker = "app"): Promise<unknown> {
	const fetcher = await miniflare.getWorker(worker);
	return (await fetcher.fetch(`http://app${path}`)).json();
}

const ALICE = { response: "Your name is Alice." };

export function describeSessions(installed: () => string): void {
	const plugin = () => join(installed(), "node_modules/ganglion/dist/miniflare/index.js");
	const gateway = () => join(installed(), "node_modules/ganglion/dist/worker");
	const script = CALLING_SCRIPT;

	afterEach(async () => {
		await Promise.all(open.splice(0).map((close) => close()));
		vi.unstubAllEnvs();
	});

	describe("the runtime's own class", () => {
		it("does what it does", async () => {
			const miniflare = session(plugin(), { app: { bindings: { AI: {} }, script: MEMBERS_SCRIPT } });
			expect(await call(miniflare, "/")).toEqual({ class: "Ai", ...MEMBERS });
		});

		it("does the same with a gateway that already runs", async () => {
			const running = startGateway(gateway());
			open.push(() => running.dispose());
			const url = (await running.ready).origin;
			const miniflare = session(plugin(), { app: { bindings: { AI: { url } }, script: MEMBERS_SCRIPT } });
			expect(await call(miniflare, "/")).toEqual({ class: "Ai", ...MEMBERS });
		});
	});

	describe("a session", () => {
		it("has several bindings and Workers, each with settings of its own", async () => {
			const url = await engine();
			const miniflare = session(plugin(), {
				app: {
					bindings: { AI: {}, ENGINE: { ...routed(url), account: "team-b" } },
					vars: { ENGINE_KEY: "sk-app" },
					script,
				},
				other: { bindings: { AI: routed(url) }, vars: { ENGINE_KEY: "sk-other" }, script },
			});
			expect(await call(miniflare, "/AI")).toMatchObject(ALICE);
			expect(await call(miniflare, "/ENGINE")).toMatchObject({ response: "Bearer sk-app" });
			expect(await call(miniflare, "/AI", "other")).toMatchObject({ response: "Bearer sk-other" });
			expect(await call(miniflare, "/AI/url")).toMatch(/\/local\/default\/openai$/);
			expect(await call(miniflare, "/ENGINE/url")).toMatch(/\/team-b\/default\/openai$/);
		});

		it("takes a secret from the environment where the Worker has none", async () => {
			vi.stubEnv("ENGINE_KEY", "sk-environment");
			const bindings = { AI: routed(await engine()) };
			const miniflare = session(plugin(), { app: { bindings, script } });
			expect(await call(miniflare, "/AI")).toMatchObject({ response: "Bearer sk-environment" });
		});

		it("does not take somebody's variable for a setting", async () => {
			vi.stubEnv("DEFAULT_BACKEND", "mine");
			vi.stubEnv("ROUTES", "mine");
			const miniflare = session(plugin(), {
				app: { bindings: { AI: {} }, vars: { MODELS: "mine" }, script },
			});
			expect(await call(miniflare, "/AI")).toMatchObject(ALICE);
		});

		it("goes on with other options", async () => {
			const app = { bindings: { AI: {} }, vars: { ENGINE_KEY: "sk" }, script };
			const miniflare = session(plugin(), { app });
			expect(await call(miniflare, "/AI")).toMatchObject(ALICE);
			const bindings = { AI: routed(await engine()) };
			await miniflare.setOptions(sessionOptions(plugin(), { app: { ...app, bindings } }));
			expect(await call(miniflare, "/AI")).toMatchObject({ response: "Bearer sk" });
		});

		it("gives a service binding what it has when deployed", async () => {
			const miniflare = session(plugin(), { app: { bindings: {}, services: { AI: {} }, script } });
			expect(await call(miniflare, "/AI")).toMatchObject(ALICE);
			expect(await call(miniflare, "/AI/models")).toContainEqual(expect.objectContaining({ name: LLAMA }));
		});
	});

	describe("a gateway that already runs", () => {
		it("is asked for the account, with the token", async () => {
			const url = await listen(({ headers, method, url }) => ({
				asked: [method, url, headers["x-forwarded"], headers["cf-consn-model-id"], headers.authorization],
			}));
			const bindings = { AI: { url: `${url}/`, account: "team-a", token: "GANGLION_TOKEN" } };
			const vars = { GANGLION_TOKEN: "secret" };
			const miniflare = session(plugin(), { app: { bindings, vars, script } });
			expect(await call(miniflare, "/AI")).toEqual({
				asked: [
					"POST",
					"/client/v4/accounts/team-a/ai/run/proxy",
					"https://workers-binding.ai/run?version=3",
					LLAMA,
					"Bearer secret",
				],
			});
		});

		it("says so when it does not", async () => {
			const url = "http://127.0.0.1:9";
			const miniflare = session(plugin(), { app: { bindings: { AI: { url } }, script } });
			const sentence = `No gateway answers on ${url}: is it running?`;
			expect(await call(miniflare, "/AI")).toEqual({ thrown: `AiError: 7009: ${sentence}` });
			expect(await call(miniflare, "/AI/models")).toEqual({ thrown: `AiInternalError: ${sentence}` });
		});
	});
}
