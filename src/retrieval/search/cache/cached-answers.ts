/**
 * Cached answers of an instance. A hit runs no model, so it costs nothing and is not billed. Answers are shared by the callers of the account:
 * who may search the instance may see them.
 */
import { parseJson } from "../../../core/json.ts";
import { callsOfPart } from "../../../core/object-parts.ts";
import { checksumOf } from "../checksum.ts";
import type { OpenInstance } from "../client/search-instances.ts";
import type { CachedQuestion } from "../durable/answer-table.ts";
import type { ChatMessage } from "../read-search.ts";
import type { InstanceConfig } from "../records.ts";
import { CACHE_THRESHOLDS, type CacheThreshold } from "./shingles.ts";

/** A longer answer is not kept. */
const MAX_CHARACTERS = 256 * 1_024;

export interface CacheOptions {
	enabled?: boolean | undefined;
	cache_threshold?: CacheThreshold | undefined;
}

/** What is kept of an answer. `text`: JSON, or events. */
export interface KeptAnswer {
	text: string;
	isLexical: boolean;
}

export interface AnswerLookup {
	found: KeptAnswer | undefined;
	/** Keeps the answer of a miss. It never rejects. */
	keep(answer: KeptAnswer): Promise<void>;
}

interface AnswerCalls {
	version(): Promise<number>;
	find(
		key: CachedQuestion,
		options: { least: number; now: number },
	): Promise<{ body?: string; version: number }>;
	put(
		key: CachedQuestion,
		answer: { body: string; version: number; now: number; expiresAt: number },
	): Promise<void>;
}

const answersOf = <Value>(
	{ call }: OpenInstance,
	method: (calls: AnswerCalls) => Promise<Value>,
): Promise<Value> => call((object) => method(callsOfPart(() => object.answers() as unknown as AnswerCalls)));

/** What the answers of an instance depend on, and for another instance than the one with the cache also the changes of its items. */
const stateOf = ({ record: { config, indexVersion } }: OpenInstance): unknown[] => [indexVersion, config];
const otherState = async (instance: OpenInstance): Promise<unknown[]> => [
	...stateOf(instance),
	await answersOf(instance, (calls) => calls.version()),
];

interface Question {
	question: string;
	/** All that the answer depends on, but the question and the instances. */
	request: object;
	threshold?: CacheThreshold | undefined;
	/** Instances whose chunks are in the answer, too. */
	others?: readonly OpenInstance[];
}

/** The instance has the cache. One that cannot be read is a miss. Rejects if another instance cannot be read. */
export async function lookUp(
	{ others = [], question, request, threshold }: Question,
	instance: OpenInstance,
	now: () => number,
): Promise<AnswerLookup> {
	const { config } = instance.record;
	const least = CACHE_THRESHOLDS[threshold ?? config.cache_threshold];
	const depends = [...stateOf(instance), request, ...(await Promise.all(others.map(otherState)))];
	const key = { question, scope: await checksumOf(new TextEncoder().encode(JSON.stringify(depends))) };
	const answers = <Value>(method: (calls: AnswerCalls) => Promise<Value>): Promise<Value> =>
		answersOf(instance, method);
	const read = await answers((calls) => calls.find(key, { least, now: now() })).catch(() => undefined);
	const found = read?.body === undefined ? undefined : (parseJson(read.body) as KeptAnswer);
	return {
		found,
		async keep(answer) {
			const { version } = read ?? {};
			if (version === undefined || answer.text.length > MAX_CHARACTERS) return;
			const expiresAt = now() + config.cache_ttl * 1_000;
			const kept = { body: JSON.stringify(answer), version, now: now(), expiresAt };
			await answers((calls) => calls.put(key, kept)).catch(() => {});
		},
	};
}

/** The messages without the text of the question, which may be similar instead of equal. */
export function withoutQuestion(messages: readonly ChatMessage[]): unknown[] {
	const last = messages.findLastIndex(({ role }) => role === "user");
	return messages.map((message, index) => {
		if (index !== last) return message;
		const { content } = message;
		return {
			...message,
			content: Array.isArray(content) ? content.filter(({ text }) => text === undefined) : "",
		};
	});
}

/** Whether chats are cached: by the request, else by the instance. */
export const cachesChat = (
	options: CacheOptions | undefined,
	{ cache }: Pick<InstanceConfig, "cache">,
): boolean => options?.enabled ?? cache;
