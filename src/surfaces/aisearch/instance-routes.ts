/** Routes of the instances of AI Search, of their searches and chats. */
import { AiError } from "../../core/errors.ts";
import { lazy, onFirstUse } from "../../core/lazy.ts";
import { isLeftOut } from "../../core/left-out.ts";
import { readStored } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { ConfigChanges, NewInstance } from "../../retrieval/search/read-config.ts";
import { answer } from "../answer.ts";
import type { AppRouteDeclaration } from "../route.ts";
import { bodyOf, instanceCall, JSON_INPUT, namespaceIn, PageQuery, pageEnvelope, queryOf } from "./call.ts";
import {
	changeInstance,
	createInstance,
	instanceFilters,
	instanceInfo,
	instanceStats,
	listInstances,
} from "./instance-operations.ts";
import { instanceJson } from "./json.ts";
import { notedEnvelope } from "./lexical-scores.ts";
import { chat, search } from "./search-operations.ts";

const ListQuery = lazy(() => PageQuery().extend(instanceFilters()));

export const instanceRoutes: readonly AppRouteDeclaration[] = [
	{
		method: "GET",
		path: "",
		permission: "search-read",
		summary: "Lists AI Search instances",
		query: () => ListQuery(),
		output: answer("searchInstancesAnswer"),
		async handler(c, { caller, services }) {
			const query = queryOf(ListQuery(), c);
			const page = await listInstances(query, { caller, services, namespace: namespaceIn(c) });
			return pageEnvelope(page, query, instanceJson);
		},
	},
	{
		method: "POST",
		path: "",
		permission: "search-write",
		summary: "Creates an AI Search instance",
		input: { ...JSON_INPUT, schema: NewInstance, example: { id: "docs" } },
		output: answer("searchInstanceAnswer"),
		async handler(c, { caller, services }) {
			const stored = await readStored(NewInstance(), c.req.raw, services);
			const { record } = await createInstance(stored.fields, {
				...{ caller, services, namespace: namespaceIn(c) },
			});
			return stored.answer(instanceJson(record));
		},
	},
	{
		method: "GET",
		path: "/:instance",
		permission: "search-read",
		summary: "Shows an AI Search instance",
		output: answer("searchInstanceAnswer"),
		handler: async (c, call) => envelope(await instanceInfo(await instanceCall(c, call))),
	},
	{
		method: "PUT",
		path: "/:instance",
		permission: "search-write",
		summary: "Changes an AI Search instance",
		input: { ...JSON_INPUT, schema: ConfigChanges, example: { max_num_results: 5 } },
		output: answer("searchInstanceAnswer"),
		async handler(c, call) {
			const stored = await readStored(ConfigChanges(), c.req.raw, call.services);
			const called = await instanceCall(c, call);
			const changed = await changeInstance(stored.fields, called);
			return stored.answer(await instanceInfo(called, changed));
		},
	},
	{
		method: "DELETE",
		path: "/:instance",
		permission: "search-write",
		summary: "Deletes an AI Search instance with its items",
		output: answer("searchInstanceAnswer"),
		async handler(c, { caller, services }) {
			const id = pathParameter(c, "instance");
			return envelope(
				instanceJson(await services.searchInstances.delete(caller.account, namespaceIn(c), id)),
			);
		},
	},
	{
		method: "GET",
		path: "/:instance/stats",
		permission: "search-read",
		summary: "Counts the items of an AI Search instance",
		output: answer("searchStatsAnswer"),
		handler: async (c, call) => envelope(await instanceStats(await instanceCall(c, call))),
	},
	{
		method: "POST",
		path: "/:instance/search",
		permission: "search-run",
		summary: "Searches an AI Search instance",
		input: { ...JSON_INPUT, example: { query: "reset a password" } },
		output: answer("searchAnswer"),
		async handler(c, call) {
			const body = await bodyOf(c, call);
			return notedEnvelope(await search(body, await instanceCall(c, call)));
		},
	},
	{
		method: "POST",
		path: "/:instance/chat/completions",
		permission: "search-run",
		summary: "Answers a chat from an AI Search instance",
		input: {
			...JSON_INPUT,
			example: { messages: [{ role: "user", content: "How do I reset a password?" }] },
		},
		output: answer("searchChatAnswer"),
		async handler(c, call) {
			const body = await bodyOf(c, call);
			return chat(body, await instanceCall(c, call));
		},
	},
	{
		method: "POST",
		path: "/:instance/mcp",
		permission: "search-run",
		summary: "Serves an AI Search instance as an MCP server with the tool search",
		// MCP is not a REST API: its clients need no document.
		hidden: true,
		async handler(c, call) {
			if (isLeftOut("mcp")) throw new AiError("noRoute");
			const own = await instanceCall(c, call);
			const { answerMcp, toolOf } = await mcpServer();
			return answerMcp(c.req.raw, toolOf(own));
		},
	},
];

const mcpServer = onFirstUse(() => import("./mcp-server.ts"));
