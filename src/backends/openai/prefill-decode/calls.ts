/**
 * Makes both calls of a request whose prompt one replica processes, and whose output another generates. The answer is that of the
 * decode replica. If the prefill replica fails before the answer has started, its failure is thrown, and the decode replica's call
 * is cancelled. A handle is used at once and for one call only, so it never expires here: it lapses at its engine if the caller
 * disconnects between the calls.
 */
import * as z from "zod";
import { toAiError } from "../../../core/errors.ts";
import { parseExactly } from "../../../core/exact-json.ts";
import { lazy } from "../../../core/lazy.ts";
import { SentUsage, type Usage } from "../../../core/usage.ts";
import { resultWithin } from "../../../core/with-timeout.ts";
import { EventStream } from "../../../streams/sse.ts";
import type { PrefillLeg, Target } from "../../backend.ts";
import { postStream, type StreamReply } from "../../transport/http.ts";
import type { Call } from "../../transport/upstream-failure.ts";
import { type LegBodies, type LegBody, PROTOCOLS } from "./protocols.ts";
import { combinedUsage, type PrefillUsage, type StreamedReply, withPrefillUsage } from "./usage.ts";

export interface Generation {
	path: string;
	body: LegBody;
	/** Number of answers. */
	choices: number;
}

/** Makes the call whose answer goes to the caller. */
type Post<Reply> = (call: Call, body: LegBody, headers?: Record<string, string>) => Promise<Reply>;
type WithUsage = { usage?: Usage | null | undefined };

/** Requests a complete reply, from one replica or from two. */
export function generateValue<Value extends WithUsage>(
	call: Call,
	generation: Generation,
	post: Post<Value>,
): Promise<Value> {
	const { prefill: leg } = call;
	if (!leg) return post(call, generation.body);
	return callBoth(call, leg, generation, post).then(({ reply, prefill }) => combinedValue(reply, prefill));
}

/** Requests a stream, from one replica or from two. */
export function generateStream<Value extends WithUsage>(
	call: Call,
	generation: Generation,
	post: Post<StreamReply<Value>>,
): Promise<StreamReply<Value> | StreamedReply> {
	const { prefill: leg } = call;
	if (!leg) return post(call, generation.body);
	return callBoth(call, leg, generation, post).then(combinedStream);
}

async function combinedStream<Value extends WithUsage>({
	reply,
	prefill,
}: BothReplies<StreamReply<Value>>): Promise<StreamReply<Value> | StreamedReply> {
	if (reply.kind === "value") return { kind: "value", value: await combinedValue(reply.value, prefill) };
	return prefill ? withPrefillUsage(reply, prefill) : reply;
}

async function combinedValue<Value extends WithUsage>(value: Value, prefill?: PrefillUsage): Promise<Value> {
	if (!prefill || !value.usage) return value;
	return { ...value, usage: combinedUsage(value.usage, await prefill.arrived()) };
}

interface BothReplies<Reply> {
	reply: Reply;
	/** Absent: the decode replica has processed the prompt, because there was no handle. */
	prefill?: PrefillUsage;
}

/** One request with its two bodies. */
interface Pair<Reply> extends LegBodies {
	call: Call;
	leg: PrefillLeg;
	generation: Generation;
	headers: Record<string, string>;
	post: Post<Reply>;
}

function callBoth<Reply>(
	call: Call,
	leg: PrefillLeg,
	generation: Generation,
	post: Post<Reply>,
): Promise<BothReplies<Reply>> {
	const { body, choices } = generation;
	const bodies = PROTOCOLS[leg.disaggregation.protocol](body, { leg, choices });
	const headers = { "x-request-id": call.services.uuid() };
	const pair = { ...bodies, call, leg, generation, headers, post };
	return typeof bodies.decode === "function"
		? callInTurn(pair, bodies.decode)
		: callTogether(pair, bodies.decode);
}

async function callInTurn<Reply>(
	pair: Pair<Reply>,
	decodeBody: (reply: LegBody) => LegBody | undefined,
): Promise<BothReplies<Reply>> {
	const { call, generation, headers, post } = pair;
	const { target } = call;
	const startedAt = call.services.now();
	const { reply: prefilled, usage } = await postPrefill(pair, call.signal);
	const body = decodeBody(prefilled);
	if (!body) pair.leg.countMissingHandle();
	const elapsedMs = Math.max(0, call.services.now() - startedAt);
	const timeouts = { ...target.timeouts, totalMs: Math.max(1, target.timeouts.totalMs - elapsedMs) };
	const reply = await post({ ...call, target: { ...target, timeouts } }, body ?? generation.body, headers);
	return body ? { reply, prefill: { latest: usage, arrived: async () => usage } } : { reply };
}

/** A decode replica is silent at most this much longer than its prefill replica, and ends its answer at most so much earlier. */
const GRACE_MS = 1_000;

/** Milliseconds in which a replica must have processed a prompt: the time to the first token of a stream. */
const promptMs = ({ timeouts: { headerMs, firstTokenMs, idleMs } }: Target): number =>
	headerMs + (firstTokenMs ?? idleMs);

async function callTogether<Reply>(pair: Pair<Reply>, body: LegBody): Promise<BothReplies<Reply>> {
	const { call, headers, post } = pair;
	const stop = new AbortController();
	const signal = AbortSignal.any([call.signal, stop.signal]);
	const prefill: { latest: Usage | undefined; isOver: boolean } = { latest: undefined, isOver: false };
	// Both calls start at once: each engine waits for the other.
	const prefilled = postPrefill(pair, signal).then(({ usage }) => {
		prefill.latest = usage;
	});
	const { target } = call;
	// While the prompt is processed, the decode replica is silent too, which is no failure of it.
	const headerMs = promptMs(target) + GRACE_MS;
	const extended = { ...target, timeouts: { ...target.timeouts, headerMs } };
	const decoded = post({ ...call, target: extended, signal }, body, headers);
	const ended = prefilled
		.catch(() => {})
		.then(() => {
			prefill.isOver = true;
		});
	// The reply of the prefill replica is read to its end, also if the answer ends before it.
	call.services.waitUntil(ended);
	try {
		const reply = await Promise.race([decoded, prefilled.then(() => decoded)]);
		return {
			reply,
			prefill: {
				get latest() {
					return prefill.latest;
				},
				async arrived() {
					if (!prefill.isOver) await resultWithin(ended, GRACE_MS);
					return prefill.latest;
				},
			},
		};
	} catch (error) {
		stop.abort();
		decoded.catch(() => {});
		throw error;
	}
}

const PrefillReply = lazy(() =>
	z.looseObject({ choices: z.array(z.unknown()).min(1), usage: SentUsage.nullish() }),
);

/** Makes the call of the prefill replica, reads its reply to the end, and reports its outcome. */
async function postPrefill(
	{ call, leg, generation: { path, choices }, prefill: body, headers }: Pair<unknown>,
	signal: AbortSignal,
): Promise<{ reply: LegBody; usage: Usage | undefined }> {
	const { timeouts } = leg.target;
	const target = {
		...leg.target,
		timeouts: {
			...timeouts,
			// The reply starts when the prompt has been processed.
			headerMs: promptMs(leg.target),
			totalMs: Math.min(timeouts.totalMs, call.target.timeouts.totalMs),
		},
	};
	try {
		const options = { schema: PrefillReply(), choices, headers, parse: parseExactly };
		const sent = await postStream({ ...call, target, signal }, path, body, options);
		if (sent.kind === "stream") await drain(sent.events);
		const reply = sent.kind === "value" ? sent.value : {};
		const usage = sent.kind === "value" ? sent.value.usage : sent.progress.usage;
		leg.succeed(usage ?? undefined);
		return { reply, usage: usage ?? undefined };
	} catch (error) {
		const failure = toAiError(error);
		if (signal.aborted) leg.cancel();
		else leg.fail(failure);
		throw failure;
	}
}

async function drain(stream: ReadableStream<Uint8Array>): Promise<void> {
	const events = EventStream.eventsOf(stream);
	while (await events.pull()) {
		// Only the usage is needed, which the stream's progress has.
	}
}
