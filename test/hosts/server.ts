/** The scripted hosts behind one port on Node. It records each call. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropic } from "./anthropic/index.ts";
import { engine } from "./engine.ts";
import { google } from "./google/index.ts";
import { openai } from "./openai/index.ts";
import { type Conversation, type Host, type Reply, replyOf, type Script } from "./script.ts";

/** Each host's API is below its name: `{url}/openai/v1/responses`. */
const HOSTS = { openai, anthropic, google, engine } as const satisfies Record<string, Host>;
export type HostName = keyof typeof HOSTS;

export interface HostCall {
	host: HostName;
	path: string;
	query: string;
	headers: IncomingMessage["headers"];
	body: unknown;
	/** Absent: the host refused the request. */
	conversation?: Conversation;
	reply?: Reply["kind"];
	/** Its status. */
	status: number;
	/** The answer of a refusal. */
	refusal?: object;
	openedAt: number;
	/** When either side closed the answer's connection. */
	closedAt?: number;
}

export class Hosts {
	readonly calls: HostCall[] = [];
	readonly #server: Server;
	#script: Script;

	constructor(script: Script) {
		this.#script = script;
		this.#server = createServer((request, response) => {
			this.#answer(request, response).catch(() => response.destroy());
		});
	}

	/** Returns its URL. `port`: 0 for a free one. */
	async listen(port = 0): Promise<string> {
		await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
		return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
	}

	follow(script: Script): void {
		this.#script = script;
	}

	close(): void {
		this.#server.closeAllConnections();
		this.#server.close();
	}

	async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		let text = "";
		for await (const piece of request.setEncoding("utf8")) text += piece;
		const { pathname, search } = new URL(request.url ?? "/", "http://hosts");
		const [, name = "", rest = ""] = /^\/(\w+)(\/.*)$/.exec(pathname) ?? [];
		const host = Object.keys(HOSTS).find((one): one is HostName => one === name);
		if (!host) {
			response.writeHead(404).end();
			return;
		}
		const { headers, method = "GET" } = request;
		const body: unknown = text === "" ? undefined : JSON.parse(text);
		const call: HostCall = {
			host,
			path: rest,
			query: search,
			headers,
			body,
			status: 200,
			openedAt: performance.now(),
		};
		this.calls.push(call);
		response.on("error", () => {});
		response.on("close", () => {
			call.closedAt = performance.now();
		});
		const answer = replyOf(
			HOSTS[host],
			{ method, path: rest, query: search, headers, body },
			(conversation) => {
				const reply = this.#script(conversation);
				call.conversation = conversation;
				call.reply = reply.kind;
				return reply;
			},
		);
		if ("json" in answer) {
			call.status = answer.status ?? 200;
			if (call.status >= 400) call.refusal = answer.json;
			response.writeHead(call.status, { "content-type": "application/json", ...answer.headers });
			response.end(JSON.stringify(answer.json));
			return;
		}
		response.writeHead(200, { "content-type": "text/event-stream" });
		for await (const event of answer.events) {
			if (response.closed) return;
			response.write(event);
			// A piece at a time, so that a client receives them separately.
			await new Promise((next) => setImmediate(next));
		}
		response.end();
	}
}
