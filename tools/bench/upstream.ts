/**
 * An engine with very low cost: every answer is built in advance. The first part of the path selects it:
 * `json`, `late` (the same after 20 ms), `bulk` (200 events at once), `stepped` (an event a millisecond), `steady` (an event every 10
 * ms), `detailed` (the same with details of the usage), `paced` (every 20 ms), `slow` (one a second), `usage` (`steady`, with the form of
 * usage of the path), `embeddings`, and `responses` and `responses-bulk` (`json` and `bulk` in OpenAI's Responses API). The name of the
 * model of a stream is `bench/` and the first part of the path. Started with `node tools/bench/upstream.ts PORT`.
 */
import { createServer, type ServerResponse } from "node:http";
import { Chunks, EVENTS, usageChunks, WORDS } from "./chunks.ts";
import { COMPLETION } from "./completion.ts";
import { RESPONSE, responseEvents } from "./responses-engine.ts";

const LATE_MS = 20;
const STEP_MS = 1;
const STEADY_MS = 10;
const PACE_MS = 20;
const SLOW_MS = 1000;
const DIMENSIONS = 384;
const TEXTS = 100;

const chunksOf = Object.fromEntries(
	["bulk", "stepped", "steady", "detailed", "paced", "slow"].map((kind) => [
		kind,
		new Chunks(`bench/${kind}`, kind === "detailed" ? "cached" : "plain"),
	]),
);
const PACES_MS: Record<string, number> = {
	stepped: STEP_MS,
	steady: STEADY_MS,
	detailed: STEADY_MS,
	usage: STEADY_MS,
	paced: PACE_MS,
	slow: SLOW_MS,
};

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const completion = json(COMPLETION);
const response = json(RESPONSE);
const events = responseEvents(WORDS).map((text) => Buffer.from(text));
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

const chunksOfUsage = usageChunks();

const server = createServer((request, answer) => {
	const [, kind = ""] = (request.url ?? "").split("/", 2);
	request.resume().on("end", () => {
		if (kind === "late") return void setTimeout(complete, LATE_MS, answer, completion);
		if (kind === "embeddings") return complete(answer, embeddings);
		if (kind === "responses") return complete(answer, response);
		if (kind === "responses-bulk") return bulk(answer, events);
		const chunks = chunksOfUsage(request.url ?? "") ?? chunksOf[kind];
		if (!chunks) return complete(answer, completion);
		const paceMs = PACES_MS[kind];
		if (paceMs === undefined) bulk(answer, chunks.all);
		else paced(answer, chunks, paceMs);
	});
});
// Clients reuse idle connections, so the server must not close them.
server.keepAliveTimeout = 600_000;
server.listen(Number(process.argv[2]), "127.0.0.1", 4096);

function complete(response: ServerResponse, body: Buffer): void {
	response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
	response.end(body);
}

function bulk(response: ServerResponse, all: readonly Buffer[]): void {
	response.writeHead(200, { "content-type": "text/event-stream" });
	for (const bytes of all) response.write(bytes);
	response.end();
}

function paced(response: ServerResponse, chunks: Chunks, paceMs: number): void {
	response.writeHead(200, { "content-type": "text/event-stream" });
	let next = 0;
	const timer = setInterval(() => {
		const bytes = chunks.all[next++];
		// The time of sending, from which the reader computes the delay.
		if (bytes)
			response.write(
				next > 1 && next <= EVENTS
					? chunks.delta(`@${(performance.timeOrigin + performance.now()).toFixed(3)}`)
					: bytes,
			);
		if (next < chunks.all.length) return;
		clearInterval(timer);
		response.end();
	}, paceMs);
	response.on("close", () => clearInterval(timer));
}
