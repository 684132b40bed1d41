/** Providers on loopback: two public APIs, as strict as they are, behind one port. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropic } from "./anthropic.ts";
import type { Asked, Said } from "./asked.ts";
import { gemini } from "./gemini.ts";

export interface Providers {
	url: string;
	/** Everything that was asked, in order. */
	asked: Asked[];
	stop(): void;
}

/** On a free port, unless one is given. */
export async function startProviders(port = 0): Promise<Providers> {
	const asked: Asked[] = [];
	const server = createServer(async (request, response) => {
		let text = "";
		for await (const chunk of request.setEncoding("utf8")) text += chunk;
		const { pathname, search } = new URL(request.url ?? "/", "http://providers");
		const one: Asked = { path: pathname, query: search, headers: request.headers, body: JSON.parse(text) };
		asked.push(one);
		answer(response, pathname === "/v1/messages" ? anthropic(one) : gemini(one));
	});
	await new Promise<void>((done) => server.listen(port, "127.0.0.1", done));
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		asked,
		stop: () => {
			server.closeAllConnections();
			server.close();
		},
	};
}

/** A piece at a time, so that a client sees them come. */
async function answer(response: ServerResponse, said: Said): Promise<void> {
	if ("json" in said) {
		response.writeHead(said.status ?? 200, { "content-type": "application/json" });
		response.end(JSON.stringify(said.json));
		return;
	}
	response.writeHead(200, { "content-type": "text/event-stream" });
	for (const event of said.events) {
		response.write(event);
		await new Promise((next) => setImmediate(next));
	}
	response.end();
}
