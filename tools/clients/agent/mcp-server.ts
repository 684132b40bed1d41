/**
 * An MCP server over stdio with three tools. Usage: `node mcp-server.ts LOG SECRET`. Each call is appended to LOG as a line of JSON.
 * `get__weather` answers with SECRET, which only this server has, so an answer with SECRET came through the tool. The two underscores in the
 * name are a test: clients join the names of a server and a tool with two underscores.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import * as z from "zod";
import { RED_PNG } from "../library/red-png.ts";

const [, , log = "", secret = ""] = process.argv;

const TOOLS = [
	{
		name: "add",
		description: "Adds two numbers.",
		inputSchema: {
			type: "object",
			properties: { a: { type: "number" }, b: { type: "number" } },
			required: ["a", "b"],
		},
	},
	{
		name: "get__weather",
		description: "The weather in a city.",
		inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
	},
	{
		name: "snapshot",
		description: "A picture of the screen.",
		inputSchema: { type: "object", properties: {} },
	},
];

const Message = z.object({
	id: z.union([z.string(), z.number()]).optional(),
	method: z.string().optional(),
	params: z
		.object({
			protocolVersion: z.string().optional(),
			name: z.string().optional(),
			arguments: z.record(z.string(), z.unknown()).optional(),
		})
		.optional(),
});
const Numbers = z.object({ a: z.number(), b: z.number() });

createInterface({ input: process.stdin }).on("line", (line) => {
	if (line.trim() === "") return;
	const { id, method, params = {} } = Message.parse(JSON.parse(line));
	// A notification has no id and gets no answer.
	if (id === undefined || method === undefined) return;
	const result = resultOf(method, params);
	const answer = result ? { result } : { error: { code: -32601, message: `no method ${method}` } };
	process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
});

function resultOf(
	method: string,
	{
		name = "",
		arguments: input = {},
		protocolVersion = "2025-06-18",
	}: z.infer<typeof Message>["params"] & {},
): object | undefined {
	switch (method) {
		case "initialize":
			return {
				protocolVersion,
				capabilities: { tools: {} },
				serverInfo: { name: "tiny", version: "1.0.0" },
			};
		case "ping":
			return {};
		case "tools/list":
			return { tools: TOOLS };
		case "tools/call":
			appendFileSync(log, `${JSON.stringify({ name, arguments: input })}\n`);
			return { content: contentOf(name, input) };
		default:
			return undefined;
	}
}

const contentOf = (name: string, input: object): object[] =>
	name === "snapshot"
		? [
				{ type: "text", text: "The screen:" },
				{ type: "image", mimeType: "image/png", data: RED_PNG },
			]
		: [{ type: "text", text: call(name, input) }];

function call(name: string, input: object): string {
	if (name === "get__weather") return `Rain, station ${secret}.`;
	const { a, b } = Numbers.parse(input);
	// Not only the number: Gemini CLI parses a text that is JSON as structured content, which must be an object.
	return `The sum is ${a + b}.`;
}
