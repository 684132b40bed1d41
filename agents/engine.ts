/**
 * An OpenAI-compatible engine that follows a script and records each call: the body that reached it, and when the connection closed.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";

const ToolCall = z.object({
	id: z.string(),
	function: z.object({ name: z.string(), arguments: z.string() }),
});
const Part = z.looseObject({ type: z.string(), text: z.string().optional() });
const Message = z.looseObject({
	role: z.string(),
	content: z.union([z.string(), z.array(Part), z.null()]).optional(),
	tool_calls: z.array(ToolCall).optional(),
});
const ChatBody = z.looseObject({
	messages: z.array(Message),
	tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).optional(),
	stream: z.boolean().optional(),
});
export type ChatBody = z.infer<typeof ChatBody>;

export type Reply =
	/** `pause` is awaited after the first piece of a stream. */
	| { kind: "text"; pieces: readonly string[]; pause?: () => Promise<void> }
	| { kind: "tools"; calls: readonly { name: string; arguments: object }[] }
	/** A stream without an end. */
	| { kind: "endless"; piece: string }
	| { kind: "failure"; status: number; headers?: Record<string, string>; error: object };

/** `call`: from 0, among those of the run. */
export type Script = (body: ChatBody, call: number) => Reply;

export interface EngineCall {
	body: ChatBody;
	reply: Reply["kind"];
	openedAt: number;
	/** When either side closed the answer's connection. */
	closedAt?: number;
	/** The reply was sent completely. */
	finished: boolean;
}

const ENDLESS_PACE_MS = 100;
/** Limit for a stream that its reader never closes. */
const ENDLESS_MS = 60_000;

export class Engine {
	readonly calls: EngineCall[] = [];
	readonly #server: Server;
	#script: Script = () => ({ kind: "failure", status: 500, error: { message: "no script" } });

	constructor() {
		this.#server = createServer((request, response) => {
			this.#answer(request, response).catch(() => response.destroy());
		});
	}

	/** Returns its base URL. */
	async listen(): Promise<string> {
		await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
		const address = this.#server.address() as AddressInfo;
		return `http://127.0.0.1:${address.port}/v1`;
	}

	follow(script: Script): void {
		this.#script = script;
	}

	close(): void {
		this.#server.closeAllConnections();
		this.#server.close();
	}

	async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		if (request.method !== "POST" || !request.url?.endsWith("/chat/completions")) {
			response
				.writeHead(404, { "content-type": "application/json" })
				.end('{"error":{"message":"not found"}}');
			return;
		}
		const body = ChatBody.parse(JSON.parse(await textOf(request)));
		const reply = this.#script(body, this.calls.length);
		const call: EngineCall = { body, reply: reply.kind, openedAt: performance.now(), finished: false };
		this.calls.push(call);
		response.on("error", () => {});
		response.on("close", () => {
			call.closedAt = performance.now();
		});
		await (body.stream ? stream : complete)(reply, this.calls.length, response);
		call.finished = reply.kind !== "endless";
		response.end();
	}
}

async function stream(reply: Reply, call: number, response: ServerResponse): Promise<void> {
	if (reply.kind === "failure") return fail(reply, response);
	response.writeHead(200, { "content-type": "text/event-stream" });
	const send = (delta: object, finish_reason: string | null = null) =>
		write(response, chunk({ choices: [{ index: 0, delta, finish_reason }] }));
	await send({ role: "assistant", content: "" });
	switch (reply.kind) {
		case "text":
			for (const [index, content] of reply.pieces.entries()) {
				await send({ content });
				if (index === 0) await reply.pause?.();
			}
			await send({}, "stop");
			break;
		case "tools":
			for (const [index, toolCall] of toolCalls(call, reply.calls).entries()) {
				const { arguments: text, name } = toolCall.function;
				await send({ tool_calls: [{ ...toolCall, index, function: { name, arguments: "" } }] });
				// In two parts, as real engines do.
				for (const part of [text.slice(0, 3), text.slice(3)])
					await send({ tool_calls: [{ index, function: { arguments: part } }] });
			}
			await send({}, "tool_calls");
			break;
		case "endless":
			for (const until = performance.now() + ENDLESS_MS; performance.now() < until && !response.closed; ) {
				await send({ content: reply.piece });
				await wait(ENDLESS_PACE_MS);
			}
			return;
	}
	await write(response, chunk({ choices: [], usage: USAGE }));
	await write(response, "data: [DONE]\n\n");
}

async function complete(reply: Reply, call: number, response: ServerResponse): Promise<void> {
	if (reply.kind === "failure") return fail(reply, response);
	const message =
		reply.kind === "tools"
			? { role: "assistant", content: null, tool_calls: toolCalls(call, reply.calls) }
			: { role: "assistant", content: reply.kind === "text" ? reply.pieces.join("") : reply.piece };
	const finish_reason = reply.kind === "tools" ? "tool_calls" : "stop";
	response.writeHead(200, { "content-type": "application/json" });
	const choices = [{ index: 0, message, finish_reason }];
	await write(response, JSON.stringify({ ...HEAD, object: "chat.completion", choices, usage: USAGE }));
}

async function fail(reply: Reply & { kind: "failure" }, response: ServerResponse): Promise<void> {
	response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
	await write(response, JSON.stringify({ error: reply.error }));
}

const HEAD = { id: "chatcmpl-scripted", created: 1, model: "scripted" };
const USAGE = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

const chunk = (fields: object): string =>
	`data: ${JSON.stringify({ ...HEAD, object: "chat.completion.chunk", ...fields })}\n\n`;

/** `call`: number of the request, for the ids. */
const toolCalls = (call: number, calls: readonly { name: string; arguments: object }[]) =>
	calls.map(({ name, arguments: input }, index) => ({
		id: `call_${String(call * 1000 + index).padStart(9, "0")}`,
		type: "function",
		function: { name, arguments: JSON.stringify(input) },
	}));

/** Rejects if the reader has disconnected. */
const write = (response: ServerResponse, text: string): Promise<void> =>
	new Promise((resolve, reject) => {
		response.write(text, (error) => (error ? reject(error) : resolve()));
	});

export async function textOf(request: AsyncIterable<Buffer>): Promise<string> {
	const pieces: Buffer[] = [];
	for await (const piece of request) pieces.push(piece);
	return Buffer.concat(pieces).toString();
}

/** All text of a message. */
export const textOfMessage = ({ content }: z.infer<typeof Message>): string =>
	typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("\n");

export const toolNames = ({ tools = [] }: ChatBody): string[] => tools.map((tool) => tool.function.name);
