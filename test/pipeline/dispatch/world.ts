/** Engines that a test scripts, call by call, under a clock that moves only when a test waits. */
import { onTestFinished } from "vitest";
import type { Admission } from "../../../src/accounts/admission.ts";
import { AiError } from "../../../src/core/errors.ts";
import { type StartTimer, startNativeTimer } from "../../../src/core/lazy-timer.ts";
import { IsolateHealth } from "../../../src/fleet/health.ts";
import { adHocModel } from "../../../src/models/catalog.ts";
import type { DispatchContext } from "../../../src/pipeline/dispatch/dispatch-state.ts";
import { dispatch } from "../../../src/pipeline/dispatch.ts";
import type { Plan, PlannedTarget } from "../../../src/pipeline/plan.ts";
import type { TaskCall } from "../../../src/tasks/task.ts";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { observedExchange } from "../exchanges.ts";

export interface AskedOf {
	engine: string;
	at: number;
	body: Record<string, unknown>;
	signal: AbortSignal;
}

export type Reply = (asked: AskedOf) => Response | Promise<Response>;

export const target = (backend: string, more: Partial<PlannedTarget> = {}): PlannedTarget => ({
	backend,
	kind: "openai",
	url: `http://${backend}/v1`,
	model: `${backend}-model`,
	headers: {},
	timeouts: { headerMs: 10_000, idleMs: 10_000, totalMs: 60_000 },
	circuit: "closed",
	...more,
});

export const CHAT: TaskCall = {
	task: "text-generation",
	input: { messages: [{ role: "user", content: "Hi" }], stream: false },
};
export const streamed = (more: Partial<ChatInput> = {}): TaskCall => ({
	task: "text-generation",
	input: { messages: [{ role: "user", content: "Hi" }], stream: true, seed: 7, ...more },
});

export interface WorldOptions {
	plan?: Partial<Plan>;
	/** What each engine answers to its first call, its second, …; the last one stays. */
	replies: Record<string, Reply | Reply[]>;
	targets?: Partial<Record<string, Partial<PlannedTarget>>>;
	random?: number;
	admission?: Partial<Admission>;
}

export function world({ plan = {}, replies, targets = {}, random = 0, admission = {} }: WorldOptions) {
	const START = 1_000_000;
	const clock = { now: START };
	const asked: AskedOf[] = [];
	const logged: [string, number][] = [];
	const waits: { ms: number; signal: AbortSignal | undefined; ring(): void }[] = [];
	const caller = new AbortController();
	const calls = new Map<string, number>();
	let ids = 0;
	let manual = false;

	const services = {
		fetch: async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
			const engine = new URL(String(input)).hostname;
			const call = calls.get(engine) ?? 0;
			calls.set(engine, call + 1);
			const { signal } = init;
			if (!signal) throw new Error("a fetch without a signal cannot be stopped");
			const one = { engine, at: clock.now - START, body: JSON.parse(String(init.body)), signal };
			asked.push(one);
			const script = replies[engine] ?? (() => new Response("no", { status: 500 }));
			const reply = Array.isArray(script) ? script[Math.min(call, script.length - 1)] : script;
			if (!reply) throw new Error(`${engine} has no reply`);
			return reply(one);
		},
		now: () => clock.now,
		uuid: () => `id-${++ids}`,
		random: () => random,
		waitUntil: () => {},
		health: new IsolateHealth({ now: () => clock.now, waitUntil: () => {} }),
		/** The clock jumps, unless the test rings itself. */
		wait: (ms: number, signal?: AbortSignal) =>
			new Promise<void>((resolve, reject) => {
				signal?.throwIfAborted();
				const ring = () => {
					clock.now += ms;
					resolve();
				};
				waits.push({ ms, signal, ring });
				signal?.addEventListener("abort", () => reject(signal.reason));
				if (!manual) ring();
			}),
	};
	const [first = target("none"), ...others] = Object.keys(replies).map((name) => target(name, targets[name]));
	const fullPlan: Plan = {
		targets: [first, ...others],
		retries: { attempts: 1, baseMs: 100, maxMs: 5_000 },
		...plan,
	};
	/** The timer of a hedge is one of the waits. The limits of calls have real time. */
	const startTimer: StartTimer = (ms, onTime, left) => {
		if (ms !== plan.hedgeMs) return startNativeTimer(ms, onTime, left);
		const timer = new AbortController();
		services.wait(ms, timer.signal).then(onTime, () => {});
		return { cancel: () => timer.abort() };
	};
	const runIn = (context: Partial<DispatchContext>, call: TaskCall) => {
		const { exchange } = observedExchange({ now: () => clock.now, admission, logged });
		// What its replies hold counts for all tests of the Worker.
		onTestFinished(() => {
			if (exchange.state !== "ended") exchange.fail(new AiError("aborted"));
		});
		const { signal } = caller;
		return dispatch(
			fullPlan,
			call,
			{ exchange, model: adHocModel("m"), signal, ...context },
			{ ...services, startTimer },
		);
	};
	const run = (call: TaskCall = CHAT) => runIn({}, call);
	return {
		services,
		clock,
		asked,
		/** Failures that the observers have received. */
		logged,
		waits,
		caller,
		/** Waits last until the test rings them. */
		holdWaits() {
			manual = true;
		},
		engines: () => asked.map(({ engine }) => engine),
		run,
		/** With other fields of the context. */
		runIn,
		failure: (call: TaskCall = CHAT): Promise<AiError> =>
			run(call).then(
				() => Promise.reject(new Error("it was answered")),
				(error) => error,
			),
	};
}

export const status =
	(code: number, headers: Record<string, string> = {}): Reply =>
	() =>
		new Response("{}", { status: code, headers });

/** Until its signal fires, as a real one. */
export const silent: Reply = ({ signal }) =>
	new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
