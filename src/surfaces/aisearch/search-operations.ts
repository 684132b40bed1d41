/** Searches and chats of instances, as the bindings and the REST routes have them. */
import type { AiError } from "../../core/errors.ts";
import { parseFields } from "../../http/account-request.ts";
import type { Caller } from "../../pipeline/request.ts";
import { answerChat } from "../../retrieval/search/answer.ts";
import { type MultiResult, searchSeveral } from "../../retrieval/search/multi-search.ts";
import { ChatBody, SearchBody, searchedInstances, searchPlan } from "../../retrieval/search/read-search.ts";
import { type SearchContext, type SearchResult, searchInstance } from "../../retrieval/search/search.ts";
import type { AppServices } from "../services.ts";
import type { InstanceCall } from "./item-operations.ts";
import { marked, type NotedResult } from "./lexical-scores.ts";
import { searchModels } from "./model-calls.ts";

/** A namespace, for one caller. */
export interface NamespaceCall {
	caller: Caller;
	namespace: string;
	signal: AbortSignal;
	services: AppServices;
}

export type SearchedCall = InstanceCall & { signal: AbortSignal };

export const contextOf = ({ caller, instance, services, signal }: SearchedCall): SearchContext => ({
	...{ instance, services },
	models: searchModels({ caller, signal, gateway: instance.record.config.ai_gateway_id }, services),
});

export const searchOf = (body: unknown): SearchBody => parseFields(SearchBody(), body, "body");
export const chatOf = (body: unknown): ChatBody => parseFields(ChatBody(), body, "body");

/** Failures that a result does not show are in the log. */
const noteIn =
	(failures: AiError[], { services }: Pick<NamespaceCall, "services">) =>
	(failure: AiError): void => {
		failures.push(failure);
		services.log(failure, "");
	};

export async function search(body: unknown, call: SearchedCall): Promise<NotedResult<SearchResult>> {
	const { config } = call.instance.record;
	const hidden: AiError[] = [];
	const context = { ...contextOf(call), onHidden: noteIn(hidden, call) };
	const result = await searchInstance(searchPlan(searchOf(body), config, "searchQueryMissing"), context);
	return { result, isLexical: context.models.isLexical, hidden };
}

export async function chat(sent: unknown, call: SearchedCall): Promise<Response> {
	const body = chatOf(sent);
	const { config } = call.instance.record;
	const hidden: AiError[] = [];
	const context = { ...contextOf(call), onHidden: noteIn(hidden, call) };
	const { ai_search_options, messages = [] } = body;
	const plan = searchPlan({ messages, ai_search_options }, config, "chatQueryMissing");
	const { chunks } = await searchInstance(plan, context);
	// An answer from nothing would say that the documents do not contain it.
	if (chunks.length === 0 && hidden[0]) throw hidden[0];
	const { models } = context;
	return marked(
		await answerChat({ body, chunks, model: config.ai_search_model }, { ...call.services, models }),
		models,
	);
}

export async function searchNamespace(body: unknown, call: NamespaceCall): Promise<NotedResult<MultiResult>> {
	return several(searchOf(body), call, "searchQueryMissing");
}

export async function chatNamespace(sent: unknown, call: NamespaceCall): Promise<Response> {
	const body = chatOf(sent);
	const { ai_search_options, messages = [] } = body;
	const { hidden, isLexical, result } = await several(
		{ messages, ai_search_options },
		call,
		"chatQueryMissing",
	);
	const { chunks } = result;
	if (chunks.length === 0 && hidden?.[0]) throw hidden[0];
	const { services } = call;
	// The first instance has the model and the gateway of the answer.
	const [first = ""] = searchedInstances(body);
	const instance = await services.searchInstances.open(call.caller.account, call.namespace, first);
	const { models } = contextOf({ ...call, instance });
	const { ai_search_model: model } = instance.record.config;
	return marked(await answerChat({ body, chunks, model }, { ...services, models }), { isLexical });
}

async function several(
	body: SearchBody,
	call: NamespaceCall,
	missing: "chatQueryMissing" | "searchQueryMissing",
): Promise<NotedResult<MultiResult>> {
	const { caller, namespace, services } = call;
	const ids = searchedInstances(body);
	await services.searchInstances.namespace(caller.account, namespace);
	let isLexical = false;
	const hidden: AiError[] = [];
	const result = await searchSeveral(
		ids,
		async (id) => {
			const instance = await services.searchInstances.open(caller.account, namespace, id);
			const plan = searchPlan(body, instance.record.config, missing);
			const context = { ...contextOf({ ...call, instance }), onHidden: noteIn(hidden, call) };
			const found = await searchInstance(plan, context);
			isLexical ||= context.models.isLexical;
			return found;
		},
		body.ai_search_options?.retrieval?.max_num_results,
	);
	return { result, isLexical, hidden };
}
