/** The engine of the attackers, and their provider. The requested model is its behaviour. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { textOf } from "../engine.ts";
import type { Behaviour } from "./patterns/requests.ts";

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const completion = (content: string): string =>
	JSON.stringify({
		id: "hostile",
		object: "chat.completion",
		created: 1,
		model: "hostile",
		choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
		usage,
	});
const chunk = (content: string, finish_reason: string | null = null): string =>
	`data: ${JSON.stringify({
		id: "hostile",
		object: "chat.completion.chunk",
		created: 1,
		model: "hostile",
		choices: [{ index: 0, delta: { content }, finish_reason }],
	})}\n\n`;

const LARGE_BYTES = 5_000_000;
const BOMB_BYTES = 100_000_000;
const LARGE = completion("a".repeat(LARGE_BYTES));
const BOMB = gzipSync(completion("a".repeat(BOMB_BYTES)));
const EVENT = chunk("word ".repeat(200));
const ENDLESS_PAUSE_MS = 1;
const SLOW_PAUSE_MS = 500;
const MAX_MS = 120_000;

/** Returns its address. */
export async function startHostileEngine(): Promise<string> {
	const server = createServer(async (request, response) => {
		response.on("error", () => {});
		const text = await textOf(request).catch(() => "");
		await answer(request, response, text).catch(() => response.destroy());
	});
	server.keepAliveTimeout = 60_000;
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", 4_096, resolve));
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Of a body that may be megabytes. */
const behaviourIn = (text: string): string =>
	/"model":\s*"(?:[\w./@-]*\/)?([\w-]+)"/.exec(text)?.[1] ?? "quick";

async function answer(request: IncomingMessage, response: ServerResponse, text: string): Promise<void> {
	if (request.url?.endsWith("/embeddings")) return embed(response, text);
	const behaviour = behaviourIn(text) as Behaviour | "guard";
	const stream = /"stream":\s*true/.test(text);
	const json = (body: string | Buffer, headers: Record<string, string> = {}, status = 200): void => {
		response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
	};
	switch (behaviour) {
		case "silent":
			return;
		case "guard":
			return json(completion("safe"));
		case "large":
			return json(LARGE);
		case "bomb":
			return json(BOMB, { "content-encoding": "gzip" });
		case "busy":
			return json('{"error":{"message":"busy"}}', { "retry-after": "1" }, 429);
		case "wrong":
			return json('{"choices":[{"message":[1,null]}],"usage":"much"}');
		case "endless":
			return flow(response, ENDLESS_PAUSE_MS, EVENT);
		case "slow":
			return flow(response, SLOW_PAUSE_MS, chunk("word "));
		default:
			if (!stream) return json(completion("Hello"));
			response.writeHead(200, { "content-type": "text/event-stream" });
			response.end(`${chunk("Hello")}${chunk("", "stop")}data: [DONE]\n\n`);
	}
}

async function flow(response: ServerResponse, pauseMs: number, event: string): Promise<void> {
	response.writeHead(200, { "content-type": "text/event-stream" });
	const until = performance.now() + MAX_MS;
	while (!response.destroyed && performance.now() < until) {
		if (!response.write(event))
			await Promise.race([
				new Promise((resolve) => response.once("drain", resolve).once("close", resolve)),
				wait(MAX_MS),
			]);
		await wait(pauseMs);
	}
	response.end();
}

function embed(response: ServerResponse, text: string): void {
	const { input } = JSON.parse(text) as { input: string | string[] };
	const data = [input].flat().map((_, index) => ({ object: "embedding", index, embedding: [0.1, 0.2] }));
	const body = { object: "list", data, model: "hostile", usage };
	response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}
