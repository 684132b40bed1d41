/** An engine with OpenAI's chats that records each call of a line. A prompt is `line N`. The counts of its answer follow from N. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";

export const answerOf = (line: number): string => `answer to line ${line}`;
export const countsOf = (line: number) => ({ input: 10 + (line % 7), output: 5 + (line % 11) });

const PROMPT = /^line (\d+)$/;

interface ChatRequest {
	messages: { content: string }[];
}

export class LineEngine {
	/** Calls, by line. */
	readonly calls = new Map<number, number>();
	/** Every so many calls are refused with 429. 0: none. */
	busyEvery = 0;
	refused = 0;
	readonly #milliseconds: number;
	readonly #server: Server;
	#all = 0;

	/** `milliseconds`: the time of an answer. */
	constructor(milliseconds: number) {
		this.#milliseconds = milliseconds;
		this.#server = createServer((request, response) => {
			const pieces: Buffer[] = [];
			response.on("error", () => {});
			request.on("data", (piece: Buffer) => pieces.push(piece));
			request.on("end", async () => {
				const { status, body } = this.#answer(JSON.parse(Buffer.concat(pieces).toString()) as ChatRequest);
				await wait(this.#milliseconds);
				response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
			});
		});
		this.#server.keepAliveTimeout = 60_000;
	}

	async listen(): Promise<string> {
		await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", 1024, resolve));
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
	}

	close(): void {
		this.#server.closeAllConnections();
		this.#server.close();
	}

	#answer({ messages }: ChatRequest): { status: number; body: object } {
		if (this.busyEvery > 0 && ++this.#all % this.busyEvery === 0) {
			this.refused++;
			return { status: 429, body: { error: { message: "The engine is busy", type: "rate_limit_error" } } };
		}
		const line = Number(PROMPT.exec(messages.at(-1)?.content ?? "")?.[1]);
		this.calls.set(line, (this.calls.get(line) ?? 0) + 1);
		const { input, output } = countsOf(line);
		const usage = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
		const message = { role: "assistant", content: answerOf(line) };
		const choices = [{ index: 0, message, finish_reason: "stop" }];
		return {
			status: 200,
			body: { id: `chatcmpl-${line}`, object: "chat.completion", created: 1, model: "soak", choices, usage },
		};
	}
}
