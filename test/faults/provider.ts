/** A provider on loopback with a script for each call. Records all calls. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ProviderCall {
	/** Milliseconds since the provider's start. */
	at: number;
	path: string;
	headers: IncomingHttpHeaders;
	body: Record<string, unknown>;
	/** Generated tokens, which a provider bills. */
	tokens: number;
	/** The client closed the connection before the end of the answer. */
	cancelled: boolean;
	/** Resolves when the connection is closed or the answer has ended. */
	closed: Promise<void>;
	response: ServerResponse;
}

export type Script = (call: ProviderCall) => void | Promise<void>;

export class Provider {
	readonly name: string;
	readonly calls: ProviderCall[] = [];
	readonly #server: Server;
	readonly #waiting = new Set<() => void>();
	#script: (index: number) => Script = () => hang;
	#startedAt = performance.now();

	constructor(name: string) {
		this.name = name;
		this.#server = createServer(async (request, response) => {
			const pieces: Buffer[] = [];
			for await (const piece of request) pieces.push(piece);
			const closed = Promise.withResolvers<void>();
			const call: ProviderCall = {
				at: performance.now() - this.#startedAt,
				path: request.url ?? "",
				headers: request.headers,
				body: JSON.parse(Buffer.concat(pieces).toString() || "{}"),
				tokens: 0,
				cancelled: false,
				closed: closed.promise,
				response,
			};
			response.on("close", () => {
				call.cancelled = !response.writableEnded;
				closed.resolve();
			});
			this.calls.push(call);
			for (const wake of this.#waiting) wake();
			await this.#script(this.calls.length - 1)(call);
		});
	}

	async listen(): Promise<void> {
		await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
	}

	get url(): string {
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
	}

	/** Sets the scripts of the first call, the second call, …; the last script repeats. Clears the recorded calls. */
	does(...scripts: [Script, ...Script[]]): void {
		this.calls.length = 0;
		this.#startedAt = performance.now();
		this.#script = (index) => scripts[Math.min(index, scripts.length - 1)] ?? scripts[0];
	}

	/** Resolves with the call of this number, when it arrives. */
	async called(times: number): Promise<ProviderCall> {
		for (;;) {
			const call = this.calls[times - 1];
			if (call) return call;
			await new Promise<void>((resolve) => {
				const wake = () => {
					this.#waiting.delete(wake);
					resolve();
				};
				this.#waiting.add(wake);
			});
		}
	}

	/** Milliseconds between its calls. */
	get gaps(): number[] {
		return this.calls.slice(1).map(({ at }, i) => at - (this.calls[i]?.at ?? 0));
	}

	get running(): number {
		return this.calls.filter(({ response }) => !response.destroyed && !response.writableEnded).length;
	}

	stop(): void {
		this.#server.closeAllConnections();
		this.#server.close();
	}
}

export const WORDS = Array.from({ length: 60 }, (_, i) => `w${i} `);

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const chunk = (call: ProviderCall, choices: unknown[], more: object = {}): string =>
	`data: ${JSON.stringify({ id: "chatcmpl-p", object: "chat.completion.chunk", created: 1, model: call.body.model, choices, ...more })}\n\n`;

const PROMPT_TOKENS = 5;

const usageOf = (tokens: number, promptTokens = PROMPT_TOKENS) => ({
	prompt_tokens: promptTokens,
	completion_tokens: tokens,
	total_tokens: promptTokens + tokens,
});

const header = ({ response }: ProviderCall) =>
	response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();

async function writeWords(call: ProviderCall, words: readonly string[]): Promise<void> {
	for (const content of words) {
		const text = chunk(call, [{ index: 0, delta: { content }, finish_reason: null }]);
		await new Promise<void>((resolve) => call.response.write(text, () => resolve()));
		call.tokens++;
	}
}

const finish = (call: ProviderCall, end = "data: [DONE]\n\n", usage: object = usageOf(call.tokens)): void => {
	call.response.write(chunk(call, [{ index: 0, delta: {}, finish_reason: "stop" }]));
	call.response.write(chunk(call, [], { usage }));
	call.response.end(end);
};

/** A reply of `count` MiB. */
export const replyOfMiB =
	(count: number): Script =>
	({ response }) => {
		response.writeHead(200, { "content-type": "application/json" });
		response.end(Buffer.alloc(count * 1024 * 1024, " "));
	};

/** Accepts and never answers. */
export const hang: Script = () => {};
export const reset: Script = ({ response }) => {
	response.socket?.resetAndDestroy();
};
export const status =
	(code: number, error: object = {}, headers: Record<string, string> = {}): Script =>
	({ response }) => {
		response.writeHead(code, { "content-type": "application/json", ...headers });
		response.end(JSON.stringify({ error: { message: `status ${code}`, ...error } }));
	};

/** A complete answer, streamed if the request has `stream`. `usage` replaces the count of its words. */
export const answer =
	(words: readonly string[] = WORDS, usage?: object): Script =>
	async (call) => {
		if (call.body.stream !== true) {
			call.tokens = words.length;
			call.response.writeHead(200, { "content-type": "application/json" });
			const message = { role: "assistant", content: words.join("") };
			call.response.end(
				JSON.stringify({
					id: "chatcmpl-p",
					object: "chat.completion",
					created: 1,
					model: call.body.model,
					choices: [{ index: 0, message, finish_reason: "stop" }],
					usage: usage ?? usageOf(words.length),
				}),
			);
			return;
		}
		header(call);
		await writeWords(call, words);
		finish(call, undefined, usage);
	};

/** Continues an answer from its beginning in the request, which counts as prompt. */
export const continuation: Script = async (call) => {
	const last = (call.body.messages as { role: string; content: string }[]).at(-1);
	const startCount = last?.role === "assistant" ? last.content.trim().split(" ").length : 0;
	header(call);
	await writeWords(call, WORDS.slice(startCount));
	finish(call, undefined, usageOf(call.tokens, PROMPT_TOKENS + startCount));
};

export const late =
	(ms: number, then: Script): Script =>
	async (call) => {
		await pause(ms);
		await then(call);
	};

/** The header at once, the first token late. */
export const lateToken =
	(ms: number): Script =>
	async (call) => {
		header(call);
		await pause(ms);
		if (call.cancelled) return;
		await writeWords(call, WORDS);
		finish(call);
	};

/** The header at once, then only comments, until the client closes the connection. */
export const onlyComments: Script = async (call) => {
	header(call);
	while (!call.cancelled) {
		call.response.write(": ka\n\n");
		await pause(20);
	}
};

/** A word each 5 ms, until the client closes the connection. */
export const talkative: Script = async (call) => {
	header(call);
	for (let i = 0; !call.cancelled; i++) {
		await writeWords(call, [WORDS[i % WORDS.length] ?? ""]);
		await pause(5);
	}
};

/** `count` words, and then the script `then`. */
export const words =
	(count: number, then: Script): Script =>
	async (call) => {
		header(call);
		await writeWords(call, WORDS.slice(0, count));
		await pause(20);
		await then(call);
	};

export const malformed: Script = ({ response }) => {
	response.write('data: {"choices":[{"index":0,"delta":{"con\n\n');
};

export const withoutDone: Script = async (call) => {
	header(call);
	await writeWords(call, WORDS);
	finish(call, "");
};

/** Refuses requests that end with an assistant message; all others run the script `then`. */
export const refusingPartial =
	(then: Script): Script =>
	async (call) => {
		const messages = call.body.messages as { role: string }[];
		if (messages.at(-1)?.role === "assistant")
			await status(400, { message: "the last message must not be the assistant's" })(call);
		else await then(call);
	};
