/**
 * An engine with OpenAI's API for the scenarios. It serves chats, images, speech and transcripts, and records each call with the scenario that the
 * request names. The expected bills are calculated from these records.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

/** The answer of one call. `complete` is false if the other side closed the connection first. */
export interface Served {
	scenario: string;
	backend: string;
	complete: boolean;
	promptTokens?: number;
	/** Tokens that were written to an open connection. */
	outputTokens?: number;
	/** Pixels and steps of an image. */
	image?: { width: number; height: number; steps: number };
	/** Characters of a text for speech. */
	characters?: number;
	/** Duration of transcribed audio. */
	milliseconds?: number;
}

/** An image of one pixel. The bill depends on the requested size. */
const PNG =
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const TOKEN = " t0001x";
const PACE_MS = 10;
/** `slow-200` waits 200 milliseconds before its header. */
const SLOW = /^slow-(\d+)$/;

export class RecordingEngine {
	readonly #records: Served[] = [];
	readonly #server: Server;

	constructor() {
		this.#server = createServer((request, response) => {
			response.on("error", () => {});
			this.#answer(request, response).catch(() => response.destroy());
		});
	}

	async listen(): Promise<string> {
		await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", 1024, resolve));
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	close(): void {
		this.#server.closeAllConnections();
		this.#server.close();
	}

	served(scenario: string): readonly Served[] {
		return this.#records.filter((record) => record.scenario === scenario);
	}

	async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const pieces: Buffer[] = [];
		for await (const piece of request) pieces.push(piece);
		const text = Buffer.concat(pieces).toString("latin1");
		const [, backend = "", ...path] = (request.url ?? "").split("/");
		const scenario = /soak-case:([a-z-]+)/.exec(text)?.[1] ?? "";
		const record: Served = { scenario, backend, complete: false };
		this.#records.push(record);
		response.on("close", () => {
			record.complete = response.writableFinished;
		});
		await wait(Number(SLOW.exec(backend)?.[1] ?? 0));
		if (response.destroyed) return;
		const route = path.slice(1).join("/");
		if (route === "audio/transcriptions") return this.#transcribe(text, record, response);
		const body: Record<string, unknown> = JSON.parse(Buffer.concat(pieces).toString());
		if (route === "chat/completions") return this.#chat(body, record, response);
		if (route === "images/generations") {
			const [width = 0, height = 0] = String(body.size).split("x").map(Number);
			record.image = { width, height, steps: Number(body.num_inference_steps) };
			return json(response, { created: 1, data: [{ b64_json: PNG }] });
		}
		record.characters = [...String(body.input)].length;
		response.writeHead(200, { "content-type": "audio/mpeg" }).end(Buffer.from("ID3\u0004"));
	}

	/** The prompt contains the number of output tokens. */
	async #chat(body: Record<string, unknown>, record: Served, response: ServerResponse): Promise<void> {
		const prompt = JSON.stringify(body.messages);
		const tokens = Number(/tokens=(\d+)/.exec(prompt)?.[1]);
		const promptTokens = 10 + tokens;
		record.promptTokens = promptTokens;
		record.outputTokens = 0;
		const usage = {
			prompt_tokens: promptTokens,
			completion_tokens: tokens,
			total_tokens: promptTokens + tokens,
		};
		const head = { id: "soak", created: 1, model: "soak" };
		if (body.stream !== true) {
			record.outputTokens = tokens;
			const message = { role: "assistant", content: TOKEN.repeat(tokens) };
			const choices = [{ index: 0, message, finish_reason: "stop" }];
			return json(response, { ...head, object: "chat.completion", choices, usage });
		}
		response.writeHead(200, { "content-type": "text/event-stream" });
		const chunk = (fields: object) =>
			`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...fields })}\n\n`;
		const choice = (delta: object, finish_reason: string | null = null) => [
			{ index: 0, delta, finish_reason },
		];
		for (let token = 1; token <= tokens; token++) {
			if (response.destroyed) return;
			record.outputTokens = token;
			response.write(chunk({ choices: choice({ content: TOKEN }) }));
			await wait(PACE_MS);
		}
		response.write(chunk({ choices: choice({}, "stop") }));
		response.end(`${chunk({ choices: [], usage })}data: [DONE]\n\n`);
	}

	/** The prompt in the form contains the duration of the audio, which is the answer's `duration`. */
	#transcribe(form: string, record: Served, response: ServerResponse): void {
		record.milliseconds = Number(/milliseconds=(\d+)/.exec(form)?.[1]);
		json(response, { text: "soak", duration: record.milliseconds / 1000, language: "en", segments: [] });
	}
}

function json(response: ServerResponse, value: unknown): void {
	response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}
