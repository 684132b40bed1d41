/** A recording proxy between an agent and the gateway. It records requests and answers. */
import {
	createServer,
	type IncomingMessage,
	request as open,
	type Server,
	type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

export interface Recorded {
	method: string;
	path: string;
	headers: IncomingMessage["headers"];
	body: string;
	openedAt: number;
	/** Absent if the agent disconnected before it arrived. */
	status?: number;
	responseHeaders?: IncomingMessage["headers"];
	/** The part that was sent. */
	response: string;
	endedAt?: number;
}

export class Tap {
	readonly records: Recorded[] = [];
	readonly #gateway: URL;
	readonly #server: Server;
	readonly #watchers = new Set<() => void>();

	constructor(gateway: string) {
		this.#gateway = new URL(gateway);
		this.#server = createServer((request, response) => {
			this.#forward(request, response).catch(() => response.destroy());
		});
	}

	async listen(): Promise<string> {
		await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
		const address = this.#server.address() as AddressInfo;
		return `http://127.0.0.1:${address.port}`;
	}

	close(): void {
		this.#server.closeAllConnections();
		this.#server.close();
	}

	/** Resolves with true as soon as an answer contains the text, or with false after `timeoutMs`. */
	waitFor(text: string, timeoutMs: number): Promise<boolean> {
		return new Promise((resolve) => {
			const finish = (found: boolean) => {
				clearTimeout(timer);
				this.#watchers.delete(watch);
				resolve(found);
			};
			const watch = () => this.records.some(({ response }) => response.includes(text)) && finish(true);
			const timer = setTimeout(() => finish(false), timeoutMs);
			this.#watchers.add(watch);
			watch();
		});
	}

	async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const { headers, method = "GET", url: path = "/" } = request;
		const body = await textOf(request);
		const record: Recorded = { method, path, headers, body, openedAt: performance.now(), response: "" };
		this.records.push(record);
		const upstream = open({
			hostname: this.#gateway.hostname,
			port: this.#gateway.port,
			method,
			path,
			// Without compression, so that the record is readable.
			headers: { ...headers, "accept-encoding": "identity" },
		});
		response.on("close", () => upstream.destroy());
		upstream.on("error", () => response.destroy());
		upstream.on("response", (answer) => {
			record.status = answer.statusCode ?? 0;
			record.responseHeaders = answer.headers;
			response.writeHead(record.status, answer.headers);
			answer.on("data", (piece: Buffer) => {
				record.response += piece.toString();
				response.write(piece);
				for (const watch of this.#watchers) watch();
			});
			answer.on("end", () => {
				record.endedAt = performance.now();
				response.end();
			});
			answer.on("error", () => response.destroy());
		});
		upstream.end(body);
	}
}

async function textOf(request: AsyncIterable<Buffer>): Promise<string> {
	const pieces: Buffer[] = [];
	for await (const piece of request) pieces.push(piece);
	return Buffer.concat(pieces).toString();
}
