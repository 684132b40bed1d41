/** Routes of the namespaces of AI Search, and of searches in several of their instances. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { readStored } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import { Identifier } from "../../retrieval/search/identifier.ts";
import { SentNamespaceEndpoint } from "../../retrieval/search/public-endpoint.ts";
import { answer } from "../answer.ts";
import type { AppRouteDeclaration } from "../route.ts";
import { bodyOf, JSON_INPUT, PageQuery, pageEnvelope, queryOf } from "./call.ts";
import { namespaceJson } from "./json.ts";
import { notedEnvelope } from "./lexical-scores.ts";
import { chatNamespace, searchNamespace } from "./search-operations.ts";

const MAX_DESCRIPTION_CHARACTERS = 256;

const Description = lazy(() => z.string().max(MAX_DESCRIPTION_CHARACTERS).nullish());
const NamespaceChanges = lazy(() =>
	z.object({ description: Description(), public_endpoint_params: SentNamespaceEndpoint().nullish() }),
);
const NewNamespace = lazy(() => NamespaceChanges().extend({ name: Identifier() }));
const ListQuery = lazy(() => PageQuery().extend({ search: z.string().default("") }));

export const namespaceRoutes: readonly AppRouteDeclaration[] = [
	{
		method: "GET",
		path: "",
		permission: "search-read",
		summary: "Lists the namespaces of AI Search",
		query: () => ListQuery(),
		output: answer("searchNamespacesAnswer"),
		async handler(c, { caller, services }) {
			const query = queryOf(ListQuery(), c);
			const all = (await services.searchInstances.namespaces(caller.account)).filter(({ name }) =>
				name.includes(query.search),
			);
			const start = (query.page - 1) * query.per_page;
			const page = { values: all.slice(start, start + query.per_page), total: all.length };
			return pageEnvelope(page, query, namespaceJson);
		},
	},
	{
		method: "POST",
		path: "",
		permission: "search-write",
		summary: "Creates a namespace of AI Search",
		input: { ...JSON_INPUT, schema: NewNamespace, example: { name: "team-a" } },
		output: answer("searchNamespaceAnswer"),
		async handler(c, { caller, services }) {
			const stored = await readStored(NewNamespace(), c.req.raw, services);
			return stored.answer(
				namespaceJson(await services.searchInstances.createNamespace(caller, stored.fields)),
			);
		},
	},
	{
		method: "GET",
		path: "/:namespace",
		permission: "search-read",
		summary: "Shows a namespace of AI Search",
		output: answer("searchNamespaceAnswer"),
		async handler(c, { caller, services }) {
			const name = pathParameter(c, "namespace");
			return envelope(namespaceJson(await services.searchInstances.namespace(caller.account, name)));
		},
	},
	{
		method: "PUT",
		path: "/:namespace",
		permission: "search-write",
		summary: "Changes the description or the public endpoint of a namespace of AI Search",
		input: { ...JSON_INPUT, schema: NamespaceChanges, example: { description: "Manuals" } },
		output: answer("searchNamespaceAnswer"),
		async handler(c, { caller, services }) {
			const stored = await readStored(NamespaceChanges(), c.req.raw, services);
			const name = pathParameter(c, "namespace");
			return stored.answer(
				namespaceJson(await services.searchInstances.changeNamespace(caller, name, stored.fields)),
			);
		},
	},
	{
		method: "DELETE",
		path: "/:namespace",
		permission: "search-write",
		summary: "Deletes an empty namespace of AI Search",
		output: answer("searchNamespaceDeletion"),
		async handler(c, { caller, services }) {
			const name = pathParameter(c, "namespace");
			await services.searchInstances.deleteNamespace(caller.account, name);
			return envelope({ name });
		},
	},
	{
		method: "POST",
		path: "/:namespace/search",
		permission: "search-run",
		summary: "Searches several instances of a namespace",
		input: {
			...JSON_INPUT,
			example: { query: "reset a password", ai_search_options: { instance_ids: ["docs"] } },
		},
		output: answer("searchAnswer"),
		async handler(c, call) {
			const body = await bodyOf(c, call);
			const { caller, services } = call;
			const signal = c.req.raw.signal;
			const namespace = pathParameter(c, "namespace");
			return notedEnvelope(await searchNamespace(body, { caller, services, signal, namespace }));
		},
	},
	{
		method: "POST",
		path: "/:namespace/chat/completions",
		permission: "search-run",
		summary: "Answers a chat from several instances of a namespace",
		input: {
			...JSON_INPUT,
			example: {
				messages: [{ role: "user", content: "How do I reset a password?" }],
				ai_search_options: { instance_ids: ["docs"] },
			},
		},
		output: answer("searchChatAnswer"),
		async handler(c, call) {
			const body = await bodyOf(c, call);
			const { caller, services } = call;
			const signal = c.req.raw.signal;
			return chatNamespace(body, { caller, services, signal, namespace: pathParameter(c, "namespace") });
		},
	},
];
