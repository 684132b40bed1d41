/** Load from one process: closed loops, each with a connection of its own, that ask again when they were answered. */
import { Agent, type IncomingMessage, request } from "node:http";

export interface Ask {
	url: string;
	headers?: Record<string, string>;
	body: string | Buffer;
}

export interface Answered {
	/** Milliseconds from the request to the status line, to the first byte of the body, and to its end. */
	headerMs: number;
	firstMs: number;
	totalMs: number;
	bytes: number;
	/** Times of arrival since the request, of every piece of the body. */
	arrivals: number[];
}

export const agentOf = (connections: number): Agent =>
	new Agent({ keepAlive: true, maxSockets: connections, scheduling: "fifo" });

/** One request, read to its end. An answer that is not 200 is an error: nothing slow and wrong counts as fast. */
export function ask({ url, headers = {}, body }: Ask, agent: Agent): Promise<Answered> {
	const begun = performance.now();
	const since = (): number => performance.now() - begun;
	return new Promise((resolve, reject) => {
		const sent = request(
			url,
			{
				method: "POST",
				agent,
				headers: {
					"content-type": "application/json",
					"content-length": Buffer.byteLength(body),
					...headers,
				},
			},
			(response: IncomingMessage) => {
				const headerMs = since();
				const arrivals: number[] = [];
				let bytes = 0;
				let text = "";
				response.on("data", (piece: Buffer) => {
					arrivals.push(since());
					bytes += piece.length;
					if (response.statusCode !== 200) text += piece.toString();
				});
				response.on("error", reject);
				response.on("end", () => {
					if (response.statusCode !== 200) return reject(new Error(`HTTP ${response.statusCode}: ${text}`));
					resolve({ headerMs, firstMs: arrivals[0] ?? headerMs, totalMs: since(), bytes, arrivals });
				});
			},
		);
		sent.on("error", reject);
		sent.end(body);
	});
}

export interface Loop {
	ask: Ask;
	connections: number;
}

/** Runs all loops at once for so long, and counts the answers. */
export function load(loops: readonly Loop[], milliseconds: number): Promise<number[]> {
	const until = performance.now() + milliseconds;
	return loadWhile(loops, () => performance.now() < until);
}

/**
 * Runs all loops at once until each has had so many answers, and no longer than `milliseconds`. Engines of JavaScript
 * make code fast that has run often, not that has run long: on a slow machine a warm-up by the clock is none.
 */
export function warmUp(loops: readonly Loop[], answers: number, milliseconds: number): Promise<number[]> {
	const until = performance.now() + milliseconds;
	return loadWhile(loops, (counts) => performance.now() < until && counts.some((count) => count < answers));
}

async function loadWhile(
	loops: readonly Loop[],
	goesOn: (counts: readonly number[]) => boolean,
): Promise<number[]> {
	const counts = loops.map(() => 0);
	await Promise.all(
		loops.map(async (loop, i) => {
			const agent = agentOf(loop.connections);
			await Promise.all(
				Array.from({ length: loop.connections }, async () => {
					while (goesOn(counts)) {
						await ask(loop.ask, agent);
						counts[i] = (counts[i] ?? 0) + 1;
					}
				}),
			);
			agent.destroy();
		}),
	);
	return counts;
}
