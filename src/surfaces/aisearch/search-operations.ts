/** Searches and chats of instances, as the bindings and the REST routes have them. */
import type * as z from "zod";
import type { AiError } from "../../core/errors.ts";
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
import { searchFailure } from "../../retrieval/search/failures.ts";
import { type MultiResult, searchSeveral } from "../../retrieval/search/multi-search.ts";
import { answerRag, RagBody } from "../../retrieval/search/rag.ts";
import {
	ChatBody,
	questionOf,
	SearchBody,
	searchedInstances,
	searchPlan,
} from "../../retrieval/search/read-search.ts";
import { type SearchContext, type SearchResult, searchInstance } from "../../retrieval/search/search.ts";
import { misnamedField } from "../../schemas/misnamed.ts";
import { SSE_CONTENT_TYPE } from "../../streams/sse.ts";
import type { AppServices } from "../services.ts";
import { cachedAnswer } from "./cached-chat.ts";
import { cachedSearch, isComplete, isPaused } from "./cached-search.ts";
import { withDropped, withIgnored } from "./ignored-options.ts";
import type { InstanceCall } from "./item-operations.ts";
import { marked, type NotedResult, notedEnvelope } from "./lexical-scores.ts";
import { searchModels } from "./model-calls.ts";

/** A namespace, for one caller. */
export interface NamespaceCall {
	caller: Caller;
	namespace: string;
	signal: AbortSignal;
	services: AppServices;
	isPublic?: boolean;
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

/** Throws 7039 if no field has a question. */
function searchOf(sent: unknown): SearchBody {
	const body = parseFields(SearchBody(), sent, "body");
	if (body.query === undefined && body.messages === undefined)
		throw searchFailure("searchQueryMissing", noteOn(SearchBody(), sent, "query", "messages"));
	return body;
}

/** Throws 7038 if no field has a question. */
function chatOf(sent: unknown): ChatBody {
	const body = parseFields(ChatBody(), sent, "body");
	if (body.messages === undefined)
		throw searchFailure("chatQueryMissing", noteOn(ChatBody(), sent, "messages"));
	return body;
}

const noteOn = (schema: z.ZodType, sent: unknown, ...names: string[]): string | undefined =>
	names.map((name) => misnamedField(schema, sent, [name])).find((note) => note !== undefined);

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
	const noted = await cachedSearch({
		...{ body, instances: [instance], now: services.now },
		async run() {
			const hidden: AiError[] = [];
			const notes = new Set<string>();
			const onNote = (note: string) => notes.add(note);
			const context = { ...contextOf(call), onHidden: noteIn(hidden, call), onNote };
			const plan = searchPlan(body, instance.record.config, "searchQueryMissing");
			const result = await searchInstance(plan, context);
			return { result, isLexical: context.models.isLexical, hidden, notes };
		},
	});
	return withIgnored(noted, SearchBody(), sent, call);
}

export async function chat(sent: unknown, call: SearchedCall): Promise<Response> {
	return withDropped(await chatWith(chatOf(sent), call), ChatBody(), sent, { ...call, isLoose: true });
}

async function chatWith(body: ChatBody, call: SearchedCall): Promise<Response> {
	const { instance, services } = call;
	const { config } = instance.record;
	const hidden: AiError[] = [];
	const context = { ...contextOf(call), onHidden: noteIn(hidden, call) };
	const { ai_search_options, messages = [] } = body;
	const plan = searchPlan({ messages, ai_search_options }, config, "chatQueryMissing");
	const lookup = await chatLookup(body, plan.query, call);
	return cachedAnswer(lookup, { isStream: body.stream === true, waitUntil: services.waitUntil }, async () => {
		const { chunks } = await searchInstance(plan, context);
		// An answer from nothing would say that the documents do not contain it.
		if (chunks.length === 0 && hidden[0]) throw hidden[0];
		const { models } = context;
		const sources = { body, chunks, model: config.ai_search_model };
		const response = marked(await answerChat(sources, { ...services, models }), models);
		const { isLexical } = models;
		return { response, isLexical, isKept: chunks.length > 0 && hidden.length === 0 };
	});
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
	const opened = body.ai_search_options?.cache?.enabled
		? await openAll(searchedInstances(body), call)
		: undefined;
	const noted = await cachedSearch({
		...{ body, instances: opened, now: services.now },
		run: () => several(body, call, { missing: "searchQueryMissing", opened }),
	});
	return withIgnored(noted, SearchBody(), sent, call);
}

export async function chatNamespace(sent: unknown, call: NamespaceCall): Promise<Response> {
	return withDropped(await chatInSeveral(chatOf(sent), call), ChatBody(), sent, { ...call, isLoose: true });
}

async function chatInSeveral(body: ChatBody, call: NamespaceCall): Promise<Response> {
	const { ai_search_options, messages = [] } = body;
	const { services } = call;
	await services.searchInstances.namespace(call.caller.account, call.namespace);
	const ids = searchedInstances(body);
	const opened = await openAll(ids, call);
	let lookup: AnswerLookup | undefined;
	if (opened) {
		const [instance, ...others] = opened;
		const { query } = questionOf({ messages }, "chatQueryMissing");
		lookup = await chatLookup(body, query, { ...call, instance, others });
	}
	return cachedAnswer(lookup, { isStream: body.stream === true, waitUntil: services.waitUntil }, async () => {
		const searched = { messages, ai_search_options };
		const noted = await several(searched, call, { missing: "chatQueryMissing", opened });
		const { hidden, isLexical, result } = noted;
		const { chunks } = result;
		if (chunks.length === 0 && hidden?.[0]) throw hidden[0];
		const [first = ""] = ids;
		const instance =
			opened?.[0] ?? (await services.searchInstances.open(call.caller.account, call.namespace, first));
		const { models } = contextOf({ ...call, instance });
		const { ai_search_model: model } = instance.record.config;
		const response = marked(await answerChat({ body, chunks, model }, { ...services, models }), {
			isLexical,
		});
		return { response, isLexical, isKept: chunks.length > 0 && isComplete(noted) };
	});
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
	const notes = new Set<string>();
	const onNote = (note: string) => notes.add(note);
	const result = await searchSeveral(
		ids,
		async (id) => {
			const instance = known.get(id) ?? (await services.searchInstances.open(caller.account, namespace, id));
			const plan = searchPlan(body, instance.record.config, missing);
			const context = { ...contextOf({ ...call, instance }), onHidden: noteIn(hidden, call), onNote };
			const found = await searchInstance(plan, context);
			isLexical ||= context.models.isLexical;
			return found;
		},
		body.ai_search_options?.retrieval?.max_num_results,
	);
	return { result, isLexical, hidden, notes };
}

/** An answer of the older API, whose question is the only text. */
export async function chatRag(sent: unknown, call: SearchedCall): Promise<Response> {
	const body = parseFields(RagBody(), sent, "body");
	return withDropped(await chatRagWith(body, call), RagBody(), sent, call);
}

async function chatRagWith(body: RagBody, call: SearchedCall): Promise<Response> {
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
	return cachedAnswer(lookup, { isStream, waitUntil: services.waitUntil }, async () => {
		const { answer, isEmpty } = await answerRag(body, context);
		const { isLexical } = context.models;
		const headers = { "content-type": SSE_CONTENT_TYPE, "cache-control": "no-cache" };
		const response =
			answer instanceof ReadableStream
				? marked(new Response(answer, { headers }), { isLexical })
				: notedEnvelope({ result: answer, isLexical });
		return { response, isLexical, isKept: !isEmpty };
	});
}
