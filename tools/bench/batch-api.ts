/** Files and batches of a contender, over OpenAI's API. */
import { request } from "node:http";
import { Readable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import type { Contender } from "./contenders.ts";
import { CHAT } from "./context.ts";

const POLL_MS = 50;
const BOUNDARY = "bench-batches";
const PIECE_LINES = 16;
const ENDPOINT = "/v1/chat/completions";

interface BatchState {
	id: string;
	status: string;
	errors: unknown;
	request_counts: { completed: number; failed: number };
}

export interface BatchApi {
	/** Returns the id of the file. */
	upload(lines: Iterable<string>): Promise<string>;
	/** Returns the id of the batch. */
	create(input: string): Promise<string>;
	state(id: string): Promise<BatchState>;
	reached(id: string, isReached: (state: BatchState) => boolean): Promise<BatchState>;
	/** Creates a batch, and waits until all lines have good answers. */
	complete(input: string): Promise<void>;
	/** Waits until the batch has ended. */
	cancel(id: string): Promise<void>;
}

/** Lines of `bytes` each, as many as a piece of the body has. Without `bytes` each has the usual chat. */
export function* linesOf(count: number, bytes?: number): Generator<string> {
	const line = (custom_id: string, messages: object): string =>
		`${JSON.stringify({ custom_id, method: "POST", url: ENDPOINT, body: { model: "bench/late", messages } })}\n`;
	const idOf = (index: number): string => `line-${String(index).padStart(6, "0")}`;
	const padded = (content: string) => [{ role: "user", content }];
	const padding = bytes === undefined ? 0 : bytes - line(idOf(0), padded("")).length;
	const messages = bytes === undefined ? CHAT.messages : padded("x".repeat(padding));
	for (let from = 0; from < count; from += PIECE_LINES)
		yield Array.from({ length: Math.min(PIECE_LINES, count - from) }, (_, index) =>
			line(idOf(from + index), messages),
		).join("");
}

export function batchApi(contender: Contender): BatchApi {
	const { url, headers = {} } = contender.ask("late", CHAT);
	const base = url.replace("/chat/completions", "");
	const call = async (path: string, body?: object): Promise<BatchState> => {
		const response = await fetch(`${base}/batches${path}`, {
			method: body ? "POST" : "GET",
			headers: { ...headers, "content-type": "application/json" },
			...(body && { body: JSON.stringify(body) }),
		});
		if (!response.ok) throw new Error(`HTTP ${response.status} ${await response.text()}`);
		return (await response.json()) as BatchState;
	};
	const api: BatchApi = {
		upload: (lines) => upload(`${base}/files`, headers, form(lines)),
		create: async (input_file_id) =>
			(await call("", { input_file_id, endpoint: ENDPOINT, completion_window: "24h" })).id,
		state: (id) => call(`/${id}`),
		async reached(id, isReached) {
			for (;;) {
				const state = await call(`/${id}`);
				if (state.status === "failed") throw new Error(JSON.stringify(state.errors));
				if (isReached(state)) return state;
				await wait(POLL_MS);
			}
		},
		async complete(input) {
			const { request_counts } = await api.reached(
				await api.create(input),
				({ status }) => status === "completed",
			);
			if (request_counts.failed > 0) throw new Error(`${request_counts.failed} lines have failed`);
		},
		async cancel(id) {
			await call(`/${id}/cancel`, {});
			await api.reached(id, ({ status }) => status === "cancelled" || status === "completed");
		},
	};
	return api;
}

function* form(lines: Iterable<string>): Generator<string> {
	yield `--${BOUNDARY}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--${BOUNDARY}\r\n`;
	yield 'content-disposition: form-data; name="file"; filename="requests.jsonl"\r\n\r\n';
	yield* lines;
	yield `\r\n--${BOUNDARY}--\r\n`;
}

/** Without a length, as a client that streams a file. */
function upload(url: string, headers: Record<string, string>, body: Iterable<string>): Promise<string> {
	const type = `multipart/form-data; boundary=${BOUNDARY}`;
	return new Promise((resolve, reject) => {
		const sent = request(
			url,
			{ method: "POST", headers: { ...headers, "content-type": type } },
			(response) => {
				const read: Buffer[] = [];
				response.on("data", (piece: Buffer) => read.push(piece));
				response.on("error", reject);
				response.on("end", () => {
					const text = Buffer.concat(read).toString();
					if (response.statusCode === 200) resolve((JSON.parse(text) as { id: string }).id);
					else reject(new Error(`HTTP ${response.statusCode} ${text}`));
				});
			},
		);
		sent.on("error", reject);
		Readable.from(body).pipe(sent);
	});
}
