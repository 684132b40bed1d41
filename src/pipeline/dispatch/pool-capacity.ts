/** Waits until the pool of the first target has capacity. If it has none in time, the next targets are tried without it. */
import { toAiError } from "../../core/errors.ts";
import type { GateServices, PoolPlace } from "../../pools/pool-gate.ts";
import type { TaskCall } from "../../tasks/task.ts";
import type { Exchange } from "../exchange.ts";
import { isPooled, type Plan, type PlanTarget } from "../plan.ts";
import type { RequestOptions } from "../request.ts";
import { poolRequestOf } from "./pool-request.ts";

/** Assumed without a limit of the caller. */
const OUTPUT_TOKENS = 256;
/** An output token costs about twice as much as an input token. */
export const fairCost = (inputTokens: number, outputTokens: number): number => inputTokens + 2 * outputTokens;

interface CapacityContext {
	exchange: Exchange;
	signal: AbortSignal;
	options?: RequestOptions;
}

interface WithCapacity {
	plan: Plan;
	/** Absent if the pool has no limit. It is free again when the exchange ends. */
	place?: PoolPlace;
}

/** Counts a request at the pool of the first target, also if it is refused there. */
export function countArrival({ targets: [first] }: Pick<Plan, "targets">): void {
	if (isPooled(first)) first.pool.arrivals.count++;
}

/** Throws `outOfCapacity` if no target is left. */
export async function waitForCapacity(
	plan: Plan,
	call: TaskCall,
	context: CapacityContext,
	services: GateServices,
): Promise<WithCapacity> {
	const [first, next, ...others]: readonly PlanTarget[] = plan.targets;
	const pooled = first && isPooled(first) ? first : undefined;
	const gate = pooled?.pool.gate;
	if (!pooled || !gate) return { plan };
	const { exchange, options, signal } = context;
	const { account } = exchange;
	const { inputTokens, maxOutputTokens = OUTPUT_TOKENS } = poolRequestOf(call, pooled, {
		account,
		passedThrough: false,
	});
	try {
		const place = await gate.enter(
			{
				account,
				priority: options?.priority ?? "interactive",
				cost: fairCost(inputTokens, maxOutputTokens),
				mayWait: !options?.rejectIfBusy,
				signal,
			},
			services,
		);
		void exchange.ended.then(place.leave);
		signal.addEventListener("abort", place.leave);
		return { plan, place };
	} catch (error) {
		const failure = toAiError(error);
		if (failure.key !== "outOfCapacity" || !next) throw failure;
		const remaining: Plan = { ...plan, targets: [next, ...others] };
		countArrival(remaining);
		return waitForCapacity(remaining, call, context, services);
	}
}
