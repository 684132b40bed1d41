/**
 * An engine with OpenAI's API whose streams do not end: after its first words, it sends points until its connection closes.
 * `GET /state` reports how many chats are open, and how many the caller has left.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface EngineState {
	open: number;
	closed: number;
}

const POINT_MS = 100;

const chunk = (content: string): string =>
	`data: ${JSON.stringify({
		id: "chat-1",
		object: "chat.completion.chunk",
		created: 1,
		model: "slow",
		choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }],
	})}\n\n`;

export async function startEngine(): Promise<{ url: string; stop(): Promise<void> }> {
	const state: EngineState = { open: 0, closed: 0 };
	const server = createServer((request, response) => {
		request.resume();
		if (request.url === "/state") {
			response.setHeader("content-type", "application/json").end(JSON.stringify(state));
			return;
		}
		state.open++;
		response.once("close", () => {
			state.open--;
			state.closed++;
		});
		response.writeHead(200, { "content-type": "text/event-stream" });
		for (const text of ["One", " two", " three"]) response.write(chunk(text));
		const timer = setInterval(() => response.write(chunk(".")), POINT_MS);
		response.once("close", () => clearInterval(timer));
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}`,
		stop: async () => {
			server.closeAllConnections();
			server.close();
			await once(server, "close");
		},
	};
}
