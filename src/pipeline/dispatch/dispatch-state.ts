/**
 * One request on its way through its plan: who has been asked, what came of it, what time is left. The lanes of a hedge
 * and whoever goes on after a cut share one journey, so no two of them ask the same target at once.
 */
import type { BackendTasks, CallContext, Target, World } from "../../backends/backend.ts";
import { type Backends, backendsOf } from "../../backends/index.ts";
import { AiError, type FailedCall, toAiError } from "../../core/errors.ts";
import { hostOf, type Trial } from "../../fleet/health.ts";
import type { Answer, TaskCall, TaskInput, TaskName } from "../../tasks/task.ts";
import { asksForAudio, type ChatCompletion } from "../../tasks/text-generation/types.ts";
import type { Plan, PlannedTarget } from "../plan.ts";
import type { Served } from "../request.ts";
import type { Services } from "../services.ts";
import { inTurn, type Turn } from "./attempt-summary.ts";
import { isHealthy } from "./retry-policy.ts";

export type DispatchServices = World & Pick<Services, "health" | "log" | "random" | "wait">;
export interface DispatchContext extends CallContext {
	requestId: string;
	/** For the log. */
	account?: string;
	/** Filled here, for whoever must know of the calls although they fail. */
	served?: Served;
}

/** An answer that has begun. Whoever holds it ends its trial, and reads or cancels its stream. */
export interface Begun {
	target: PlannedTarget;
	answer: Answer;
	trial: Trial;
}

type Handler = (input: TaskInput<TaskName>, context: CallContext) => Promise<Answer>;

interface Asked {
	plan: Plan;
	call: TaskCall;
	context: DispatchContext;
	backends: Backends;
}

export class Journey {
	readonly plan: Plan;
	readonly call: TaskCall;
	readonly context: DispatchContext;
	readonly services: DispatchServices;
	readonly served: Served;
	readonly #backends: Backends;
	readonly #waiting: PlannedTarget[];
	/** Taken, and neither failed nor the one that answers: a hedge that lost, until it is put back. */
	readonly #underWay = new Set<PlannedTarget>();
	readonly #calls = new Map<PlannedTarget, number>();
	readonly #endsAt: number;
	readonly #turns = new Map<PlannedTarget, Turn>();
	#failure: AiError | undefined;
	#unlogged: AiError | undefined;

	/** All that may be asked is loaded: between the choice of an engine and its trial nobody else may choose. */
	static async through(
		plan: Plan,
		call: TaskCall,
		context: DispatchContext,
		services: DispatchServices,
	): Promise<Journey> {
		return new Journey({ plan, call, context, backends: await backendsOf(plan.targets) }, services);
	}

	private constructor({ plan, call, context, backends }: Asked, services: DispatchServices) {
		this.#backends = backends;
		this.plan = plan;
		this.call = call;
		this.context = context;
		this.services = services;
		this.served = context.served ?? { backend: "", model: "", attempts: 0, wasted: [] };
		this.#waiting = [...plan.targets];
		this.#endsAt = services.now() + (plan.totalMs ?? Number.POSITIVE_INFINITY);
	}

	/** For the caller, where nobody answers. */
	get failure(): AiError {
		return this.inTurn(this.#failure ?? new AiError("executionFailed"));
	}

	/** A failure that ends the request, with those of all who were asked. */
	inTurn(failure: AiError): AiError {
		return inTurn(failure, this.#turns);
	}

	get leftMs(): number {
		return this.#endsAt - this.services.now();
	}

	/** Whether another target is left, or will be when a hedge that lost has stopped. */
	get goesOn(): boolean {
		return this.#waiting.length > 0 || this.#underWay.size > 0;
	}

	callsOf(target: PlannedTarget): number {
		return this.#calls.get(target) ?? 0;
	}

	/**
	 * The next target to ask: one whose circuit is open only after all others. `spare`: nobody needs to be asked, so
	 * none with an open circuit.
	 */
	take(spare = false): PlannedTarget | undefined {
		const { health } = this.services;
		const ready = this.#waiting.find((target) => health.standing(target) !== "open");
		const taken = ready ?? (spare ? undefined : this.#waiting[0]);
		if (!taken) return undefined;
		this.#waiting.splice(this.#waiting.indexOf(taken), 1);
		this.#underWay.add(taken);
		return taken;
	}

	/** It was asked, but not to the end: it may be asked again. */
	putBack(target: PlannedTarget): void {
		this.#underWay.delete(target);
		this.#waiting.unshift(target);
	}

	/** One call. Throws its failure, of which the target's health has learned. */
	async ask(target: PlannedTarget, call: TaskCall, signal: AbortSignal): Promise<Begun> {
		signal.throwIfAborted();
		const { context, leftMs, services } = this;
		if (leftMs <= 0)
			throw this.inTurn(
				new AiError("modelTimeout", `No engine answered within ${this.plan.totalMs} ms`, {
					retryable: false,
				}),
			);
		const { timeouts } = target;
		const within =
			timeouts.totalMs <= leftMs ? target : { ...target, timeouts: { ...timeouts, totalMs: leftMs } };
		const handler = handlerOf(this.#backends.get(target.kind)?.(within, services), call);
		const lack = handler ? notUnderstood(target, call) : `has no ${call.task}`;
		if (!handler || lack !== undefined)
			throw new AiError(
				"noSuchModel",
				`No such model ${context.model.id} or task: backend '${target.backend}' (${target.kind}) ${lack}`,
				{ retryable: true },
			);
		if (givesTextOnly(target, call))
			throw new AiError(
				"invalidInput",
				`Invalid input: modalities: backend '${target.backend}' (${target.kind}) gives no audio`,
				{ retryable: true },
			);
		const trial = services.health.ask(target);
		this.served.attempts++;
		this.#calls.set(target, this.callsOf(target) + 1);
		try {
			const { model, formatStreamError } = context;
			const answer = await handler(call.input, {
				model,
				signal,
				...(formatStreamError && { formatStreamError }),
			});
			trial.begin();
			return { target, answer, trial };
		} catch (error) {
			const failure = toAiError(error);
			failure.place = this.#place(target);
			conclude(trial, signal.aborted ? undefined : failure);
			throw failure;
		}
	}

	#place({ backend, url }: PlannedTarget): FailedCall {
		const { account, model } = this.context;
		return {
			...(account !== undefined && { account }),
			model: model.id,
			backend,
			replica: hostOf(url),
			attempt: this.served.attempts,
		};
	}

	/** Keeps the failure for the caller, unless it says less than an earlier one: that one engine lacks the model. */
	note(target: PlannedTarget, failure: AiError): void {
		this.tell();
		this.#underWay.delete(target);
		this.#turns.set(target, { failure, calls: this.callsOf(target) });
		// That a target cannot do the task is a matter of configuration; it was not asked.
		this.#unlogged = failure.upstream ? failure : undefined;
		if (!this.#failure || failure.key !== "noSuchModel") this.#failure = failure;
	}

	/** The log has every failure that no surface tells of: all but the one that a request ends with. */
	tell(): void {
		if (this.#unlogged) this.services.log(this.#unlogged, this.context.requestId);
		this.#unlogged = undefined;
	}

	/** This one answers. */
	settleOn(target: PlannedTarget): void {
		this.tell();
		this.#underWay.delete(target);
		this.served.backend = target.backend;
		this.served.model = target.model;
	}

	/** Nobody reads this answer. */
	discard({ answer, target: { backend, model }, trial }: Begun): void {
		trial.leave();
		if (answer.kind === "stream") {
			this.served.wasted.push({ why: "hedge", backend, model, progress: answer.progress });
			answer.events.cancel().catch(() => {});
		} else if (this.call.task === "text-generation") {
			const { usage } = answer.output as ChatCompletion;
			if (usage)
				this.served.wasted.push({ why: "hedge", backend, model, progress: { usage, outputTokens: 0 } });
		}
	}
}

/** `undefined`: the caller has left. */
export function conclude(trial: Trial, failure: AiError | undefined): void {
	const healthy = failure && isHealthy(failure);
	if (healthy === undefined) trial.leave();
	else if (healthy) trial.succeed();
	else trial.fail(failure?.retryAfter === undefined ? undefined : failure.retryAfter * 1000);
}

/** Of a stream that is over. */
export const concludeStream = (trial: Trial, failure: AiError | undefined): void =>
	failure ? conclude(trial, failure.key === "aborted" ? undefined : failure) : trial.succeed();

/** What was said in the dialect of one upstream's own may be more than another kind can be told. */
function notUnderstood({ kind }: Target, call: TaskCall): string | undefined {
	const { unread, dialect } = (call.task === "text-generation" && call.input.verbatim) || {};
	return unread === undefined || kind === dialect ? undefined : `does not know all of it (${unread})`;
}

/** Sound in a chat's answer is OpenAI's own field: only engines of that kind get it, and decide. */
const givesTextOnly = ({ kind }: Target, call: TaskCall): boolean =>
	kind !== "openai" && call.task === "text-generation" && asksForAudio(call.input);

/** The compiler cannot see that a task's handler takes that task's input: the table's type says it. */
const handlerOf = (tasks: BackendTasks | undefined, { task }: TaskCall): Handler | undefined =>
	tasks?.[task] as Handler | undefined;
