/** Calls out of the gateway: none bypasses `src/outbound`, and requests that are passed to a provider end with their caller. */
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import {
	DATABASE_CALL,
	PAGE_CALL,
	REPLY,
	SEARCH_CALL,
	SHORT_CALLS,
	STORE_CALL,
} from "../../src/outbound/limits.ts";
import { CLI } from "./cli/run.ts";
import { runScript, type Script } from "./script.ts";

const ADMIN_TOKEN = "an-admin-token-of-a-test-with-32-characters";
const AUTHORIZED = {
	authorization: `Bearer ${ADMIN_TOKEN}`,
	"cf-aig-authorization": `Bearer ${ADMIN_TOKEN}`,
};
const AI_GATEWAY = {
	allow_private_addresses: true,
	provider_timeouts: { header_ms: 4_000, idle_ms: 1_000, total_ms: 60_000 },
};

describe("the sources", () => {
	/** Each calls a binding, an object or the app of this Worker, or defines the runtime's `fetch` as a service. */
	const EXCEPTIONS: Readonly<Record<string, string>> = {
		"index.ts": "calls the app",
		"persistent-services.ts": "makes the services from the runtime's fetch and from bindings",
		"services.ts": "gives the drivers of databases the runtime's connect",
		"outbound/call-out.ts": "is the way out",
		"outbound/driver-socket.ts": "is the way out of the drivers of databases",
		"gateways/client/stream-runs.ts": "calls an object",
		"retrieval/documents/documents-entrypoint.ts": "calls this Worker, or another process of this gateway",
		"surfaces/operations/worker-reports.ts": "calls another process of this gateway",
		"surfaces/rest/run.ts": "calls the app of the binding",
		"surfaces/rpc/entrypoint.ts": "calls the app of the binding",
		"backends/cog/predictions.ts": "observes the signal of a call out",
		"backends/local/shortcut.ts": "changes the address of a call out",
	};
	/** A call of `fetch` by any name of its owner, a socket, or a websocket that this Worker opens. */
	const WAYS_OUT =
		/(?<![\w$])(?:[\w$.]+\.)?(?:fetch|publicFetch)\(|\bnew WebSocket\(|cloudflare:sockets|(?<![\w$])(?:services\.)?connect\(/;
	const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
	/** Methods named `fetch`, which the runtime calls. */
	const withoutMethods = (text: string): string =>
		text.replace(/^\s*(?:override )?(?:async )?fetch\(.*\{$/gm, "");

	const sources = readdirSync("src", { recursive: true, encoding: "utf8" }).filter(
		(file) => file.endsWith(".ts") && file !== "worker-configuration.d.ts",
	);
	const matching = (pattern: RegExp): string[] =>
		sources.filter((file) =>
			pattern.test(withoutMethods(withoutComments(readFileSync(join("src", file), "utf8")))),
		);

	it("call out only through src/outbound", () => {
		const calling = matching(WAYS_OUT);
		expect(calling.filter((file) => EXCEPTIONS[file] === undefined)).toEqual([]);
		// An exception without a call would hide a later one.
		expect(Object.keys(EXCEPTIONS).filter((file) => !calling.includes(file))).toEqual([]);
	});

	/** Bodies that are bounded before, or that this Worker has made. */
	const WHOLE_READS: Readonly<Record<string, string>> = {
		"backends/simulator/media/text-to-image.ts": "its own bytes",
		"backends/simulator/media/transcribe.ts": "its own bytes",
		"backends/transport/http.ts": "a reply whose length is announced and small",
		"backends/transport/reply-body.ts": "a reply whose length is announced and small",
		"dialects/media/multipart.ts": "a form whose bytes have been read",
		"gateways/run/answer-end.ts": "a body that is complete in memory",
		"gateways/middleware/cache.ts": "a body that is complete in memory",
		"gateways/durable/payload-objects.ts": "a payload that the gateway has bounded and stored",
		"gateways/scanning/text-collector.ts": "a form whose bytes have been read",
		"http/body.ts": "a request whose length is stated and small",
		"jobs/batches/run-line.ts": "a body that is complete in memory, whose size is checked",
		"retrieval/documents/answer-conversion.ts": "the message of its own gateway",
		"retrieval/documents/converter.ts": "the answer of its own converter",
		"retrieval/search/answer.ts": "an answer of this gateway",
		"retrieval/search/models.ts": "an answer of this gateway",
		"retrieval/search/rag.ts": "an answer of this gateway",
		"surfaces/aisearch/cached-chat.ts": "an answer of this gateway",
		"surfaces/aisearch/instance-target.ts": "an answer of this gateway",
		"retrieval/search/work.ts": "a file that the gateway has bounded and stored",
		"retrieval/search/sources/source-run.ts": "an object of a bucket whose size is checked",
		"retrieval/search/sources/website.ts": "a page that the gateway has bounded and stored",
		"responses/background-work.ts": "the answer of its own route",
		"surfaces/gateway/universal-socket.ts": "its own failure",
		"surfaces/markdown/markdown.ts": "files whose size is checked",
		"surfaces/operations/guard-counts.ts": "the request of its own connection guard",
		"surfaces/operations/openapi.ts": "a file of the deployment",
		"surfaces/responses/response-socket.ts": "the failure of its own route",
		"surfaces/rpc/unwrapped-response.ts": "the answer of a model that it has read",
	};
	const WHOLE_READ = /\.(?:text|json|arrayBuffer|bytes|blob|formData)\(\)/;

	it("read whole bodies only with a bound", () => {
		const reading = matching(WHOLE_READ);
		expect(reading.filter((file) => WHOLE_READS[file] === undefined)).toEqual([]);
		expect(Object.keys(WHOLE_READS).filter((file) => !reading.includes(file))).toEqual([]);
	});

	/** Each waits for nothing that another side sends. */
	const OTHER_TIMERS: Readonly<Record<string, string>> = {
		"core/lazy-timer.ts": "is the timer of limits: it fires after what has arrived is read",
		"backends/transport/pass-through.ts": "pauses between two reads",
		"storage/queue/work-queue.ts": "wakes a queue at the time of its next item",
		"streams/coalescing-reader.ts": "pauses between two reads",
	};
	const TIMERS = /\bAbortSignal\.timeout\(|\bsetTimeout\(/;

	it("limit what another side sends by one kind of timer", () => {
		const timing = matching(TIMERS);
		expect(timing.filter((file) => OTHER_TIMERS[file] === undefined)).toEqual([]);
		expect(Object.keys(OTHER_TIMERS).filter((file) => !timing.includes(file))).toEqual([]);
	});

	/** Waits that end another one, or begin work. None drops an answer that has arrived. */
	const OTHER_WAITS: Readonly<Record<string, string>> = {
		"core/erase-object.ts": "ends an object whose data are deleted",
		"core/flush-schedule.ts": "begins the next flush",
		"core/fair-line.ts": "waits for a place of the process",
		"gateways/client/collector-calls.ts": "ends a slow call of another account",
		"jobs/batches/drain.ts": "looks at the batch again",
		"jobs/batches/line-admissions.ts": "gathers admissions",
		"pools/discovery.ts": "uses the former list, and the read goes on",
		"pools/pool-gate.ts": "waits for a place at a pool",
		"pools/replica-changes.ts": "uses the former changes, and the read goes on",
		"retrieval/vectors/client/query-counts.ts": "begins a report",
		"retrieval/vectors/client/write-mutation.ts": "renews a claim",
	};
	const WAITS = /\bPromise\.race\([^;]*\bwait\(|(?<!\bawait [\w.#]*)\bwait\([^;]*?\)\s*\.(?:then|catch)\(/;

	it("limit it by no wait beside the answer", () => {
		const waiting = matching(WAITS);
		expect(waiting.filter((file) => OTHER_WAITS[file] === undefined)).toEqual([]);
		expect(Object.keys(OTHER_WAITS).filter((file) => !waiting.includes(file))).toEqual([]);
	});

	it.each([
		...["await fetch(url)", "services.fetch(url)", "services.publicFetch(url)", "new WebSocket(url)"],
		...["connect(address, {})", "services.connect(address, {})"],
	])("are searched for %s", (call) => expect(WAYS_OUT.test(call)).toBe(true));
});

describe("the table of the limits of calls", () => {
	const page = readFileSync("docs/security.md", "utf8");
	const cells = (call: string): string[] => {
		const row = page.split("\n").find((line) => line.startsWith(`| ${call} `)) ?? "";
		return row
			.split("|")
			.slice(2, -2)
			.map((cell) => cell.trim());
	};
	const seconds = (milliseconds: number): string => `${milliseconds / 1_000} s`;
	const size = (bytes: number): string =>
		bytes === 0 ? "none" : bytes < 1024 * 1024 ? `${bytes / 1024} KiB` : `${bytes / 1024 / 1024} MiB`;

	it.each([
		["a collector", SHORT_CALLS.collector],
		["a webhook of batches", SHORT_CALLS.webhook],
		["replicas of a pool, load of an engine", SHORT_CALLS.poll],
		["the service that starts replicas", SHORT_CALLS.wake],
	])("is that of the code: %s", (call, { timeoutMs, maxBytes }) => {
		expect(cells(call)).toEqual(["", "", seconds(timeoutMs), size(maxBytes)]);
	});

	it("is that of the code: answers of engines, searches and stores", () => {
		const { headerMs, idleMs, totalMs } = SEARCH_CALL;
		const refusal = `a refusal ${size(REPLY.errorBytes)}`;
		expect(cells("a web search")).toEqual([
			...[headerMs, idleMs, totalMs].map(seconds),
			`${size(REPLY.valueBytes)}, ${refusal}`,
		]);
		expect(cells("a model, also of a guardrail").at(-1)).toBe(
			`a whole answer ${size(REPLY.valueBytes)}, ${refusal}`,
		);
		const database = DATABASE_CALL;
		expect(cells("a PostgreSQL server")).toEqual([
			...[database.silentMs, database.silentMs].map(seconds),
			`${seconds(database.readMs)}, a write ${seconds(database.totalMs)}`,
			size(database.maxBytes),
		]);
		expect(cells("a store of vectors over HTTP")).toEqual([
			...[database.silentMs, database.silentMs, database.totalMs].map(seconds),
			size(database.maxBytes),
		]);
		expect(cells("a page of a website")).toEqual([
			...["", "", seconds(PAGE_CALL.totalMs)],
			`${size(PAGE_CALL.maxBytes)}, a sitemap ${size(2 * PAGE_CALL.maxBytes)}`,
		]);
		const { silentMs, textBytes, refusalBytes } = STORE_CALL;
		expect(cells("an S3-compatible store")).toEqual([
			...[seconds(silentMs), seconds(silentMs), ""],
			`an object as it is read, a text ${size(textBytes)}, a refusal ${size(refusalBytes)}`,
		]);
	});
});

/** How the provider answers a path. */
type Behaviour = "before its header" | "in a stream" | "in a file" | "at once";

/** The content-length of an answer, and the bytes that follow before the connection ends. */
const LIES: Readonly<Record<string, [announced: number, sent: number]>> = {
	"too short": [1_000_000, 100],
	"too long": [10, 1_000_000],
};

describe("a request that is passed to a provider", () => {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-outbound-"));
	/** Calls whose connection is open, and the number of all calls, by path. */
	const open = new Map<string, number>();
	const calls = new Map<string, number>();
	const count = (map: Map<string, number>, path: string, change: number) =>
		map.set(path, (map.get(path) ?? 0) + change);
	const provider = createServer(answerOf);
	let gateway: Script;
	let url = "";
	let base = "";

	function answerOf(incoming: IncomingMessage, answer: ServerResponse): void {
		const path = incoming.url ?? "";
		count(open, path, 1);
		count(calls, path, 1);
		incoming.resume();
		let timer: NodeJS.Timeout | undefined;
		answer.on("close", () => {
			clearInterval(timer);
			count(open, path, -1);
		});
		if (path.includes("header")) return;
		const lie = Object.entries(LIES).find(([name]) => path.includes(name.replace(" ", "-")));
		if (lie) {
			const [announced, sent] = lie[1];
			// Node's server refuses to lie.
			incoming.socket.write(
				`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${announced}\r\n\r\n${" ".repeat(sent)}`,
			);
			return void incoming.socket.end();
		}
		if (path.includes("silent")) {
			answer.writeHead(200, { "content-type": "text/event-stream" });
			answer.write('data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n');
			return;
		}
		const isStream = path.includes("stream");
		answer.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/octet-stream" });
		if (path.includes("once")) return void answer.end("done");
		timer = setInterval(
			() =>
				answer.write(isStream ? 'data: {"choices":[{"delta":{"content":" word"}}]}\n\n' : "x".repeat(4096)),
			10,
		);
	}

	const send = (path: string, method: string, body?: object): Promise<Response> =>
		fetch(`${url}${path}`, {
			method,
			headers: { ...AUTHORIZED, "content-type": "application/json" },
			...(body && { body: JSON.stringify(body) }),
		});
	const manage = (path: string, method: string, body?: object) =>
		send(`/client/v4/accounts/local/ai-gateway/${path}`, method, body);

	beforeAll(async () => {
		provider.listen(0, "127.0.0.1");
		await once(provider, "listening");
		base = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
		const port = await freePort();
		url = `http://127.0.0.1:${port}`;
		// With the connection guard: workerd alone does not notice a caller who leaves before the answer.
		gateway = runScript(CLI, ["serve", "--port", String(port), "--state", join(folder, "state")], {
			env: {
				...{ ADMIN_TOKEN, AI_GATEWAY: JSON.stringify(AI_GATEWAY) },
				BACKENDS: JSON.stringify({
					circle: {
						...{ kind: "openai", url: `${url}/client/v4/accounts/local/ai/v1`, key: "ADMIN_TOKEN" },
					},
					own: {
						kind: "openai",
						pool: { discover: `${url}/v1/models`, wake: { url: `${url}/v1/chat/completions`, wait_ms: 0 } },
					},
					...Object.fromEntries(
						Object.keys(LIES).map((name) => [
							name.replace(" ", "-"),
							{ kind: "openai", url: `${base}/${name.replace(" ", "-")}` },
						]),
					),
				}),
				ROUTES: JSON.stringify({
					...Object.fromEntries(
						["own", "too-short", "too-long"].map((name) => [
							`${name}/gpt-5.6-sol`,
							[{ backend: name, model: "gpt-5.6-sol" }],
						]),
					),
					"circle/gpt-5.6-sol": {
						targets: [{ backend: "circle", model: "circle/gpt-5.6-sol" }],
						retries: { attempts: 3, base_ms: 1 },
					},
				}),
				WEB_SEARCH: JSON.stringify({
					circle: { kind: "searxng", url: `${url}/v1/local/default/custom-self` },
				}),
			},
		});
		expect(await gateway.until(/Open files|error/)).toContain("is ready");
		const headers = { "cf-aig-authorization": `Bearer ${ADMIN_TOKEN}` };
		for (const [slug, base_url] of [
			["acme", base],
			["self", `${url}/v1/local/default/custom-self`],
		])
			expect(
				(await manage("custom-providers", "POST", { name: slug, slug, base_url, headers, enable: true }))
					.status,
			).toBe(200);
	});
	afterAll(async () => {
		gateway.kill("SIGTERM");
		await gateway.exit;
		provider.closeAllConnections();
		provider.close();
		rmSync(folder, { recursive: true, force: true });
	});

	/** Sends a chat, and disconnects when `leaves` resolves. */
	function leave(path: string, leaves: "early" | "amid"): Promise<void> {
		const { promise, resolve } = Promise.withResolvers<void>();
		const chat = request(`${url}/v1/local/default/custom-acme/${path}`, {
			method: "POST",
			headers: { "cf-aig-authorization": `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
		});
		chat.on("error", () => {});
		chat.on("close", resolve);
		chat.end(
			JSON.stringify({ model: "acme-1", stream: true, messages: [{ role: "user", content: "Count." }] }),
		);
		if (leaves === "amid")
			chat.on("response", (answer) => {
				let pieces = 0;
				answer.on("data", () => ++pieces === 3 && chat.destroy());
			});
		else
			void expect
				.poll(() => calls.get(`/${path}`))
				.toBeGreaterThan(0)
				.then(() => chat.destroy());
		return promise;
	}

	interface Log {
		path: string;
		status_code: number;
		tokens_out: number | null;
		usage_estimated: boolean;
	}
	const logsOf = async (path: string): Promise<Log[]> => {
		const response = await manage("gateways/default/logs?per_page=50", "GET");
		const { result } = (await response.json()) as { result: Log[] };
		return result.filter((log) => log.path.includes(path));
	};

	const TRIES = 5;
	it.each<[Behaviour, string, "early" | "amid"]>([
		["before its header", "header", "early"],
		["in a stream", "stream", "amid"],
		["in a file", "file", "amid"],
	])("ends when its caller leaves %s, and has one log", async (_, path, leaves) => {
		for (let index = 0; index < TRIES; index++) await leave(`${path}-${index}`, leaves);
		for (let index = 0; index < TRIES; index++)
			await expect.poll(() => open.get(`/${path}-${index}`)).toBe(0);
		await expect.poll(async () => (await logsOf(path)).length).toBe(TRIES);
		const logs = await logsOf(path);
		// Not the time limit of the header (504).
		if (path === "header")
			expect(new Set(logs.map(({ status_code }) => status_code))).toEqual(new Set([408]));
		// The caller received at least three words.
		if (path === "stream")
			for (const { tokens_out, usage_estimated } of logs)
				expect([(tokens_out ?? 0) >= 3, usage_estimated]).toEqual([true, true]);
	});

	it("is refused with 504 if the provider sends no header", async () => {
		const response = await send("/v1/local/default/custom-acme/header-late", "POST", { model: "acme-1" });
		expect(response.status).toBe(504);
		expect(await response.text()).toContain("did not answer within 4000 ms");
		await expect.poll(() => open.get("/header-late")).toBe(0);
	});

	it("breaks off if the provider is silent amid its answer", async () => {
		const response = await send("/v1/local/default/custom-acme/silent", "POST", {
			model: "acme-1",
			stream: true,
		});
		await expect(response.text()).rejects.toThrow();
		await expect.poll(() => open.get("/silent")).toBe(0);
	});

	it("is not multiplied by a provider that is the gateway itself", async () => {
		const steps = Array.from({ length: 32 }, () => ({
			provider: "custom-self",
			endpoint: "once",
			headers: {},
			query: { model: "acme-1" },
		}));
		const response = await send("/v1/local/default", "POST", steps);
		expect(response.status).toBe(400);
		expect(await response.text()).toContain("AI_GATEWAY.allow_chained_gateways");
		// Each step arrives once, and calls nothing.
		await expect.poll(async () => (await logsOf("once")).length).toBe(1 + 32);
	});

	it("is not multiplied by a collector that is a custom provider of the gateway", async () => {
		const collector = `${url}/v1/local/circle/custom-acme/circle/v1/traces`;
		const otel = [{ url: collector, headers: { "cf-aig-authorization": `Bearer ${ADMIN_TOKEN}` } }];
		expect((await manage("gateways", "POST", { id: "circle", otel })).status).toBe(200);
		const logged = async (): Promise<string[]> => {
			const response = await manage("gateways/circle/logs?per_page=50", "GET");
			const { result } = (await response.json()) as { result: Log[] };
			return result.map(({ path }) => path).sort();
		};
		const own = "circle/once";
		const exports = ["circle/v1/metrics", "circle/v1/traces"];
		for (const rounds of [1, 2]) {
			expect((await send(`/v1/local/circle/custom-acme/${own}`, "POST", { model: "acme-1" })).status).toBe(
				200,
			);
			// The exports of the first round would have exports of their own in the second one.
			const expected = [...exports, own].flatMap((path) => Array<string>(rounds).fill(path)).sort();
			await expect.poll(logged, { timeout: 10_000 }).toEqual(expected);
		}
		expect([calls.get(`/${own}`), calls.get("/circle/v1/traces")]).toEqual([2, undefined]);
	});

	it("ends with its reason if a backend is the gateway itself", async () => {
		const messages = [{ role: "user", content: "Hi" }];
		for (const stream of [false, true]) {
			const chat = { model: "circle/gpt-5.6-sol", messages, stream };
			const response = await send("/client/v4/accounts/local/ai/v1/chat/completions", "POST", chat);
			expect(response.status).toBe(508);
			expect(await response.text()).toContain(
				"The request runs in a circle: the address of the backend 'circle'",
			);
		}
	});

	it("has no credential for a list of replicas and a service that starts them", async () => {
		const chat = { model: "own/gpt-5.6-sol", messages: [{ role: "user", content: "Hi" }] };
		expect((await send("/client/v4/accounts/local/ai/v1/chat/completions", "POST", chat)).status).toBe(429);
		const pool = await (await send("/client/v4/pools/own", "GET")).text();
		expect(pool).toContain('"replicas":[],"list_problem":"expected a list, found no answer of the service"');
	});

	it.each([
		["too short", "TypeError: terminated", "502 was cut off mid-answer"],
		["too long", "10 bytes", "502 answered with something that is not a reply"],
	])("ends if the content-length of an answer is %s", async (name, passed, failure) => {
		const path = name.replace(" ", "-");
		const answer = await send(`/v1/local/default/custom-acme/${path}`, "POST", { model: "acme-1" });
		expect(await answer.text().then(({ length }) => `${length} bytes`, String)).toBe(passed);
		const chat = { model: `${path}/gpt-5.6-sol`, messages: [{ role: "user", content: "Hi" }] };
		const response = await send("/client/v4/accounts/local/ai/v1/chat/completions", "POST", chat);
		const [status = "", message] = failure.split(/ (.*)/);
		expect([response.status, await response.text()]).toEqual([
			Number(status),
			expect.stringContaining(message ?? ""),
		]);
		await expect.poll(() => [...open.values()].filter((count) => count > 0)).toEqual([]);
	});

	it("has no credential for a search provider that is the gateway itself", async () => {
		const body = { query: "Durable Objects", options: { gateway: { id: "default" } } };
		const response = await send("/client/v4/accounts/local/ai/websearch/", "POST", body);
		expect(response.status).toBe(503);
		expect(await response.text()).toContain("The search provider refuses the operator's key");
		expect([...calls.keys()].filter((path) => path.includes("search"))).toEqual([]);
	});

	it.each(["5", "999", "x"])("is refused with 508 if it has passed too many gateways: %s", async (hops) => {
		const response = await fetch(`${url}/v1/local/default/custom-acme/once`, {
			headers: { ...AUTHORIZED, "x-ganglion-hop": hops },
		});
		expect(response.status).toBe(508);
		expect(await response.json()).toMatchObject({ success: false, errors: [{ code: 7000 }] });
	});
});
