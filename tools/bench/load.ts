/** Load from one process: closed loops, each with its own connection, that send the next request after each answer. */
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
	/** Milliseconds from the request to each piece of the body. */
	arrivals: number[];
}

export const agentOf = (connections: number): Agent =>
	new Agent({ keepAlive: true, maxSockets: connections, scheduling: "fifo" });

/** Sends one request and reads the answer to its end. A status other than 200 is an error, so that failures are not measured. */
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
	/** One request, or several that take turns. */
	ask: Ask | readonly Ask[];
	connections: number;
	/** How many requests it has sent. Several that take turns go on where the load before ended. */
	sent?: number;
}

/** Runs all loops in parallel for a time, and counts the answers. */
export function load(loops: readonly Loop[], milliseconds: number): Promise<number[]> {
	const until = performance.now() + milliseconds;
	return loadWhile(loops, () => performance.now() < until);
}

/**
 * Runs all loops in parallel until each has this many answers, at most for `milliseconds`. JavaScript engines optimise
 * code by the number of runs, not by time, so a warm-up by time alone is too short on a slow machine.
 */
export function warmUp(loops: readonly Loop[], answers: number, milliseconds: number): Promise<number[]> {
	const until = performance.now() + milliseconds;
	return loadWhile(loops, (counts) => performance.now() < until && counts.some((count) => count < answers));
}

async function loadWhile(
	loops: readonly Loop[],
	continues: (counts: readonly number[]) => boolean,
): Promise<number[]> {
	const counts = loops.map(() => 0);
	await Promise.all(
		loops.map(async (loop, i) => {
			const agent = agentOf(loop.connections);
			const asks = [loop.ask].flat();
			await Promise.all(
				Array.from({ length: loop.connections }, async () => {
					while (continues(counts)) {
						const { sent = 0 } = loop;
						loop.sent = sent + 1;
						const next = asks[sent % asks.length];
						if (next) await ask(next, agent);
						counts[i] = (counts[i] ?? 0) + 1;
					}
				}),
			);
			agent.destroy();
		}),
	);
	return counts;
}
