/** The scripted hosts behind one port on Node. It records each call. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropic } from "./anthropic/index.ts";
import { engine } from "./engine.ts";
import { google } from "./google/index.ts";
import { openai } from "./openai/index.ts";
import { type Conversation, type Host, type Reply, replyOf, type Script } from "./script.ts";
import { searxng } from "./searxng.ts";

/** The hosts, by a name for the paths of this server: `{url}/openai/v1/responses`. */
const HOSTS = { openai, anthropic, google, engine, searxng } as const satisfies Record<string, Host>;
export type HostName = keyof typeof HOSTS;

/** A gateway whose outgoing requests all come here sends them to these names. */
const DOMAINS: Readonly<Record<string, HostName>> = {
	"api.openai.com": "openai",
	"api.anthropic.com": "anthropic",
	"generativelanguage.googleapis.com": "google",
	"engine.example.com": "engine",
	"searx.example.com": "searxng",
};

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
		const { headers, method = "GET" } = request;
		const domain = headers.host?.replace(/:\d+$/, "") ?? "";
		const { host, path } = DOMAINS[domain] ? { host: DOMAINS[domain], path: pathname } : hostOfPath(pathname);
		if (!host) {
			response.writeHead(404).end();
			return;
		}
		const body: unknown = text === "" ? undefined : JSON.parse(text);
		const call: HostCall = {
			host,
			path,
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
		const answer = replyOf(HOSTS[host], { method, path, query: search, headers, body }, (conversation) => {
			const reply = this.#script(conversation);
			call.conversation = conversation;
			call.reply = reply.kind;
			return reply;
		});
		if ("json" in answer) {
			// A complete answer that has no end never comes.
			if (call.reply === "endless") return;
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

function hostOfPath(pathname: string): { host: HostName | undefined; path: string } {
	const [, name, path = ""] = /^\/(\w+)(\/.*)$/.exec(pathname) ?? [];
	return { host: Object.keys(HOSTS).find((one): one is HostName => one === name), path };
}
