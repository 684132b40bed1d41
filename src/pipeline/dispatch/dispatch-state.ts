/**
 * State of one dispatch: the targets that are left, the calls so far, their failures, and the remaining time. The two
 * attempts of a hedge, and the failover of a stream, share it, so that no two of them call the same target at once.
 */
import type { CallContext, CallReport } from "../../backends/backend.ts";
import { tasksOf } from "../../backends/index.ts";
import { AccountSeals, type Seals } from "../../backends/seals.ts";
import { AiError, toAiError } from "../../core/errors.ts";
import { pick } from "../../core/present.ts";
import type { CallOutcome } from "../../fleet/watched-call.ts";
import type { Flight } from "../../pools/flight.ts";
import type { PoolPlace } from "../../pools/pool-gate.ts";
import { answersUnsplit, isPairable } from "../../pools/prefill-decode/legs.ts";
import type { Unsupported } from "../../tasks/definition.ts";
import { type Answer, cancelAnswer, type TaskCall, type TaskInput, type TaskName } from "../../tasks/task.ts";
import { definitionOf, splitChoices } from "../../tasks/traits.ts";
import type { Exchange } from "../exchange.ts";
import { isPooled, type Plan, type PlannedTarget } from "../plan.ts";
import { growReply } from "../reply-hold.ts";
import type { RequestOptions, Served } from "../request.ts";
import type { DispatchServices } from "../services.ts";
import { type FailedTarget, summarizeAttempts } from "./attempt-summary.ts";
import { recordFailure } from "./call-outcome.ts";
import { observeAnswer } from "./observed-answer.ts";
import { fairCost } from "./pool-capacity.ts";
import { poolRequestOf } from "./pool-request.ts";
import { PrefillCall } from "./prefill-call.ts";
import { TargetQueue } from "./target-queue.ts";

export interface DispatchContext extends CallContext {
	exchange: Exchange;
	/** The session that the caller named, scoped by the account. */
	session?: string;
	options?: RequestOptions;
	/** The capacity that the request has at a pool with a limit. */
	place?: PoolPlace;
}

/** An answer that has started. Its owner records the outcome of the call, and reads the stream or cancels it. */
export interface StartedAnswer {
	target: PlannedTarget;
	answer: Answer;
	outcome: CallOutcome;
	report: CallReport;
}

type AnyTaskHandler = (input: TaskInput<TaskName>, context: CallContext) => Promise<Answer>;

interface Dispatch {
	plan: Plan;
	call: TaskCall;
	context: DispatchContext;
}

export class DispatchState {
	readonly plan: Plan;
	readonly call: TaskCall;
	readonly context: DispatchContext;
	readonly services: DispatchServices;
	readonly served: Served;
	readonly #targets: TargetQueue;
	/** Targets that were taken, and have neither failed nor answered. The loser of a hedge stays here until it is put back. */
	readonly #pending = new Set<PlannedTarget>();
	/** Index of the first attempt of this dispatch in those of the exchange. */
	readonly #firstAttempt: number;
	readonly #totalMs: number;
	/** Set by the first call: what passes before it is no time of an engine, and may be a step of the clock. */
	#endsAt: number | undefined;
	#leftMs: number;
	#failed: Map<PlannedTarget, FailedTarget> | undefined;
	#failure: AiError | undefined;

	constructor({ plan, call, context }: Dispatch, services: DispatchServices) {
		this.plan = plan;
		this.call = call;
		this.context = context;
		this.services = services;
		this.#firstAttempt = context.exchange.attempts.length;
		this.served = { backend: "", model: "", attempts: this.#firstAttempt, wasted: [] };
		const { session, streamEnd, exchange } = context;
		this.#targets = new TargetQueue(plan.targets, {
			health: services.health,
			now: services.now,
			poolRequest: (target) =>
				poolRequestOf(call, target, {
					account: exchange.account,
					...(session !== undefined && { session }),
					passedThrough: streamEnd !== undefined,
				}),
		});
		// No call may outlive the reservation: its cost could not be settled any more.
		this.#leftMs = Math.min(plan.totalMs ?? Number.POSITIVE_INFINITY, context.exchange.settlementMs);
		this.#totalMs = this.#leftMs;
	}

	/** The failure of the request, if no target answers. */
	get failure(): AiError {
		return this.summarize(this.#failure ?? this.#untried());
	}

	/** The failure of a request for which no target could be chosen. */
	#untried(): AiError {
		const { context, plan } = this;
		const pools = plan.targets.filter(isPooled);
		const { choices } = splitChoices(this.call);
		const split = pools.find(({ pool }) => !answersUnsplit(pool) && !isPairable(pool.settings, choices));
		if (split)
			return new AiError(
				"noSuchModel",
				`No such model ${context.model.id} or task: the replicas of the backend '${split.backend}' only generate text, in pairs`,
			);
		// All replicas are drained.
		return new AiError(pools.length > 0 ? "outOfCapacity" : "executionFailed");
	}

	/** The failure, with the failures of all other targets in its message. Observers have received it already. */
	summarize(failure: AiError): AiError {
		return this.context.exchange.markReported(summarizeAttempts(failure, this.#failed ?? new Map()));
	}

	/** Milliseconds. Never grows, so that a clock that is set back cannot extend the request. */
	get leftMs(): number {
		if (this.#endsAt !== undefined) this.#leftMs = Math.min(this.#leftMs, this.#endsAt - this.services.now());
		return this.#leftMs;
	}

	/** Whether another target is left, or will be when the loser of a hedge has stopped. */
	get hasTargets(): boolean {
		return this.#targets.hasTargets || this.#pending.size > 0;
	}

	/** The calls of a target in this dispatch. */
	callsOf(target: PlannedTarget): number {
		const { attempts } = this.context.exchange;
		return attempts.slice(this.#firstAttempt).filter((attempt) => attempt.target === target).length;
	}

	/**
	 * Takes the next target. Targets with an open circuit come last. `optional`: the request can do without it, so no target
	 * with an open circuit is taken.
	 */
	nextTarget(optional = false): PlannedTarget | undefined {
		const next = this.#targets.next(optional);
		if (next) this.#pending.add(next);
		return next;
	}

	/** The call of the target was cancelled: the target may be called again. */
	putBack(target: PlannedTarget): void {
		this.#pending.delete(target);
		this.#targets.putBack(target);
	}

	/**
	 * Makes one call; with a prefill replica, both calls. Throws the failure, after health and observers have received it. If
	 * only the prefill replica has failed, the target answers without it.
	 */
	async attempt(target: PlannedTarget, call: TaskCall, signal: AbortSignal): Promise<StartedAnswer> {
		signal.throwIfAborted();
		const { context, leftMs, services } = this;
		this.#endsAt ??= services.now() + leftMs;
		const { findAdapter } = services;
		if (leftMs <= 0)
			throw this.summarize(
				new AiError("modelTimeout", `No engine answered within ${this.#totalMs} ms`, {
					retryable: false,
				}),
			);
		const { timeouts } = target;
		const limited =
			timeouts.totalMs <= leftMs ? target : { ...target, timeouts: { ...timeouts, totalMs: leftMs } };
		// The table's type pairs each task with its input; the compiler cannot infer that here.
		const handler = tasksOf(limited, services)[call.task] as AnyTaskHandler | undefined;
		if (!handler) throw this.#unsupported(target, { failure: "noSuchModel", reason: `has no ${call.task}` });
		const problem = definitionOf(call).unsupportedBy?.(call.input, target.kind);
		if (problem) throw this.#unsupported(target, problem);
		const outcome = services.health.start(target);
		const { account, ended } = context.exchange;
		const attempt = context.exchange.attempt(target);
		const { flight, prefill: started } = this.#targets.start(target) ?? {};
		const prefill = started && new PrefillCall(started, services.health.start(started.target), services.now);
		// Whatever happens to the answer, the replicas are free when the request has ended.
		if (flight)
			void ended.then(() => {
				flight.end(services.now());
				prefill?.cancel();
			});
		this.served.attempts = attempt.number;
		try {
			const report: CallReport = { dropped: [] };
			const holdReply = (bytes: number): void => growReply(attempt, context.exchange, bytes);
			const answer = await handler(call.input, {
				...{ signal, report, holdReply, seals: () => this.#sealsOf(target, report) },
				...(findAdapter && { adapters: { find: (name) => findAdapter(account, name), ended } }),
				...pick(context, "model", "streamEnd", "coalesceMs"),
				...(prefill && { prefill }),
			});
			outcome.begin();
			return { target, answer: flight ? this.#observe(answer, call, flight) : answer, outcome, report };
		} catch (error) {
			flight?.end(services.now());
			const failure = toAiError(error);
			const isOfPrefill = prefill?.failure === failure;
			recordFailure(outcome, signal.aborted || isOfPrefill ? undefined : failure);
			if (isOfPrefill) attempt.prefill = prefill.target;
			prefill?.cancel();
			if (!signal.aborted) context.exchange.attemptFailed(attempt, failure);
			const mayContinue = isOfPrefill && failure.retryable && !signal.aborted;
			if (mayContinue && this.#targets.replacePrefill(target)) return this.attempt(target, call, signal);
			throw failure;
		}
	}

	async #sealsOf(target: PlannedTarget, { dropped }: CallReport): Promise<Seals> {
		const key = await this.services.sealKey?.();
		return new AccountSeals({ key, account: this.context.exchange.account, target, dropped });
	}

	#observe(answer: Answer, call: TaskCall, flight: Flight): Answer {
		const { place } = this.context;
		const counted: Flight = place
			? {
					...flight,
					end: (at, usage) => {
						flight.end(at, usage);
						if (usage) place.correct(fairCost(usage.inputTokens, usage.outputTokens));
					},
				}
			: flight;
		return observeAnswer(answer, call, counted, this.services.now);
	}

	/** Another target may support the call. */
	#unsupported({ backend, kind }: PlannedTarget, { failure, field, reason }: Unsupported): AiError {
		const subject =
			failure === "invalidInput"
				? `Invalid input: ${field}`
				: `No such model ${this.context.model.id} or task`;
		const description = `${subject}: backend '${backend}' (${kind}) ${reason}`;
		return new AiError(failure, description, { retryable: true });
	}

	/** Keeps the failure for the caller, unless an earlier one is more useful than "this engine lacks the model". */
	recordFailure(target: PlannedTarget, failure: AiError): void {
		this.#pending.delete(target);
		this.#failed ??= new Map();
		this.#failed.set(target, { failure, calls: this.callsOf(target) });
		if (!this.#failure || failure.key !== "noSuchModel") this.#failure = failure;
	}

	/** A stream of this target was interrupted, after it had started to answer. */
	recordInterruption(target: PlannedTarget, failure: AiError): void {
		const attempt = this.context.exchange.attempts.findLast((one) => one.target === target);
		if (attempt) this.context.exchange.attemptFailed(attempt, failure);
		this.recordFailure(target, failure);
	}

	answeredBy(target: PlannedTarget): void {
		this.#pending.delete(target);
		this.served.backend = target.backend;
		this.served.kind = target.kind;
		this.served.model = target.model;
		this.served.weights = target.weights;
	}

	/** Cancels an answer that is not needed. Its cost is that of the hedge. */
	discard({ answer, target: { backend, model }, outcome }: StartedAnswer): void {
		outcome.cancel();
		cancelAnswer(answer);
		if (answer.kind === "stream") {
			this.served.wasted.push({ why: "hedge", backend, model, progress: answer.progress });
		} else if (answer.kind === "value") {
			const usage = definitionOf(this.call).discardedUsage?.(answer.output);
			if (usage)
				this.served.wasted.push({ why: "hedge", backend, model, progress: { usage, outputTokens: 0 } });
		}
	}
}
