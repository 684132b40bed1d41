/**
 * Until an answer has begun: target after target, each as often as the route's retries allow, and where the route hedges
 * a second lane beside the first. Whoever begins first wins; all else is stopped at once.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import type { Begun, Journey } from "./dispatch-state.ts";
import { pauseMs, verdictOf } from "./retry-policy.ts";

/** Throws `AiError`: the refusal that everybody would repeat, or what was the matter when nobody is left to ask. */
export async function begin(journey: Journey): Promise<Begun> {
	const { signal } = journey.context;
	if (signal.aborted) throw new AiError("aborted");
	const { hedgeMs } = journey.plan;
	// A session is no answer that could be thrown away.
	if (hedgeMs !== undefined && journey.call.task !== "live-transcription") return race(journey, hedgeMs);
	const begun = await walk(journey, signal);
	if (begun) return begun;
	throw journey.failure;
}

/** `undefined`: nobody was left who might answer. `spare`: asks only engines that are well. */
async function walk(journey: Journey, signal: AbortSignal, spare = false): Promise<Begun | undefined> {
	const { plan, services } = journey;
	for (let target = journey.take(spare); target; target = journey.take(spare)) {
		// One whose circuit is open is asked for want of another, and not insistently.
		const attempts = services.health.standing(target) === "open" ? 1 : plan.retries.attempts;
		for (let calls = 1; ; calls++) {
			try {
				return await journey.ask(target, journey.call, signal);
			} catch (error) {
				if (signal.aborted) {
					journey.putBack(target);
					throw new AiError("aborted", undefined, { cause: error });
				}
				const failure = toAiError(error);
				const verdict = verdictOf(failure);
				if (verdict === "stop") throw failure;
				journey.note(target, failure);
				if (verdict === "next" || calls >= attempts) break;
				const pause = pauseMs(plan.retries, calls, failure.retryAfter, services.random);
				if (pause === undefined || pause >= journey.leftMs) break;
				await services.wait(pause, signal).catch((cause: unknown) => {
					journey.putBack(target);
					throw new AiError("aborted", undefined, { cause });
				});
				// Its circuit may have opened meanwhile; not because it named a time, which has come.
				const rests = services.health.standing(target) === "open";
				if (rests && failure.retryAfter === undefined) break;
			}
		}
	}
	return undefined;
}

function race(journey: Journey, hedgeMs: number): Promise<Begun> {
	const { signal } = journey.context;
	const lanes = new Set<AbortController>();
	const timer = new AbortController();
	let over = false;
	return new Promise((resolve, reject) => {
		const finish = (settle: () => void) => {
			if (over) return;
			over = true;
			timer.abort();
			for (const lane of lanes) lane.abort();
			settle();
		};
		const start = (spare: boolean) => {
			const lane = new AbortController();
			lanes.add(lane);
			walk(journey, AbortSignal.any([signal, lane.signal]), spare).then(
				(begun) => {
					lanes.delete(lane);
					if (begun && over) journey.discard(begun);
					else if (begun) finish(() => resolve(begun));
					else if (lanes.size === 0) finish(() => reject(journey.failure));
				},
				(error: unknown) => {
					lanes.delete(lane);
					finish(() => reject(error));
				},
			);
		};
		start(false);
		journey.services.wait(hedgeMs, timer.signal).then(
			() => {
				if (!over) start(true);
			},
			() => {},
		);
	});
}
