/**
 * Callers who leave in every phase, by every way in to a model or a provider, over real sockets: the call of the host ends, and the
 * gateway counts no request any more. A resumable stream goes on.
 *
 * The bindings of the plugin have their own test (`leaving-sockets.test.ts`).
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import {
	type ClientRequest,
	createServer,
	type IncomingMessage,
	request,
	type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { CLI } from "./cli/run.ts";
import { runScript, type Script } from "./script.ts";

const ADMIN_TOKEN = "an-admin-token-of-a-test-with-32-characters";
const GUARD = "@cf/meta/llama-guard-3-8b";
const PIECE_MS = 10;
/** Longer than the test. */
const NEVER_MS = 600_000;

const sse = (...events: object[]): string =>
	events
		.map((event) => `${"type" in event ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`)
		.join("");

/** The beginning and a further part of a stream, in the format of each API. */
const STREAMS: Readonly<Record<string, readonly [begin: string, word: string]>> = {
	chat: [
		"",
		sse({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: "word " } }] }),
	],
	responses: [
		sse(
			{
				type: "response.created",
				response: { id: "r", object: "response", status: "in_progress", output: [] },
			},
			{
				...{ type: "response.output_item.added", output_index: 0 },
				item: { id: "m", type: "message", role: "assistant", status: "in_progress", content: [] },
			},
			{
				...{ type: "response.content_part.added", item_id: "m", output_index: 0, content_index: 0 },
				part: { type: "output_text", text: "", annotations: [] },
			},
		),
		sse({
			...{ type: "response.output_text.delta", item_id: "m", output_index: 0, content_index: 0 },
			delta: "word ",
		}),
	],
	messages: [
		sse(
			{
				type: "message_start",
				message: {
					...{ id: "m", type: "message", role: "assistant", model: "claude-opus-5-5", content: [] },
					...{ stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } },
				},
			},
			{ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
		),
		sse({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "word " } }),
	],
	gemini: ["", sse({ candidates: [{ index: 0, content: { role: "model", parts: [{ text: "word " }] } }] })],
};

const formatOf = (path: string): string => {
	if (path.includes("/responses")) return "responses";
	if (path.includes("/messages")) return "messages";
	return path.includes("enerateContent") ? "gemini" : "chat";
};

interface HostCall {
	path: string;
	pieces: number;
	/** `performance.now()` of the end of its connection. */
	closedAt?: number;
}

/** What the host does is in the prompt: `header`, `whole`, `stream`, `busy`, `missing` or `search`, and an id of the case. */
class Host {
	readonly calls = new Map<string, HostCall[]>();
	readonly #server = createServer((incoming, answer) => void this.#answer(incoming, answer));

	async listen(): Promise<string> {
		this.#server.listen(0, "127.0.0.1");
		await once(this.#server, "listening");
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	close(): void {
		this.#server.closeAllConnections();
		this.#server.close();
	}

	of(id: string): HostCall[] {
		return this.calls.get(id) ?? [];
	}

	async #answer(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
		const path = incoming.url ?? "";
		const sent = await text(incoming).catch(() => "");
		const [, id = "", does = ""] = /case-(\w+)-(\w+)/.exec(decodeURIComponent(path) + sent) ?? [];
		const call: HostCall = { path, pieces: 0 };
		this.calls.set(id, [...this.of(id), call]);
		let timer: NodeJS.Timeout | undefined;
		answer.on("close", () => {
			clearInterval(timer);
			call.closedAt = performance.now();
		});
		// The guard and the search answer nothing, the second backend neither.
		if (does === "header" || path.includes("second") || path.includes("search") || path.includes("guard"))
			return;
		if (does === "busy" || does === "missing") {
			answer.writeHead(does === "busy" ? 503 : 404, { "content-type": "application/json" });
			answer.end(JSON.stringify({ error: { message: "Not now", type: "server_error" } }));
			return;
		}
		if (does === "search") {
			const call = { name: "web_search", arguments: JSON.stringify({ query: `case-${id}-header` }) };
			const message = {
				...{ role: "assistant", content: null },
				tool_calls: [{ id: "call_1", type: "function", function: call }],
			};
			const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
			answer.writeHead(200, { "content-type": "application/json" });
			answer.end(JSON.stringify({ id: "c", object: "chat.completion", choices }));
			return;
		}
		const [begin, word] = STREAMS[formatOf(path)] ?? ["", ""];
		const isStream = does === "stream";
		answer.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
		answer.write(isStream ? begin : '{"choices":[');
		timer = setInterval(() => {
			call.pieces++;
			answer.write(isStream ? word : " ".repeat(64));
		}, PIECE_MS);
	}
}

/** The ways out, by the way in. */
const MODELS = {
	"chat backend": "chat-host/gpt-5.6-sol",
	"Responses upstream": "responses-host/gpt-6-astra",
	Anthropic: "anthropic-host/claude-opus-5-5",
	Gemini: "gemini-host/gemini-3.8-flash",
} as const;
const PROVIDERS = ["provider", "universal", "compat", "websocket"] as const;
type Way = keyof typeof MODELS | (typeof PROVIDERS)[number];
const WAYS: readonly Way[] = [...(Object.keys(MODELS) as (keyof typeof MODELS)[]), ...PROVIDERS];

interface Sent {
	id: string;
	does: string;
	stream: boolean;
	gateway?: string;
	headers?: Record<string, string>;
	model?: string;
	fields?: object;
}

describe("a caller who leaves", () => {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-leave-"));
	const host = new Host();
	const times: number[] = [];
	let gateway: Script;
	let port = 0;

	const manage = async (path: string, body: object): Promise<void> => {
		const response = await fetch(`http://127.0.0.1:${port}/client/v4/accounts/local/ai-gateway/${path}`, {
			method: "POST",
			headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
			body: JSON.stringify(body),
		});
		expect([path, response.status, await response.text()]).toEqual([path, 200, expect.any(String)]);
	};

	beforeAll(async () => {
		const url = await host.listen();
		port = await freePort();
		const retries = { attempts: 3, base_ms: NEVER_MS, max_ms: NEVER_MS };
		// The route itself would call again after a pause that can be 0.
		const once = (target: object) => ({ targets: [target], retries: { attempts: 1 } });
		const settings = {
			BACKENDS: {
				chat: { kind: "openai", url: `${url}/v1` },
				second: { kind: "openai", url: `${url}/second/v1` },
				responses: { kind: "openai", api: "responses", url: `${url}/v1` },
				anthropic: { kind: "anthropic", url, key: "KEY" },
				gemini: { kind: "gemini", url, key: "KEY" },
				guard: { kind: "openai", url: `${url}/guard/v1` },
				one: {
					kind: "openai",
					pool: { replicas: [`${url}/one/v1`], max_requests: 1, queue: { max: 10, wait_ms: NEVER_MS } },
				},
			},
			ROUTES: {
				"chat-host/gpt-5.6-sol": once({ backend: "chat", model: "gpt-5.6-sol" }),
				"responses-host/gpt-6-astra": once({ backend: "responses", model: "gpt-6-astra" }),
				"anthropic-host/claude-opus-5-5": once({ backend: "anthropic", model: "claude-opus-5-5" }),
				"gemini-host/gemini-3.8-flash": once({ backend: "gemini", model: "gemini-3.8-flash" }),
				"two-hosts/gpt-5.6-sol": [
					{ backend: "chat", model: "gpt-5.6-sol" },
					{ backend: "second", model: "gpt-5.6-sol" },
				],
				"retried/gpt-5.6-sol": { targets: [{ backend: "chat", model: "gpt-5.6-sol" }], retries },
				"one-place/gpt-5.6-sol": [{ backend: "one", model: "gpt-5.6-sol" }],
				[GUARD]: [{ backend: "guard", model: "llama-guard-3-8b" }],
			},
			WEB_SEARCH: { lan: { kind: "searxng", url: `${url}/search` } },
			AI_GATEWAY: { allow_private_addresses: true },
			LIMITS: { requests_per_minute: "none" },
		};
		gateway = runScript(CLI, ["serve", "--port", String(port), "--state", join(folder, "state")], {
			env: {
				...{ ADMIN_TOKEN, KEY: "sk-key" },
				...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, JSON.stringify(value)])),
			},
		});
		expect(await gateway.until(/Open files|error|expected/)).toContain("is ready");
		await manage("custom-providers", { name: "host", slug: "host", base_url: url, enable: true });
		const dlp = {
			enabled: true,
			policies: [{ id: "p", enabled: true, action: "BLOCK", check: ["RESPONSE"], profiles: ["credit_card"] }],
		};
		await manage("gateways", { id: "dlp", dlp });
		await manage("gateways", { id: "guarded", guardrails: { prompt: { S1: "BLOCK" } } });
		await manage("gateways", { id: "cached", cache_ttl: 600 });
		await manage("gateways", {
			...{ id: "retrying", retry_max_attempts: 5, retry_delay: 60_000, retry_backoff: "constant" },
		});
	});
	afterAll(async () => {
		// The resumable streams end.
		host.close();
		gateway?.kill("SIGTERM");
		await gateway?.exit;
		rmSync(folder, { recursive: true, force: true });
		const sorted = times.sort((a, b) => a - b);
		const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)]?.toFixed(0);
		console.log(`${sorted.length} calls of hosts ended: median ${at(0.5)} ms, worst ${at(1)} ms`);
	});

	const promptOf = ({ id, does }: Sent): string => `case-${id}-${does}`;
	const bodyOf = (sent: Sent, model: string): object => ({
		...{ model, stream: sent.stream, messages: [{ role: "user", content: promptOf(sent) }] },
		...sent.fields,
	});
	const post = (path: string, headers: Record<string, string>): ClientRequest => {
		const sent = request({
			...{ port, path, method: "POST", agent: false },
			headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json", ...headers },
		});
		sent.on("error", () => {});
		return sent;
	};

	/** Sends a request. `read`: the part of the answer that has arrived. */
	function open(way: Way, sent: Sent): { leave(): void; read(): string } {
		const { gateway: name = "default", headers = {} } = sent;
		let received = "";
		const reading = (message: IncomingMessage) => {
			message.on("data", (piece: Buffer) => (received += piece));
			message.on("error", () => {});
		};
		const provider = { "cf-aig-authorization": `Bearer ${ADMIN_TOKEN}`, ...headers };
		const step = {
			...{ provider: "custom-host", endpoint: "v1/chat/completions" },
			...{ headers: { "content-type": "application/json", ...headers }, query: bodyOf(sent, "gpt-5.6-sol") },
		};
		if (way === "websocket") {
			let socket: Socket | undefined;
			const upgrade = request({
				...{ port, path: `/v1/local/${name}`, agent: false },
				headers: {
					...provider,
					...{ connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" },
					"sec-websocket-key": Buffer.from("0123456789abcdef").toString("base64"),
				},
			});
			upgrade.on("error", () => {});
			upgrade.on("upgrade", (_, opened) => {
				socket = opened;
				opened.on("data", (piece: Buffer) => (received += piece));
				opened.on("error", () => {});
				opened.write(
					textFrame(JSON.stringify({ type: "universal.create", request: { eventId: "e", ...step } })),
				);
			});
			upgrade.end();
			return { leave: () => (socket ?? upgrade).destroy(), read: () => received };
		}
		const [path, body, own] =
			way === "provider"
				? [`/v1/local/${name}/custom-host/v1/chat/completions`, step.query, provider]
				: way === "universal"
					? [`/v1/local/${name}`, [step], provider]
					: way === "compat"
						? [
								`/v1/local/${name}/compat/v1/chat/completions`,
								bodyOf(sent, "custom-host/gpt-5.6-sol"),
								provider,
							]
						: [
								"/client/v4/accounts/local/ai/v1/chat/completions",
								bodyOf(sent, sent.model ?? MODELS[way as keyof typeof MODELS]),
								{ ...headers, ...(sent.gateway && { "cf-aig-gateway-id": sent.gateway }) },
							];
		const chat = post(path as string, own as Record<string, string>);
		chat.on("response", reading);
		chat.end(JSON.stringify(body));
		return { leave: () => void chat.destroy(), read: () => received };
	}

	const running = async (): Promise<number> => {
		const metrics = await fetch(`http://127.0.0.1:${port}/metrics`, {
			headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
		});
		return Number(/^ganglion_held\{class="requests"\} (\d+)/m.exec(await metrics.text())?.[1]);
	};
	const allEnded = (): Promise<void> => expect.poll(running, { timeout: 10_000 }).toBe(0);

	/** The host's calls of the case end. */
	async function ends(id: string, leftAt: number): Promise<void> {
		await expect
			.poll(() => host.of(id).every(({ closedAt }) => closedAt !== undefined), {
				timeout: 10_000,
				interval: 5,
			})
			.toBe(true);
		times.push(Math.max(0, ...host.of(id).map(({ closedAt = 0 }) => closedAt - leftAt)));
		await allEnded();
	}

	let cases = 0;
	const newId = (): string => `n${++cases}`;
	const isCalled =
		(id: string, pieces = 0) =>
		(): boolean =>
			host.of(id).some((call) => call.pieces >= pieces);
	const until = (isDone: () => boolean): Promise<void> =>
		expect.poll(isDone, { timeout: 20_000, interval: 5 }).toBe(true);

	/** A gateway whose spend limit any token exceeds, and the caller's price of a token. */
	async function spendingGateway(id: string): Promise<Pick<Sent, "gateway" | "headers">> {
		const rules = [{ limitType: "cost", limit: 0.5, window: 3_600 }];
		await manage("gateways", { id: `spending-${id}`, spend_limits: { enabled: true, rules } });
		return {
			gateway: `spending-${id}`,
			headers: { "cf-aig-custom-cost": '{"per_token_in":1,"per_token_out":1}' },
		};
	}

	/** The gateway refuses the next request before it calls the host. */
	async function isSpent(way: Way, spending: Pick<Sent, "gateway" | "headers" | "stream">): Promise<void> {
		const next = newId();
		const later = open(way, { id: next, does: "header", ...spending });
		await until(() => later.read().includes("Spend limit exceeded") || isCalled(next)());
		later.leave();
		expect(host.of(next)).toEqual([]);
		await allEnded();
	}

	describe.each(WAYS)("by %s", (way) => {
		it.each([true, false])("before the host's header (stream: %s)", async (stream) => {
			const id = newId();
			const caller = open(way, { id, does: "header", stream });
			await until(isCalled(id));
			const leftAt = performance.now();
			caller.leave();
			await ends(id, leftAt);
			expect(host.of(id)).toHaveLength(1);
		});

		it("amid a whole answer", async () => {
			const id = newId();
			const caller = open(way, { id, does: "whole", stream: false });
			await until(isCalled(id, 3));
			const leftAt = performance.now();
			caller.leave();
			await ends(id, leftAt);
		});

		it.each([
			["amid a stream", undefined],
			["while a cache entry is recorded", "cached"],
		])("%s", async (_, name) => {
			const id = newId();
			const caller = open(way, { id, does: "stream", stream: true, ...(name && { gateway: name }) });
			// The websocket has each event as a frame.
			await until(() => caller.read() !== "" && isCalled(id, 3)());
			const leftAt = performance.now();
			caller.leave();
			await ends(id, leftAt);
		});

		it.each([
			["before the header of a whole answer", "header", false],
			["before the header of a stream", "header", true],
			["amid a whole answer", "whole", false],
			["amid a stream", "stream", true],
		])("%s, which counts in the gateway's spend limit", async (_, does, stream) => {
			const id = newId();
			const spending = { stream, ...(await spendingGateway(id)) };
			const caller = open(way, { id, does, ...spending });
			const begun = does === "stream" ? () => caller.read() !== "" : () => true;
			await until(() => isCalled(id, does === "header" ? 0 : 3)() && begun());
			caller.leave();
			await allEnded();
			await isSpent(way, spending);
		});

		it("while data-loss prevention buffers the answer", async () => {
			const id = newId();
			const caller = open(way, { id, does: "stream", stream: true, gateway: "dlp" });
			await until(isCalled(id, 5));
			// The websocket has the answer of its upgrade, and no frame.
			expect(caller.read()).toBe("");
			const leftAt = performance.now();
			caller.leave();
			await ends(id, leftAt);
		});

		it("while a guard judges the prompt", async () => {
			const id = newId();
			const caller = open(way, { id, does: "stream", stream: true, gateway: "guarded" });
			await until(isCalled(id));
			const leftAt = performance.now();
			caller.leave();
			await ends(id, leftAt);
			expect(host.of(id).map(({ path }) => path)).toEqual(["/guard/v1/chat/completions"]);
		});

		it("during the pause before a gateway's retry", async () => {
			const id = newId();
			const caller = open(way, { id, does: "busy", stream: true, gateway: "retrying" });
			await until(isCalled(id));
			caller.leave();
			await allEnded();
			expect(host.of(id)).toHaveLength(1);
		});
	});

	it("during the pause before a route's retry", async () => {
		const id = newId();
		const caller = open("chat backend", { id, does: "busy", stream: true, model: "retried/gpt-5.6-sol" });
		await until(isCalled(id));
		caller.leave();
		await allEnded();
		expect(host.of(id)).toHaveLength(1);
	});

	it("during the call of a fallback", async () => {
		const id = newId();
		const caller = open("chat backend", {
			id,
			does: "missing",
			stream: true,
			model: "two-hosts/gpt-5.6-sol",
		});
		await until(() => host.of(id).length === 2);
		const leftAt = performance.now();
		caller.leave();
		await ends(id, leftAt);
		expect(host.of(id)[1]?.path).toContain("/second/");
	});

	it("during the search of a hosted tool", async () => {
		const id = newId();
		const fields = { web_search_options: {} };
		const caller = open("chat backend", { id, does: "search", stream: false, fields });
		await until(() => host.of(id).length === 2);
		const leftAt = performance.now();
		caller.leave();
		await ends(id, leftAt);
		expect(host.of(id)[1]?.path).toMatch(/^\/search/);
	});

	it("before its body is complete: no host is called", async () => {
		const id = newId();
		const body = JSON.stringify(bodyOf({ id, does: "header", stream: true }, "chat-host/gpt-5.6-sol"));
		const chat = post("/client/v4/accounts/local/ai/v1/chat/completions", {
			"content-length": String(body.length + 100_000),
		});
		chat.write(body);
		await once(chat, "socket");
		await running();
		chat.destroy();
		await allEnded();
		expect(host.of(id)).toEqual([]);
	});

	it("while it waits for a place: the host gets only the request that has one", async () => {
		const [first, second] = [newId(), newId()];
		const model = "one-place/gpt-5.6-sol";
		const holder = open("chat backend", { id: first, does: "header", stream: true, model });
		await until(isCalled(first));
		const waiting = open("chat backend", { id: second, does: "header", stream: true, model });
		await expect.poll(running, { timeout: 10_000 }).toBe(2);
		waiting.leave();
		await expect.poll(running, { timeout: 10_000 }).toBe(1);
		const leftAt = performance.now();
		holder.leave();
		await ends(first, leftAt);
		expect(host.of(second)).toEqual([]);
	});

	it.each(["chat backend", "universal", "provider"] as const)(
		"a resumable stream by %s: the call goes on",
		async (way) => {
			const id = newId();
			const headers = { "cf-aig-resumable": "true" };
			const caller = open(way, { id, does: "stream", stream: true, gateway: "default", headers });
			await until(() => caller.read() !== "" && isCalled(id, 3)());
			caller.leave();
			const pieces = host.of(id)[0]?.pieces ?? 0;
			await until(isCalled(id, pieces + 20));
			expect(host.of(id)[0]?.closedAt).toBeUndefined();
		},
	);
});

/** A frame of a client, with a mask of zeros. */
function textFrame(message: string): Buffer {
	const payload = Buffer.from(message);
	const head = Buffer.from([0x81, 0x80 | 126, 0, 0, 0, 0, 0, 0]);
	head.writeUInt16BE(payload.length, 2);
	return Buffer.concat([head, payload]);
}
