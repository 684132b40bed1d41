/** The guard model of a run. Its usage numbers its calls, so that a row of the ledger identifies its call. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { textOf } from "../engine.ts";
import { indexIn } from "../plan.ts";
import { BLOCKED_PROMPT, BLOCKED_RESPONSE } from "./plan.ts";

export interface GuardCall {
	/** Index of the answer whose prompt is judged. */
	answer: number | undefined;
	openedAt: number;
	closedAt?: number;
	inputTokens: number;
	outputTokens: number;
	/** The answer was sent completely. */
	complete: boolean;
}

/** A reservation has 272 tokens more than the prompt has bytes, and 100 tokens of output. */
const INPUTS = 250;
const OUTPUTS = 90;

interface Body {
	messages: { role: string; content: string }[];
}

export class GuardEngine {
	readonly calls: GuardCall[] = [];
	readonly #server: Server;

	constructor() {
		this.#server = createServer(async (request, response) => {
			const openedAt = performance.now();
			// A gateway that is killed may not have sent all of it.
			const text = await textOf(request).catch(() => undefined);
			if (text === undefined) return;
			const { messages }: Body = JSON.parse(text);
			const number = this.calls.length;
			const call: GuardCall = {
				answer: indexIn(text),
				openedAt,
				inputTokens: 1 + (number % INPUTS),
				outputTokens: 1 + (Math.floor(number / INPUTS) % OUTPUTS),
				complete: false,
			};
			this.calls.push(call);
			response.on("error", () => {});
			response.on("close", () => {
				call.closedAt = performance.now();
				call.complete = response.writableFinished;
			});
			const usage = {
				prompt_tokens: call.inputTokens,
				completion_tokens: call.outputTokens,
				total_tokens: call.inputTokens + call.outputTokens,
			};
			const message = { role: "assistant", content: verdict(messages) };
			const choices = [{ index: 0, message, finish_reason: "stop" }];
			const body = { id: "guard", object: "chat.completion", created: 1, model: "guard", choices, usage };
			response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
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
}

/** The last message is judged. The end of the prompt precedes an answer. */
function verdict(messages: Body["messages"]): string {
	const prompt = messages[0]?.content ?? "";
	if (messages.length === 1) return prompt.includes(BLOCKED_PROMPT) ? "unsafe\nS1" : "safe";
	return prompt.includes(BLOCKED_RESPONSE) ? "unsafe\nS10" : "safe";
}
