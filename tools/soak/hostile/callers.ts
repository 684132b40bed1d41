/**
 * The normal callers beside the attack, their engine with its own record, and the probe of `/health`. Further callers send the same requests to
 * the floor, a bare Worker: their delays show what the machine alone costs.
 */
import { Agent, createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { quantile } from "../../bench/statistics.ts";

export const CALLERS = 50;
const FLOOR_CALLERS = 10;
/** Between two requests of a caller, at most. */
const PAUSE_MS = 800;
const PATIENCE_MS = 30_000;
/** Between two looks at how late the loop of this process is. */
const LOOP_MS = 10;
const PROBE_EVERY_MS = 500;
const PROBE_PATIENCE_MS = 5_000;
export const NORMAL_MODEL = "normal/chat";
const TOKENS = 3;

/** Answers chats with three tokens, and counts its complete answers. */
export class NormalEngine {
	complete = 0;
	readonly #server: Server;

	constructor() {
		this.#server = createServer(async (received, response) => {
			let text = "";
			for await (const piece of received) text += piece;
			const usage = { prompt_tokens: 2, completion_tokens: TOKENS, total_tokens: 2 + TOKENS };
			const head = { id: "normal", created: 1, model: "normal" };
			response.on("error", () => {});
			response.on("finish", () => this.complete++);
			if (!JSON.parse(text).stream) {
				const message = { role: "assistant", content: "one two three" };
				const choices = [{ index: 0, message, finish_reason: "stop" }];
				response.writeHead(200, { "content-type": "application/json" });
				response.end(JSON.stringify({ ...head, object: "chat.completion", choices, usage }));
				return;
			}
			const event = (delta: object, finish_reason: string | null, more = {}): string =>
				`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
			response.writeHead(200, { "content-type": "text/event-stream" });
			for (const content of ["one ", "two ", "three"]) response.write(event({ content }, null));
			response.end(`${event({}, "stop", { usage })}data: [DONE]\n\n`);
		});
	}

	async listen(): Promise<string> {
		await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", 1_024, resolve));
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}
}

export interface CallerResults {
	answered: number;
	/** Reasons of the others, with their number. */
	failed: Record<string, number>;
	p50: number;
	p99: number;
	floorP99: number;
	/** How late the event loop of the callers' process is: their clock. Milliseconds. */
	loopP99: number;
	probes: number;
	failedProbes: number;
	slowestProbeMs: number;
}

/** Addresses. */
export interface NormalTarget {
	url: string;
	floor: string;
	token: string;
}

/** Callers and probes, until the signal. */
export async function callNormally(
	{ url, floor, token }: NormalTarget,
	signal: AbortSignal,
): Promise<CallerResults> {
	const kept = new Agent({ keepAlive: true });
	const times: number[] = [];
	const failed: Record<string, number> = {};
	const caller = async (index: number): Promise<void> => {
		for (let number = 0; !signal.aborted; number++) {
			await pause(PAUSE_MS * Math.random(), signal);
			if (signal.aborted) return;
			const startedAt = performance.now();
			// Half of the callers keep their connections, as SDKs do.
			const result = await send({
				url: `${url}/v1/chat/completions`,
				localAddress: `127.0.2.${index + 1}`,
				agent: index % 2 ? kept : undefined,
				token,
				body: {
					model: NORMAL_MODEL,
					messages: [{ role: "user", content: "Hi" }],
					stream: number % 2 === 0,
				},
				patienceMs: PATIENCE_MS,
			});
			if (result === "200") times.push(performance.now() - startedAt);
			else failed[result] = (failed[result] ?? 0) + 1;
		}
	};
	const floorTimes: number[] = [];
	const floorCaller = async (index: number): Promise<void> => {
		for (let number = index; !signal.aborted; number++) {
			await pause(PAUSE_MS * Math.random(), signal);
			if (signal.aborted) return;
			const startedAt = performance.now();
			const body = { messages: [{ role: "user", content: "Hi" }], stream: number % 2 === 0 };
			const agent = index % 2 ? kept : undefined;
			const result = await send({
				url: `${floor}/v1/chat/completions`,
				agent,
				body,
				patienceMs: PATIENCE_MS,
			});
			if (result === "200") floorTimes.push(performance.now() - startedAt);
		}
	};
	const loopTimes: number[] = [];
	let lookedAt = performance.now();
	const look = setInterval(() => {
		const now = performance.now();
		loopTimes.push(Math.max(0, now - lookedAt - LOOP_MS));
		lookedAt = now;
	}, LOOP_MS);
	const probes: { ms: number; ok: boolean }[] = [];
	const probe = async (): Promise<void> => {
		while (!signal.aborted) {
			const startedAt = performance.now();
			const result = await send({ url: `${url}/health`, patienceMs: PROBE_PATIENCE_MS });
			probes.push({ ms: performance.now() - startedAt, ok: result === "200" });
			await pause(PROBE_EVERY_MS, signal);
		}
	};
	await Promise.all([
		probe(),
		...Array.from({ length: CALLERS }, (_, index) => caller(index)),
		...Array.from({ length: FLOOR_CALLERS }, (_, index) => floorCaller(index)),
	]);
	clearInterval(look);
	kept.destroy();
	return {
		answered: times.length,
		failed,
		p50: quantile(times, 0.5),
		p99: quantile(times, 0.99),
		floorP99: quantile(floorTimes, 0.99),
		loopP99: quantile(loopTimes, 0.99),
		probes: probes.length,
		failedProbes: probes.filter(({ ok }) => !ok).length,
		slowestProbeMs: Math.max(0, ...probes.map(({ ms }) => ms)),
	};
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
	wait(ms, undefined, { signal }).catch(() => {});

interface NormalRequest {
	url: string;
	localAddress?: string;
	agent?: Agent | undefined;
	token?: string;
	body?: object;
	patienceMs: number;
}

/** The status, if the answer is complete; otherwise what went wrong. */
function send({ url, localAddress, agent, token, body, patienceMs }: NormalRequest): Promise<string> {
	const text = body && JSON.stringify(body);
	return new Promise((resolve) => {
		const sent = request(
			url,
			{
				method: text ? "POST" : "GET",
				agent: agent ?? false,
				localAddress,
				headers: {
					...(token && { authorization: `Bearer ${token}` }),
					...(text && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
				},
			},
			(response) => {
				let received = "";
				response.on("data", (piece) => {
					received += piece;
				});
				response.on("close", () => {
					const code = /"code":(\d+)/.exec(received)?.[1];
					const isWhole = response.complete && !received.includes('"error"');
					if (response.statusCode === 200) return resolve(isWhole ? "200" : "broken answer");
					const again = response.headers["retry-after"] ?? "never";
					resolve(`${response.statusCode}${code ? ` (${code}, again: ${again})` : ""}`);
				});
			},
		);
		sent.setTimeout(patienceMs, () => {
			resolve("no answer");
			sent.destroy();
		});
		sent.on("error", () => resolve("reset"));
		sent.end(text);
	});
}
