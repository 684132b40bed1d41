/**
 * AutoRAG, the older API of AI Search: `env.AI.autorag(id)` (workerd, `src/cloudflare/internal/autorag-api.ts`) on the binding, and
 * `/autorag/rags` over REST. A RAG is an instance of the namespace `default`.
 */
import type { Context } from "hono";
import { parseFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { RagBody, searchRag } from "../../retrieval/search/rag.ts";
import { DEFAULT_NAMESPACE } from "../../retrieval/search/records.ts";
import { answer } from "../answer.ts";
import { ACCOUNT, below } from "../bases.ts";
import { type AppCall, type AppRoute, type AppRouteDeclaration, defineRoutes } from "../route.ts";
import { bodyOf, failure, TAG } from "./call.ts";
import { withIgnored } from "./ignored-options.ts";
import { startJob } from "./job-operations.ts";
import { ragJson } from "./json.ts";
import { notedEnvelope } from "./lexical-scores.ts";
import { chatRag, contextOf, type SearchedCall } from "./search-operations.ts";

const MAX_LISTED = 1_000;
const EXAMPLE = { query: "How do I reset a password?" };
const JSON_INPUT = { type: "application/json", schema: RagBody, example: EXAMPLE } as const;

const RAGS: readonly AppRouteDeclaration[] = [
	{
		method: "GET",
		path: "",
		permission: "search-read",
		summary: "Lists AI Search instances in the older format",
		output: answer("ragsAnswer"),
		async handler(_, { caller, services }) {
			const query = { namespace: DEFAULT_NAMESPACE, page: 1, perPage: MAX_LISTED };
			const { values } = await services.searchInstances.list(caller.account, query);
			return envelope(values.map(ragJson));
		},
	},
	{
		method: "POST",
		path: "/:instance/search",
		permission: "search-run",
		summary: "Searches an AI Search instance, with the older fields",
		input: JSON_INPUT,
		output: answer("ragSearchAnswer"),
		async handler(c, call) {
			const sent = await bodyOf(c, call);
			const body = parseFields(RagBody(), sent, "body");
			const context = contextOf(await ragCall(c, call));
			const result = await searchRag(body, context);
			const { isLexical } = context.models;
			return notedEnvelope(withIgnored({ result, isLexical }, RagBody(), sent, call));
		},
	},
	{
		method: "POST",
		path: "/:instance/ai-search",
		permission: "search-run",
		summary: "Answers a question from an AI Search instance, with the older fields",
		input: JSON_INPUT,
		output: answer("ragSearchAnswer"),
		async handler(c, call) {
			const sent = await bodyOf(c, call);
			return chatRag(sent, await ragCall(c, call));
		},
	},
	{
		method: "PATCH",
		path: "/:instance/sync",
		permission: "search-write",
		summary: "Indexes all items of an AI Search instance again, in the older format",
		output: answer("ragSyncAnswer"),
		async handler(c, call) {
			const { id } = await startJob(undefined, await ragCall(c, call));
			return envelope({ job_id: id });
		},
	},
];

async function ragCall(c: Context, { caller, services }: AppCall): Promise<SearchedCall> {
	const id = pathParameter(c, "instance");
	const instance = await services.searchInstances.open(caller.account, DEFAULT_NAMESPACE, id);
	return { caller, instance, services, signal: c.req.raw.signal };
}

/** The requests of `env.AI.autorag(id)`. */
export const ragWireRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [{ path: "/autorag/rags" }], tag: "Binding", failure },
	RAGS,
);

export const ragRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(ACCOUNT, "/autorag/rags")], tag: TAG, failure },
	RAGS,
);
