/** A tool as an MCP server over HTTP in this process, for clients that take no functions. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { type LocalTool, WEATHER_SCHEMA } from "./client.ts";

interface Call {
	id?: number | string;
	method: string;
	params?: { protocolVersion?: string; arguments?: { city: string } };
}

/** `close` ends the server with its connections. */
export async function serveTool(tool: LocalTool): Promise<{ url: string; close(): void }> {
	const server = createServer(async (request, response) => {
		const call = request.method === "POST" ? await readCall(request) : undefined;
		// It has no stream of its own (GET), and a notification gets no answer.
		if (call?.id === undefined) return void response.writeHead(call ? 202 : 405).end();
		const answer = { jsonrpc: "2.0", id: call.id, result: resultOf(call, tool) };
		response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const close = (): void => {
		server.closeAllConnections();
		server.close();
	};
	return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, close };
}

const readCall = (request: IncomingMessage): Promise<Call> => json(request) as Promise<Call>;

function resultOf({ method, params = {} }: Call, { description, name, run }: LocalTool): object {
	switch (method) {
		case "initialize":
			return {
				protocolVersion: params.protocolVersion,
				capabilities: { tools: {} },
				serverInfo: { name, version: "1" },
			};
		case "tools/list":
			return { tools: [{ name, description, inputSchema: WEATHER_SCHEMA }] };
		case "tools/call":
			return { content: [{ type: "text", text: run(params.arguments?.city ?? "") }] };
		default:
			return {};
	}
}
