/** The plugin in Miniflare itself: what the tools of the other cases share. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Miniflare } from "miniflare";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { modulesIn } from "../../../miniflare/modules.ts";
import { startConverter } from "../../../scripts/documents/converter.ts";
import { MEMBERS } from "./members.ts";
import { INDEX_PROBED } from "./probe.ts";
import { bundled, type SessionWorker, sessionOptions, startGateway, startSession } from "./session.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";

const MEMBERS_SCRIPT = bundled(`
	import { members } from "./members.ts";
	export default {
		fetch: async (request, { AI }) => Response.json({ class: AI.constructor.name, ...await members(AI) }),
	};
`);

const INDEX_SCRIPT = bundled(`
	import { probeIndex, thrownBy } from "./probe.ts";
	export default {
		async fetch(request, { VECTORIZE }) {
			const isProbed = new URL(request.url).pathname === "/";
			return Response.json(await (isProbed ? probeIndex(VECTORIZE) : thrownBy(() => VECTORIZE.describe())));
		},
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

/** Nothing listens there. */
const ABSENT = "http://127.0.0.1:9";

const open: (() => Promise<unknown>)[] = [];
const stopAll = () => Promise.all(open.splice(0).map((close) => close()));

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

	describe("a session of many Workers", () => {
		let miniflare: Miniflare;
		beforeAll(async () => {
			const converter = await startConverter(async () => modulesIn(join(gateway(), "../documents")));
			const running = startGateway(gateway(), converter.address);
			open.push(async () => {
				await running.dispose();
				await converter.stop();
			});
			const url = await engine();
			const runningUrl = (await running.ready).origin;
			await fetch(`${runningUrl}/client/v4/accounts/local/vectorize/v2/indexes`, {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify({ name: "docs", config: { dimensions: 2, metric: "cosine" } }),
			});
			await fetch(`${runningUrl}/client/v4/accounts/local/vectorize/v2/indexes/docs/metadata_index/create`, {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify({ propertyName: "page", indexType: "number" }),
			});
			const recorder = await listen(({ headers, method, url }) => ({
				asked: [method, url, headers["x-forwarded"], headers["cf-consn-model-id"], headers.authorization],
			}));
			vi.stubEnv("ENGINE_KEY", "sk-environment");
			vi.stubEnv("DEFAULT_BACKEND", "mine");
			vi.stubEnv("ROUTES", "mine");
			miniflare = session(plugin(), {
				members: { bindings: { AI: {} }, script: MEMBERS_SCRIPT },
				"members-of-running": { bindings: { AI: { url: runningUrl } }, script: MEMBERS_SCRIPT },
				app: {
					bindings: { AI: {}, ENGINE: { ...routed(url), account: "team-b" } },
					vars: { ENGINE_KEY: "sk-app" },
					script,
				},
				other: { bindings: { AI: routed(url) }, vars: { ENGINE_KEY: "sk-other" }, script },
				environment: { bindings: { AI: routed(url) }, script },
				variables: { bindings: { AI: {} }, vars: { MODELS: "mine" }, script },
				service: { bindings: {}, services: { AI: {} }, script },
				recorded: {
					bindings: { AI: { url: `${recorder}/`, account: "team-a", token: "GANGLION_TOKEN" } },
					vars: { GANGLION_TOKEN: "secret" },
					script,
				},
				"index-of-running": {
					bindings: {},
					indexes: { VECTORIZE: { url: runningUrl, index_name: "docs" } },
					script: INDEX_SCRIPT,
				},
				"unknown-index": {
					bindings: {},
					indexes: { VECTORIZE: { url: runningUrl, index_name: "pages" } },
					script: INDEX_SCRIPT,
				},
				"absent-index": {
					bindings: {},
					indexes: { VECTORIZE: { url: ABSENT, index_name: "docs" } },
					script: INDEX_SCRIPT,
				},
				absent: { bindings: { AI: { url: ABSENT } }, script },
			});
			await miniflare.ready;
			vi.unstubAllEnvs();
		});
		afterAll(stopAll);

		it("has the runtime's own class, with all of its members", async () => {
			expect(await call(miniflare, "/", "members")).toEqual({ class: "Ai", ...MEMBERS });
		});

		it("has the same class for a gateway that already runs", async () => {
			expect(await call(miniflare, "/", "members-of-running")).toEqual({
				...{ class: "Ai", ...MEMBERS },
				search: "8001: Invalid input: a gateway that already runs has AI Search over REST only",
			});
		});

		it("has the indexes of a gateway that already runs", async () => {
			expect(await call(miniflare, "/", "index-of-running")).toEqual(INDEX_PROBED);
			expect(await call(miniflare, "/thrown", "unknown-index")).toEqual({
				name: "Error",
				message: 'INDEX_GET_ERROR (code = 3000): vectorize.index.not_found - Index name "pages"',
			});
			expect(await call(miniflare, "/thrown", "absent-index")).toEqual({
				name: "Error",
				message: `INDEX_GET_ERROR (code = 7009): No gateway answers on ${ABSENT}: is it running?`,
			});
		});

		it("has several bindings and Workers, each with settings of its own", async () => {
			expect(await call(miniflare, "/AI")).toMatchObject(ALICE);
			expect(await call(miniflare, "/ENGINE")).toMatchObject({ response: "Bearer sk-app" });
			expect(await call(miniflare, "/AI", "other")).toMatchObject({ response: "Bearer sk-other" });
			expect(await call(miniflare, "/AI/url")).toMatch(/\/local\/default\/openai$/);
			expect(await call(miniflare, "/ENGINE/url")).toMatch(/\/team-b\/default\/openai$/);
		});

		it("takes a secret from the environment where the Worker has none", async () => {
			const answer = await call(miniflare, "/AI", "environment");
			expect(answer).toMatchObject({ response: "Bearer sk-environment" });
		});

		it("takes no variable of the Worker or of the environment for a setting", async () => {
			expect(await call(miniflare, "/AI", "variables")).toMatchObject(ALICE);
		});

		it("gives a service binding what it has when deployed", async () => {
			expect(await call(miniflare, "/AI", "service")).toMatchObject(ALICE);
			const models = await call(miniflare, "/AI/models", "service");
			expect(models).toContainEqual(expect.objectContaining({ name: LLAMA }));
		});

		it("asks a gateway that already runs for the account, with the token", async () => {
			expect(await call(miniflare, "/AI", "recorded")).toEqual({
				asked: [
					"POST",
					"/client/v4/accounts/team-a/ai/run/proxy",
					"https://workers-binding.ai/run?version=3",
					LLAMA,
					"Bearer secret",
				],
			});
		});

		it("reports a gateway that does not answer", async () => {
			const sentence = `No gateway answers on ${ABSENT}: is it running?`;
			expect(await call(miniflare, "/AI", "absent")).toEqual({ thrown: `AiError: 7009: ${sentence}` });
			expect(await call(miniflare, "/AI/models", "absent")).toEqual({
				thrown: `AiInternalError: ${sentence}`,
			});
		});
	});

	describe("a session", () => {
		afterEach(stopAll);

		it("goes on with other options", async () => {
			const app = { bindings: { AI: {} }, vars: { ENGINE_KEY: "sk" }, script };
			const miniflare = session(plugin(), { app });
			expect(await call(miniflare, "/AI")).toMatchObject(ALICE);
			const bindings = { AI: routed(await engine()) };
			await miniflare.setOptions(sessionOptions(plugin(), { app: { ...app, bindings } }));
			expect(await call(miniflare, "/AI")).toMatchObject({ response: "Bearer sk" });
		});
	});
}
