/** Several engines behind one pool, through the whole Worker over HTTP under plain workerd. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Gateway } from "../../tools/soak/gateway.ts";

const MODEL = "pool/chat";
const ENGINES = 4;

interface ChatBody {
	messages: { role: string; content: string }[];
	stream?: boolean;
	/** SGLang: where a prefill and a decode engine meet. */
	bootstrap_room?: number;
}

/** Calls that wait for the other engine of their pair. */
const rooms = new Map<number, PromiseWithResolvers<void>>();

/** Resolves when both engines have come. */
function meet(room: number): Promise<void> {
	const waiting = rooms.get(room);
	const joined = waiting ?? Promise.withResolvers<void>();
	if (waiting) joined.resolve();
	else rooms.set(room, joined);
	return joined.promise;
}

/** An engine of OpenAI's API. `hold`: its answers wait until `release`. */
class Engine {
	readonly bodies: ChatBody[] = [];
	readonly #server: Server;
	readonly #waiting: (() => void)[] = [];
	hold = false;
	/** Its metrics for Prometheus. */
	metrics = "vllm:num_requests_running 0\nvllm:num_requests_waiting 0\n";

	constructor() {
		this.#server = createServer((request, response) => void this.#answer(request, response));
	}

	get url(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
	}

	listen(): Promise<void> {
		return new Promise((done) => this.#server.listen(0, "127.0.0.1", 1024, done));
	}

	/** Closes its connections, also of requests in progress. */
	kill(): void {
		this.#server.close();
		this.#server.closeAllConnections();
	}

	release(): void {
		this.hold = false;
		for (const answer of this.#waiting.splice(0)) answer();
	}

	async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		if (request.method === "GET") {
			const listed = JSON.stringify(engines.slice(1).map(({ url }) => ({ url })));
			const texts: Record<string, string> = { "/v1/replicas": listed, "/metrics": this.metrics };
			const text = texts[request.url ?? ""];
			response.writeHead(text === undefined ? 404 : 200).end(text);
			return;
		}
		let text = "";
		for await (const piece of request) text += piece;
		const body: ChatBody = JSON.parse(text);
		this.bodies.push(body);
		if (body.bootstrap_room !== undefined) await meet(body.bootstrap_room);
		if (this.hold) await new Promise<void>((done) => this.#waiting.push(done));
		const usage = {
			prompt_tokens: 100,
			completion_tokens: 7,
			total_tokens: 107,
			prompt_tokens_details: { cached_tokens: 64 },
		};
		const choice = { index: 0, finish_reason: "stop" };
		if (!body.stream) {
			const message = { role: "assistant", content: "Hello." };
			response.setHeader("content-type", "application/json");
			response.end(JSON.stringify({ choices: [{ ...choice, message }], usage }));
			return;
		}
		const frame = (value: object) =>
			`data: ${JSON.stringify({ object: "chat.completion.chunk", ...value })}\n\n`;
		response.setHeader("content-type", "text/event-stream");
		response.write(frame({ choices: [{ ...choice, delta: { content: "Hello." } }] }));
		response.end(`${frame({ choices: [], usage })}data: [DONE]\n\n`);
	}
}

let engines: Engine[];
let gateway: Gateway;
let folder: string;

beforeAll(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-pools-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

beforeEach(async ({ task }) => {
	engines = Array.from({ length: ENGINES }, () => new Engine());
	for (const engine of engines) await engine.listen();
	gateway = await Gateway.start(join(folder, task.id), {
		BACKENDS: {
			vllm: {
				kind: "openai",
				pool: {
					...(task.name.includes("discovers")
						? { discover: `${engines[0]?.url}/replicas`, poll_ms: 500 }
						: { replicas: engines.map(({ url }) => url) }),
					...(task.name.includes("pairs") && {
						replicas: engines.map(({ url }, i) => ({ url, role: i < 2 ? "prefill" : "decode" })),
						disaggregation: "sglang",
					}),
					...(task.name.includes("above its limit") && { max_requests: 1 }),
				},
			},
		},
		ROUTES: { [MODEL]: [{ backend: "vllm" }] },
		MODELS: {
			[MODEL]: {
				task: "Text Generation",
				prices: [
					{ unit: "per M input tokens", neurons: 1_000_000 },
					{ unit: "per M output tokens", neurons: 1_000_000 },
				],
			},
		},
		LIMITS: { requests_per_minute: "none" },
	});
});
afterEach(async () => {
	for (const engine of engines) engine.kill();
	await gateway.stop();
});

const post = (account: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
	fetch(`${gateway.url}/client/v4/accounts/${account}/ai/v1/chat/completions`, {
		method: "POST",
		headers: { "content-type": "application/json", authorization: Gateway.operator, ...headers },
		body: JSON.stringify({ model: MODEL, ...body }),
	});
const chat = async (
	account: string,
	body: ChatBody,
	headers: Record<string, string> = {},
): Promise<string> => {
	const response = await post(account, body, headers);
	const text = await response.text();
	if (!response.ok) throw new Error(`HTTP ${response.status}: ${text}`);
	return text;
};

const user = (content: string) => ({ role: "user", content });
const numbers = (length: number) => Array.from({ length }, (_, i) => i);
const countsOf = () => engines.map(({ bodies }) => bodies.length);

/** Requests are settled shortly after their answers. */
const expectBilled = (account: string, requests: number) =>
	expect
		.poll(() => gateway.totals(account))
		.toMatchObject({ requests, failed: 0, input_tokens: 100 * requests, output_tokens: 7 * requests });

describe("a pool", () => {
	it.each([
		["by the beginning of the prompt", {}],
		["by a session header", { session: true }],
	])(
		"keeps conversations at their replicas, %s, and bills each request once",
		async (_, {
			session,
		}: {
			session?: boolean;
		}) => {
			const system = { role: "system", content: "You are helpful. ".repeat(300) };
			// A long beginning: what the cache saves is more than the queue of a few other conversations.
			const conversations = numbers(12).map((i) => [system, user(`#${i}# ${`hello ${i} `.repeat(2_000)}`)]);
			for (let turn = 0; turn < 4; turn++)
				await Promise.all(
					conversations.map(async (messages, i) => {
						// With a header, also a request with another text belongs to the conversation.
						const sent = session ? [user(`#${i}# text ${turn}`)] : messages;
						const stream = i % 2 === 0;
						await chat(
							"talks",
							{ messages: sent, stream },
							session ? { "x-session-affinity": `s-${i}` } : {},
						);
						messages.push({ role: "assistant", content: "Hello." }, user(`Turn ${turn}`));
					}),
				);
			for (const i of numbers(12)) {
				const requests = engines.map(
					({ bodies }) =>
						bodies.filter(({ messages }) => messages.some(({ content }) => content.startsWith(`#${i}#`)))
							.length,
				);
				expect(requests.toSorted()).toEqual([0, 0, 0, 4]);
			}
			expect(countsOf().filter((count) => count > 0).length).toBeGreaterThanOrEqual(3);
			await expectBilled("talks", 48);
		},
	);

	it("spreads load over all replicas", async () => {
		for (const engine of engines) engine.hold = true;
		const sent = numbers(40).map((i) =>
			chat("load", { messages: [user(`${i} ${"word ".repeat(2_000)}`)], stream: true }),
		);
		await expect.poll(() => countsOf().reduce((sum, count) => sum + count, 0)).toBe(40);
		for (const count of countsOf()) {
			expect(count).toBeGreaterThanOrEqual(8);
			expect(count).toBeLessThanOrEqual(12);
		}
		for (const engine of engines) engine.release();
		await Promise.all(sent);
		await expectBilled("load", 40);
	});

	it("sends the requests of a replica that is killed to the others", async () => {
		for (const engine of engines) engine.hold = true;
		const sent = numbers(20).map((i) => chat("kill", { messages: [user(`${i} ${"word ".repeat(500)}`)] }));
		await expect.poll(() => countsOf().reduce((sum, count) => sum + count, 0)).toBe(20);
		const [victim, ...others] = engines;
		if (!victim) throw new Error("no engine");
		const lost = victim.bodies.map(({ messages }) => messages[0]?.content);
		expect(lost.length).toBeGreaterThan(0);
		victim.kill();
		for (const engine of others) engine.release();
		const answers = await Promise.all(sent);
		for (const answer of answers) expect(answer).toContain("Hello.");
		const answered = others.flatMap(({ bodies }) => bodies.map(({ messages }) => messages[0]?.content));
		expect(answered).toEqual(expect.arrayContaining(lost));
		// Later requests are answered, too.
		await Promise.all(numbers(12).map((i) => chat("kill", { messages: [user(`later ${i}`)] })));
		await expectBilled("kill", 32);
	});

	it("keeps requests above its limit in a queue, which all accounts share, and refuses those that do not wait", async () => {
		for (const engine of engines) engine.hold = true;
		const send = (account: string) => chat(account, { messages: [user(`${account} waits`)] });
		const greedy = numbers(12).map(() => send("greedy"));
		await expect.poll(() => countsOf().reduce((sum, count) => sum + count, 0)).toBe(4);
		const quiet = send("quiet");
		const impatient = { messages: [user("now")], options: { rejectIfBusy: true } };
		const refused = await post("impatient", impatient);
		expect(refused.status).toBe(429);
		expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
		expect(await refused.text()).toContain("3040");
		// One replica is free. The quiet account is next, although eight requests came before it.
		const [first] = engines;
		if (!first) throw new Error("no engine");
		first.release();
		await quiet;
		for (const engine of engines) engine.release();
		await Promise.all(greedy);
		await expectBilled("greedy", 12);
		await expectBilled("quiet", 1);
	});

	it("drains a replica: it completes its requests, and gets no others, also after a restart of the gateway", async () => {
		const operator = { authorization: Gateway.operator, "content-type": "application/json" };
		const pool = `${gateway.url}/client/v4/pools/vllm`;
		interface Listed {
			id: string;
			url: string;
			state: string;
			requests: number;
		}
		const replicas = async () => {
			const shown = await fetch(pool, { headers: operator });
			return ((await shown.json()) as { result: { replicas: Listed[] } }).result.replicas;
		};
		for (const engine of engines) engine.hold = true;
		const sent = numbers(4).map((i) => chat("drain", { messages: [user(`${i} ${"word ".repeat(2_000)}`)] }));
		await expect.poll(countsOf).toEqual([1, 1, 1, 1]);
		const [first] = engines;
		const { id } = (await replicas()).find(({ url }) => url === first?.url) ?? {};
		const drained = await fetch(`${pool}/replicas/${id}`, {
			method: "PATCH",
			headers: operator,
			body: JSON.stringify({ state: "draining" }),
		});
		expect(drained.status).toBe(200);
		for (const engine of engines.slice(1)) engine.release();
		await Promise.all(numbers(9).map((i) => chat("drain", { messages: [user(`${i} second`)] })));
		expect(countsOf()[0]).toBe(1);
		expect(await replicas()).toContainEqual(expect.objectContaining({ id, state: "draining", requests: 1 }));
		first?.release();
		await Promise.all(sent);
		await expectBilled("drain", 13);
		await gateway.kill();
		await Promise.all(numbers(9).map((i) => chat("drain", { messages: [user(`${i} third`)] })));
		expect(countsOf()[0]).toBe(1);
		expect(await replicas()).toContainEqual(expect.objectContaining({ id, state: "draining" }));
	});

	it("discovers its replicas, and avoids one that is busy with the requests of others", async () => {
		const [, busy] = engines;
		if (!busy) throw new Error("no engine");
		busy.metrics = "vllm:num_requests_running 8\nvllm:num_requests_waiting 40\n";
		const send = (i: number) => chat("found", { messages: [user(`${i} found`)] });
		// The first request starts the polls.
		await send(0);
		const shown = async (): Promise<string> =>
			(
				await fetch(`${gateway.url}/client/v4/pools/vllm`, { headers: { authorization: Gateway.operator } })
			).text();
		await expect.poll(shown).toContain('"engine":{"running":8,"waiting":40,"cache_usage":null}');
		expect(await shown()).toContain('"source":"discovery"');
		const before = busy.bodies.length;
		await Promise.all(numbers(8).map((i) => send(i + 1)));
		expect(busy.bodies.length).toBe(before);
		expect(countsOf()[0]).toBe(0);
	});

	it("ignores headers of a caller that name a replica", async () => {
		const [first] = engines;
		const headers = {
			"x-prefiller-host-port": first?.url ?? "",
			"x-gateway-destination-endpoint": "127.0.0.1:1",
			"x-smg-target-worker": "http://127.0.0.1:1",
		};
		expect(await chat("steer", { messages: [user("Hi")] }, headers)).toContain("Hello.");
		expect(countsOf().reduce((sum, count) => sum + count, 0)).toBe(1);
	});

	it("answers with pairs of a prefill and a decode engine, also when one of them is killed", async () => {
		const [prefill, , decode] = engines;
		if (!prefill || !decode) throw new Error("no engine");
		const send = (i: number) => chat("pairs", { messages: [user(`#${i}`)], stream: i % 2 === 0 });
		const sent = numbers(40).map(send);
		await expect.poll(() => prefill.bodies.length).toBeGreaterThan(5);
		prefill.kill();
		await Promise.all(sent);
		decode.kill();
		for (const answer of await Promise.all(numbers(40).map(send))) expect(answer).toContain("Hello.");
		await expectBilled("pairs", 80);
	});
});
