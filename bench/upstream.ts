/**
 * An engine with very low cost: every answer is built in advance. The first part of the path selects it:
 * `json`, `late` (the same after 20 ms), `bulk` (200 events at once), `stepped` (an event a millisecond), `steady` (an event every 10 ms), `paced` (every 20 ms),
 * `slow` (one a second), `embeddings`.
 * Started with `node bench/upstream.ts PORT`.
 */
import { createServer, type ServerResponse } from "node:http";
import { COMPLETION } from "./completion.ts";

const EVENTS = 200;
const LATE_MS = 20;
const STEP_MS = 1;
const STEADY_MS = 10;
const PACE_MS = 20;
const SLOW_MS = 1000;
const DIMENSIONS = 384;
const TEXTS = 100;

const usage = { prompt_tokens: 20, completion_tokens: EVENTS, total_tokens: 20 + EVENTS };
const chunk = (choices: unknown[], others: object = {}): string =>
	`data: ${JSON.stringify({ id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1, model: "bench", choices, ...others })}\n\n`;
const delta = (content: string): string => chunk([{ index: 0, delta: { content }, finish_reason: null }]);
const frames = [
	chunk([{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }]),
	...Array.from({ length: EVENTS }, (_, i) => delta(` word${i}`)),
	chunk([{ index: 0, delta: {}, finish_reason: "stop" }]),
	chunk([], { usage }),
	"data: [DONE]\n\n",
].map((frame) => Buffer.from(frame));

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const completion = json(COMPLETION);
const embeddings = json({
	object: "list",
	model: "bench",
	data: Array.from({ length: TEXTS }, (_, index) => ({
		object: "embedding",
		index,
		embedding: Array.from({ length: DIMENSIONS }, (_, i) => Math.sin(index * 31 + i) / 20),
	})),
	usage: { prompt_tokens: 800, total_tokens: 800 },
});

const server = createServer((request, response) => {
	const [, kind] = (request.url ?? "").split("/", 2);
	request.resume().on("end", () => {
		if (kind === "late") return void setTimeout(complete, LATE_MS, response, completion);
		if (kind === "embeddings") return complete(response, embeddings);
		if (kind === "bulk") return bulk(response);
		if (kind === "stepped") return paced(response, STEP_MS);
		if (kind === "steady") return paced(response, STEADY_MS);
		if (kind === "paced") return paced(response, PACE_MS);
		if (kind === "slow") return paced(response, SLOW_MS);
		complete(response, completion);
	});
});
// Clients reuse idle connections, so the server must not close them.
server.keepAliveTimeout = 600_000;
server.listen(Number(process.argv[2]), "127.0.0.1", 4096);

function complete(response: ServerResponse, body: Buffer): void {
	response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
	response.end(body);
}

function bulk(response: ServerResponse): void {
	response.writeHead(200, { "content-type": "text/event-stream" });
	for (const frame of frames) response.write(frame);
	response.end();
}

function paced(response: ServerResponse, paceMs: number): void {
	response.writeHead(200, { "content-type": "text/event-stream" });
	let next = 0;
	const timer = setInterval(() => {
		const frame = frames[next++];
		// The time of sending, from which the reader computes the delay.
		if (frame)
			response.write(
				next > 1 && next <= EVENTS
					? delta(`@${(performance.timeOrigin + performance.now()).toFixed(3)}`)
					: frame,
			);
		if (next < frames.length) return;
		clearInterval(timer);
		response.end();
	}, paceMs);
	response.on("close", () => clearInterval(timer));
}
