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
import type { OpenInstance } from "../../retrieval/search/client/search-instances.ts";
import { type MultiResult, searchSeveral } from "../../retrieval/search/multi-search.ts";
import { answerRag, type RagBody } from "../../retrieval/search/rag.ts";
import {
	ChatBody,
	questionOf,
	SearchBody,
	searchedInstances,
	searchPlan,
} from "../../retrieval/search/read-search.ts";
import { type SearchContext, type SearchResult, searchInstance } from "../../retrieval/search/search.ts";
import { SSE_CONTENT_TYPE } from "../../streams/sse.ts";
import type { AppServices } from "../services.ts";
import { cachedChat, keptChat } from "./cached-chat.ts";
import type { InstanceCall } from "./item-operations.ts";
import { cacheMarked, marked, type NotedResult, notedEnvelope } from "./lexical-scores.ts";
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
	{ instance, isPublic = false, others = [], services }: SearchedCall & { others?: readonly OpenInstance[] },
): Promise<AnswerLookup | undefined> {
	if ([instance, ...others].some(isPaused) || !cachesChat(cache, instance.record.config)) return undefined;
	const request = { kind: "chat", isPublic, fields, options, messages: withoutQuestion(messages) };
	const sent = { question, request, threshold: cache?.cache_threshold, others };
	return lookUp(sent, instance, services.now).catch(() => undefined);
}

const isPaused = ({ record }: OpenInstance): boolean => record.config.paused;

/** The instances of a request, if all can be opened. The first has the model, the gateway and the cache of the answer. */
async function openAll(
	ids: readonly string[],
	{ caller, namespace, services }: NamespaceCall,
): Promise<[OpenInstance, ...OpenInstance[]] | undefined> {
	const open = (id: string) => services.searchInstances.open(caller.account, namespace, id);
	const [first, ...others] = await Promise.all(ids.map(open)).catch(() => []);
	return first && [first, ...others];
}

export async function searchNamespace(sent: unknown, call: NamespaceCall): Promise<NotedResult<MultiResult>> {
	const body = searchOf(sent);
	const { services } = call;
	await services.searchInstances.namespace(call.caller.account, call.namespace);
	const { ai_search_options: { cache, ...options } = {}, messages } = body;
	const opened = cache?.enabled ? await openAll(searchedInstances(body), call) : undefined;
	if (!opened || opened.some(isPaused)) return several(body, call, { missing: "searchQueryMissing", opened });
	const [instance, ...others] = opened;
	const { query } = questionOf(body, "searchQueryMissing");
	const request = { kind: "search", options, messages: messages && withoutQuestion(messages) };
	const cacheable = { question: query, request, threshold: cache?.cache_threshold, others };
	const lookup = await lookUp(cacheable, instance, services.now).catch(() => undefined);
	const { found } = lookup ?? {};
	if (found) {
		const result = parseJson(found.text) as MultiResult;
		return { result, isLexical: found.isLexical, cacheStatus: "HIT" };
	}
	const noted = await several(body, call, { missing: "searchQueryMissing", opened });
	const { isLexical, result } = noted;
	if (isWhole(noted)) await lookup?.keep({ text: JSON.stringify(result), isLexical });
	return { ...noted, cacheStatus: "MISS" };
}

/** Nothing has failed, so that the same request would have the same result. */
const isWhole = ({ hidden = [], result }: NotedResult<MultiResult>): boolean =>
	hidden.length === 0 && !result.errors;

export async function chatNamespace(sent: unknown, call: NamespaceCall): Promise<Response> {
	const body = chatOf(sent);
	const { ai_search_options, messages = [] } = body;
	const { services } = call;
	await services.searchInstances.namespace(call.caller.account, call.namespace);
	const ids = searchedInstances(body);
	const opened = await openAll(ids, call);
	const isStream = body.stream === true;
	let lookup: AnswerLookup | undefined;
	if (opened) {
		const [instance, ...others] = opened;
		const { query } = questionOf({ messages }, "chatQueryMissing");
		lookup = await chatLookup(body, query, { ...call, instance, others });
		const cached = lookup && cachedChat(lookup, isStream);
		if (cached) return cached;
	}
	const noted = await several({ messages, ai_search_options }, call, { missing: "chatQueryMissing", opened });
	const { hidden, isLexical, result } = noted;
	const { chunks } = result;
	if (chunks.length === 0 && hidden?.[0]) throw hidden[0];
	const [first = ""] = ids;
	const instance =
		opened?.[0] ?? (await services.searchInstances.open(call.caller.account, call.namespace, first));
	const { models } = contextOf({ ...call, instance });
	const { ai_search_model: model } = instance.record.config;
	const answer = marked(await answerChat({ body, chunks, model }, { ...services, models }), { isLexical });
	if (!lookup) return answer;
	if (chunks.length === 0 || !isWhole(noted)) return cacheMarked(answer, "MISS");
	return keptChat(answer, lookup, { isStream, isLexical, waitUntil: services.waitUntil });
}

interface SeveralOptions {
	missing: "chatQueryMissing" | "searchQueryMissing";
	/** The instances of the request, in its order, if all are open already. */
	opened?: readonly OpenInstance[] | undefined;
}

async function several(
	body: SearchBody,
	call: NamespaceCall,
	{ missing, opened = [] }: SeveralOptions,
): Promise<NotedResult<MultiResult>> {
	const { caller, namespace, services } = call;
	const ids = searchedInstances(body);
	const known = new Map(opened.map((instance, index) => [ids[index], instance]));
	let isLexical = false;
	const hidden: AiError[] = [];
	const result = await searchSeveral(
		ids,
		async (id) => {
			const instance = known.get(id) ?? (await services.searchInstances.open(caller.account, namespace, id));
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

/** An answer of the older API, whose question is the only text. */
export async function chatRag(body: RagBody, call: SearchedCall): Promise<Response> {
	const { instance, services } = call;
	const context = contextOf(call);
	const { config } = instance.record;
	const { query, stream, ...others } = body;
	const isStream = stream === true;
	const request = { kind: "rag", isStream, ...others };
	const lookup =
		config.cache && !config.paused
			? await lookUp({ question: query, request }, instance, services.now)
			: undefined;
	const cached = lookup && cachedChat(lookup, isStream);
	if (cached) return cached;
	const { answer, isEmpty } = await answerRag(body, context);
	const { isLexical } = context.models;
	const headers = { "content-type": SSE_CONTENT_TYPE, "cache-control": "no-cache" };
	const response =
		answer instanceof ReadableStream
			? marked(new Response(answer, { headers }), { isLexical })
			: notedEnvelope({ result: answer, isLexical });
	if (!lookup) return response;
	if (isEmpty) return cacheMarked(response, "MISS");
	return keptChat(response, lookup, { isStream, isLexical, waitUntil: services.waitUntil });
}
