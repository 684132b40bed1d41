/** `POST …/v1/alpha/search`, with which Codex searches for models that have no hosted tools. */
import type { Context } from "hono";
import { onFirstUse } from "../../core/lazy.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { readJson } from "../../http/body.ts";
import { responsesFailure } from "../../http/failure-formats.ts";
import type { Call, RouteDeclaration } from "../../http/route.ts";
import { answer } from "../answer.ts";

const room = onFirstUse(() => import("../../websearch/hosted/standalone-search.ts"));

export const STANDALONE_SEARCH: readonly RouteDeclaration[] = [
	{
		method: "POST",
		path: "/alpha/search",
		summary: "Runs the searches of Codex",
		input: {
			type: "application/json",
			example: {
				id: "search-1",
				model: "gpt-5.6-luna",
				commands: { search_query: [{ q: "Durable Objects" }] },
			},
		},
		output: answer("standaloneSearchAnswer"),
		failure: responsesFailure,
		permission: "run",
		handler: searchForCodex,
	},
];

async function searchForCodex(c: Context, { caller, services }: Call): Promise<Response> {
	const { StandaloneSearch, runStandaloneSearch } = await room();
	const body = validate(StandaloneSearch(), await readJson(c.req.raw, services));
	return Response.json(await runStandaloneSearch(body, { caller, signal: c.req.raw.signal }, services));
}
