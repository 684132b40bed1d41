/** Waits for an engine with limits of all kinds. The isolate is busy from before the engine sends until after the limits. */
import { AiError } from "../../../src/core/errors.ts";
import { type StartTimer, startNativeTimer } from "../../../src/core/lazy-timer.ts";
import { withTimeout } from "../../../src/core/with-timeout.ts";
import { retryMiddleware } from "../../../src/gateways/middleware/retries.ts";
import type { GatewayRequest } from "../../../src/gateways/request.ts";
import { Deadline } from "../../../src/outbound/deadline.ts";
import { limitedBody } from "../../../src/outbound/limited-body.ts";
import { shortCall } from "../../../src/outbound/short-call.ts";
import type { DispatchState, StartedAnswer } from "../../../src/pipeline/dispatch/dispatch-state.ts";
import { firstResponse } from "../../../src/pipeline/dispatch/first-response.ts";

interface Environment {
	ENGINE: string;
	LIMIT_MS: string;
}

/** A wait for an answer that has been requested. Rejects if the limit passes. */
type Wait = (limitMs: number) => Promise<unknown>;
/** Requests what the engine sends later. */
type Begin = (engine: string) => Promise<Wait>;

const late = (): AiError => new AiError("timeout");
const newDeadline = (totalMs: number) =>
	new Deadline({
		...{ signal: new AbortController().signal, totalMs, now: () => Date.now() },
		...{ silent: late, late },
	});
const LONG_MS = 60_000;

/** Settles with the answer, or rejects when the timer fires. */
function inTime(answer: Promise<unknown>, limitMs: number, start: StartTimer): Promise<unknown> {
	const { promise, resolve, reject } = Promise.withResolvers();
	const timer = start(limitMs, () => reject(late()));
	answer.then(resolve, reject).finally(() => timer.cancel());
	return promise;
}

const setTimer: StartTimer = (milliseconds, onTime) => {
	const handle = setTimeout(onTime, milliseconds);
	return { cancel: () => clearTimeout(handle) };
};

/** Waits alone: beside others it may be noticed after their answers. */
const NATIVE = "the runtime's own timer";

/** Each has a path of the engine of its own. */
const KINDS: Record<string, Begin> = {
	[NATIVE]: async (engine) => {
		const answer = fetch(`${engine}/complete`);
		return (limitMs) => inTime(answer, limitMs, setTimer);
	},
	"a timer": async (engine) => {
		const answer = fetch(`${engine}/complete`);
		return (limitMs) => inTime(answer, limitMs, startNativeTimer);
	},
	"a header": async (engine) => {
		const answer = fetch(`${engine}/complete`);
		return (limitMs) => {
			const deadline = newDeadline(LONG_MS);
			deadline.expect(limitMs);
			return deadline.race(answer).finally(() => deadline.close());
		};
	},
	"a complete answer": async (engine) => {
		const answer = fetch(`${engine}/complete`).then((response) => response.text());
		return (limitMs) => {
			const deadline = newDeadline(limitMs);
			deadline.expect(LONG_MS);
			return deadline.race(answer).finally(() => deadline.close());
		};
	},
	"the next piece of a stream": async (engine) => {
		const deadline = newDeadline(LONG_MS);
		const { body } = await fetch(`${engine}/stream`, { signal: deadline.signal });
		if (!body) throw new Error("no body");
		return (limitMs) => limitedBody(body, { idleMs: limitMs, deadline }).getReader().read();
	},
	"a piece of a store": async (engine) => {
		const reader = (await fetch(`${engine}/stream`)).body?.getReader();
		return (limitMs) => withTimeout(reader?.read() ?? Promise.reject(new Error("no body")), limitMs, late);
	},
	"a short call": async (engine) => (timeoutMs) =>
		shortCall({ fetch, url: `${engine}/complete`, headers: {}, timeoutMs, maxBytes: 1_000 }),
	"an attempt of a gateway": async (engine) => async (requestTimeout) => {
		const attempt = retryMiddleware({
			wait: (milliseconds) => scheduler.wait(milliseconds),
			startTimer: startNativeTimer,
		});
		const request = {
			...{ step: { options: { requestTimeout } }, settings: {}, signal: new AbortController().signal },
			exchange: { facts: {}, report: () => {} },
		} as unknown as GatewayRequest;
		return attempt(request, ({ signal }) => fetch(`${engine}/complete`, { signal }));
	},
	"the answer of a hedged call": async (engine) => {
		const answer = fetch(`${engine}/complete`);
		return (hedgeMs) => firstResponse(stateOf(answer, hedgeMs));
	},
};

/** A dispatch whose first call has this answer. The choice of a target for a second call fails. */
function stateOf(answer: Promise<Response>, hedgeMs: number): DispatchState {
	const state = {
		...{ context: { signal: new AbortController().signal }, plan: { hedgeMs, retries: { attempts: 1 } } },
		...{ call: { task: "text-generation", input: { messages: [] } } },
		services: { health: { circuit: () => "closed" }, startTimer: startNativeTimer },
		nextTarget: (isSecond: boolean) => {
			if (isSecond) throw late();
			return {};
		},
		attempt: () => answer as Promise<unknown> as Promise<StartedAnswer>,
	};
	return state as unknown as DispatchState;
}

/** The names of the failures at a limit. */
const LATE: readonly unknown[] = ["timeout", "attemptTimeout", "TimeoutError"];

export default {
	async fetch(request: Request, { ENGINE, LIMIT_MS }: Environment): Promise<Response> {
		const { searchParams } = new URL(request.url);
		const limitMs = Number(LIMIT_MS);
		const only = searchParams.get("only");
		const kinds = only === null ? Object.keys(KINDS).filter((kind) => kind !== NATIVE) : [only];
		const waits = await Promise.all(
			kinds.map((kind, index) => {
				const begin = KINDS[kind];
				if (!begin) throw new Error(`no such kind: ${kind}`);
				return begin(`${ENGINE}/${index}`);
			}),
		);
		const startedAt = Date.now();
		const outcomes = waits.map((wait) =>
			wait(limitMs).then(
				() => "answered",
				(error: Error) =>
					LATE.includes(error instanceof AiError ? error.key : error.name) ? "timeout" : String(error),
			),
		);
		// Its answer is the sign that the engine will send.
		const send = `${ENGINE}/send?calls=${kinds.length}&${searchParams}`;
		await fetch(send).then((response) => response.text());
		const busyUntil = startedAt + limitMs + Number(searchParams.get("late"));
		while (Date.now() < busyUntil);
		const ended = await Promise.all(outcomes);
		return Response.json(Object.fromEntries(kinds.map((kind, index) => [kind, ended[index]])));
	},
};
