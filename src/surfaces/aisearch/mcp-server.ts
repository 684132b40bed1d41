/**
 * An instance or a namespace as an MCP server with one tool (modelcontextprotocol.io/specification/2026-07-28): a search. The package
 * serves each request by itself, also those of older clients, which begin with `initialize`: no session outlives a request.
 *
 * The tool's result is the JSON of the search. Its failures are results, too, so that a model can read them.
 */
import { type CallToolResult, createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { AiError, toAiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { readJson } from "../../http/body.ts";
import { MAX_QUERY_CHARACTERS } from "../../retrieval/search/limits.ts";
import type { AppServices } from "../services.ts";
import { leftOutText, NOTE, type NotedResult } from "./lexical-scores.ts";
import { type SearchedCall, search } from "./search-operations.ts";

/** The product's default. */
const DESCRIPTION = "Finds exactly what you're looking for";
const PARSE_ERROR = { jsonrpc: "2.0", id: null, error: { code: -32_700, message: "Parse error" } };

const Arguments = lazy(() => z.object({ query: z.string().min(1).max(MAX_QUERY_CHARACTERS) }));

/** What the tool searches. */
export interface SearchTool {
	/** Of the server. */
	name: string;
	version: string;
	description?: string | undefined;
	services: Pick<AppServices, "limits" | "log" | "startTimer">;
	search(query: string): Promise<NotedResult<object>>;
}

export const toolOf = (call: SearchedCall, description?: string): SearchTool => ({
	name: call.instance.record.id,
	version: String(call.instance.record.indexVersion),
	description,
	services: call.services,
	search: (query) => search({ query }, call),
});

export async function answerMcp(request: Request, tool: SearchTool): Promise<Response> {
	let body: unknown;
	try {
		body = await readJson(request, tool.services);
	} catch (thrown) {
		if (!(thrown instanceof AiError) || thrown.status !== 400) throw thrown;
		return Response.json(PARSE_ERROR, { status: 400 });
	}
	const { fetch: answer } = createMcpHandler(() => serverOf(tool), {
		// The tool does not change, so there is nothing to subscribe to.
		maxSubscriptions: 0,
		responseMode: "json",
		keepAliveMs: 0,
	});
	return answer(request, { parsedBody: body });
}

function serverOf(tool: SearchTool): McpServer {
	const { description = DESCRIPTION, name, version } = tool;
	const capabilities = { tools: { listChanged: false } };
	const server = new McpServer({ name, version }, { capabilities });
	const annotations = { readOnlyHint: true, openWorldHint: false };
	server.registerTool("search", { description, inputSchema: Arguments(), annotations }, ({ query }) =>
		found(query, tool),
	);
	return server;
}

async function found(query: string, { search: searched, services }: SearchTool): Promise<CallToolResult> {
	try {
		const { hidden = [], isLexical, result } = await searched(query);
		const texts = [JSON.stringify(result), ...hidden.map(leftOutText), ...(isLexical ? [NOTE] : [])];
		return { content: texts.map((text) => ({ type: "text", text })) };
	} catch (thrown) {
		const error = toAiError(thrown);
		services.log(error, "");
		return { content: [{ type: "text", text: error.description }], isError: true };
	}
}
