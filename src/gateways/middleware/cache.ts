/**
 * Answers a request from the gateway's cache, or stores its answer. A cached answer calls no model: it is not admitted, and costs
 * nothing. A cache that fails is a miss.
 */
import { HeaderTemplates } from "../../core/header-templates.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import { completeBodyOf, completeResponse } from "../../streams/complete-body.ts";
import { SSE_CONTENT_TYPE } from "../../streams/sse.ts";
import { answerHeaders } from "../answer-headers.ts";
import { isCompleteAnswer } from "../cache/completeness.ts";
import { cacheKey } from "../cache/key.ts";
import { cachePolicy } from "../cache/policy.ts";
import { recorded } from "../cache/recording.ts";
import type { CachedAnswer, ResponseCaches } from "../client/response-caches.ts";
import { collectsLog } from "../logs/collection.ts";
import type { GatewayMiddleware, GatewayRequest } from "../request.ts";

interface CacheServices {
	responseCaches: ResponseCaches;
	limits: CacheLimits;
	waitUntil(promise: Promise<unknown>): void;
}

export interface CacheLimits {
	/** Of all answers of one gateway. */
	cacheBytes: number;
	/** Of all answers of an account. */
	accountCacheBytes: number;
	/** Larger answers are not stored. */
	cacheEntryBytes: number;
}

/** Headers that belong to the content of an answer. Others, such as ids and costs, belong to one request. */
const STORED_HEADERS: ReadonlySet<string> = new Set([
	"content-type",
	"content-language",
	"content-disposition",
	"cache-control",
	"x-ganglion-model",
	"x-ganglion-dropped",
	"cf-aig-dlp",
	"cf-aig-model",
	"cf-aig-provider",
]);

const NO_USAGE = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, cost: 0 };

export const cacheMiddleware =
	({ responseCaches, limits, waitUntil }: CacheServices): GatewayMiddleware =>
	async (request, next) => {
		const { account, settings, step } = request;
		const policy = cachePolicy(step.options, settings);
		const key = policy && cacheKey(step, settings);
		if (!key) return next(request);
		const cache = responseCaches.of(account, settings.id);
		const found = await cache.read(key);
		if (found?.answer) return answerFromCache(found.answer, request);
		const response = await next(request);
		if (!found || response.status !== 200 || !response.body) return response;
		const maxBytes = Math.min(limits.cacheEntryBytes, limits.cacheBytes);
		const complete = completeBodyOf(response);
		const recording = complete ? undefined : recorded(response.body, maxBytes, request);
		const headers = storedHeaders(response.headers);
		const store = async (): Promise<void> => {
			const body = complete ? complete.bytes() : await recording?.complete;
			if (
				!body ||
				body.length > maxBytes ||
				!isCompleteAnswer(response.headers.get("content-type") ?? "", body)
			)
				return;
			const { cacheBytes, accountCacheBytes } = limits;
			const bounds = { maxBytes: cacheBytes, accountMaxBytes: accountCacheBytes };
			await cache.write(key, { headers, body }, { ...found, ...policy, ...bounds });
		};
		waitUntil(store().finally(() => recording?.release()));
		return recording ? new Response(recording.body, response) : response;
	};

const storedHeaders = (headers: Headers): Record<string, string> =>
	Object.fromEntries([...headers].filter(([name]) => STORED_HEADERS.has(name)));

function answerFromCache(answer: CachedAnswer, { exchange, settings, step }: GatewayRequest): Response {
	exchange.report({ cached: true, usage: NO_USAGE });
	const kept = keptWith(answer);
	const own = answerHeaders(exchange, step, collectsLog(step.options, settings));
	own["cf-ai-req-id"] = exchange.id;
	const fixed = () => ({
		...answer.headers,
		"cf-aig-cache-status": "HIT",
		// A stream has no such header.
		...(!answer.headers["content-type"]?.startsWith(SSE_CONTENT_TYPE) && { "cf-ai-neurons": "0.00" }),
	});
	const headers = kept.templates.fill(Object.keys(own).join(), fixed, own);
	return completeResponse(answer.body, { headers }, () => {
		kept.text ??= decodeUtf8(answer.body);
		return kept.text;
	});
}

interface Kept {
	templates: HeaderTemplates;
	text?: string;
}

/** What this isolate keeps with the copies of answers. */
const keptByAnswer = new WeakMap<CachedAnswer, Kept>();

function keptWith(answer: CachedAnswer): Kept {
	const kept = keptByAnswer.get(answer) ?? { templates: new HeaderTemplates() };
	keptByAnswer.set(answer, kept);
	return kept;
}
