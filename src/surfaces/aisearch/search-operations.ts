/** Searches and chats of instances, as the bindings and the REST routes have them. */
import type { AiError } from "../../core/errors.ts";
import { parseJson } from "../../core/json.ts";
import { parseFields } from "../../http/account-request.ts";
import type { Caller } from "../../pipeline/request.ts";
import { answerChat } from "../../retrieval/search/answer.ts";
import {
	type AnswerLookup,
	cachesChat,
	lookUp,
	withoutQuestion,
} from "../../retrieval/search/cache/cached-answers.ts";
import { type MultiResult, searchSeveral } from "../../retrieval/search/multi-search.ts";
import { ChatBody, SearchBody, searchedInstances, searchPlan } from "../../retrieval/search/read-search.ts";
import { type SearchContext, type SearchResult, searchInstance } from "../../retrieval/search/search.ts";
import type { AppServices } from "../services.ts";
import { cachedChat, keptChat } from "./cached-chat.ts";
import type { InstanceCall } from "./item-operations.ts";
import { cacheMarked, marked, type NotedResult } from "./lexical-scores.ts";
import { searchModels } from "./model-calls.ts";

/** A namespace, for one caller. */
export interface NamespaceCall {
	caller: Caller;
	namespace: string;
	signal: AbortSignal;
	services: AppServices;
}

export type SearchedCall = InstanceCall & {
	signal: AbortSignal;
	/** By a public endpoint. Its cached answers are for its own callers only, whose questions may be written to deceive others. */
	isPublic?: boolean;
};

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

export async function search(sent: unknown, call: SearchedCall): Promise<NotedResult<SearchResult>> {
	const body = searchOf(sent);
	const { instance, services } = call;
	const { config } = instance.record;
	const hidden: AiError[] = [];
	const context = { ...contextOf(call), onHidden: noteIn(hidden, call) };
	const plan = searchPlan(body, config, "searchQueryMissing");
	const { ai_search_options: { cache, ...options } = {}, messages } = body;
	if (config.paused || !cache?.enabled) {
		const result = await searchInstance(plan, context);
		return { result, isLexical: context.models.isLexical, hidden };
	}
	const request = { kind: "search", options, messages: messages && withoutQuestion(messages) };
	const lookup = await lookUp(
		{ question: plan.query, request, threshold: cache.cache_threshold },
		instance,
		services.now,
	);
	const { found } = lookup;
	if (found) {
		const result = parseJson(found.text) as SearchResult;
		return { result, isLexical: found.isLexical, cacheStatus: "HIT" };
	}
	const result = await searchInstance(plan, context);
	const { isLexical } = context.models;
	if (hidden.length === 0) await lookup.keep({ text: JSON.stringify(result), isLexical });
	return { result, isLexical, hidden, cacheStatus: "MISS" };
}

export async function chat(sent: unknown, call: SearchedCall): Promise<Response> {
	const body = chatOf(sent);
	const { config } = call.instance.record;
	const hidden: AiError[] = [];
	const context = { ...contextOf(call), onHidden: noteIn(hidden, call) };
	const { ai_search_options, messages = [] } = body;
	const plan = searchPlan({ messages, ai_search_options }, config, "chatQueryMissing");
	const isStream = body.stream === true;
	const lookup = await chatLookup(body, plan.query, call);
	const cached = lookup && cachedChat(lookup, isStream);
	if (cached) return cached;
	const { chunks } = await searchInstance(plan, context);
	// An answer from nothing would say that the documents do not contain it.
	if (chunks.length === 0 && hidden[0]) throw hidden[0];
	const { models } = context;
	const { services } = call;
	const answer = marked(
		await answerChat({ body, chunks, model: config.ai_search_model }, { ...services, models }),
		models,
	);
	if (!lookup) return answer;
	if (chunks.length === 0 || hidden.length > 0) return cacheMarked(answer, "MISS");
	const { isLexical } = models;
	const { waitUntil } = services;
	return keptChat(answer, lookup, { isStream, isLexical, waitUntil });
}

/** `undefined`: the answer is not cached. */
async function chatLookup(
	{ ai_search_options: { cache, ...options } = {}, messages = [], ...fields }: ChatBody,
	question: string,
	{ instance, isPublic = false, services }: SearchedCall,
): Promise<AnswerLookup | undefined> {
	const { config } = instance.record;
	if (config.paused || !cachesChat(cache, config)) return undefined;
	const request = { kind: "chat", isPublic, fields, options, messages: withoutQuestion(messages) };
	return lookUp({ question, request, threshold: cache?.cache_threshold }, instance, services.now);
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
