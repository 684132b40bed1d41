/** Describes a plan for `explain.ts`: the engines in the order in which they are tried, and the reason for each. */
import type { Timeouts } from "../backends/backend.ts";
import { loadBackends, tasksOf } from "../backends/index.ts";
import { hostOf } from "../fleet/health.ts";
import type { BackendPool } from "../pools/pools.ts";
import type { Legs } from "../pools/prefill-decode/legs.ts";
import { REASONS } from "../pools/prefill-decode/pair-counts.ts";
import type { TaskCall } from "../tasks/task.ts";
import { EMPTY_REQUEST, poolRequestOf } from "./dispatch/pool-request.ts";
import { TargetQueue } from "./dispatch/target-queue.ts";
import { isPooled, type Plan, type PlannedTarget, type ResolvedRoute } from "./plan.ts";
import type { InferenceRequest } from "./request.ts";
import type { PipelineServices } from "./services.ts";

export interface ExplainedPlan {
	/** Engines in the order in which they are tried. */
	targets: ExplainedTarget[];
	retries: { attempts: number; base_ms: number; max_ms: number };
	hedge_ms?: number;
	total_ms?: number;
}

export interface ExplainedTarget {
	backend: string;
	kind: string;
	replica?: ExplainedReplica;
	/** The replica that processes the prompt, if it is another one. */
	prefill?: ExplainedReplica;
	/** The engine's name of the model. */
	model: string;
	/** The weights behind it, if the route names them. */
	weights?: string;
	/** State of its circuit breaker. */
	circuit: string;
	why: string;
	timeouts: { header_ms: number; first_token_ms: number; idle_ms: number; total_ms: number };
}

/** Number of the address in the backend's configuration. Only the operator sees the host. */
interface ExplainedReplica {
	number: number;
	of: number;
	host?: string;
}

interface OrderedTarget {
	target: PlannedTarget;
	/** Absent for a backend without a pool. */
	legs?: Legs;
}

/** Replicas of a large pool are shown up to this number. */
const MAX_TARGETS = 16;

/** The targets of a plan in the order in which they are tried if all fail. */
function inOrder(
	{ targets, passthrough }: Plan,
	call: TaskCall | undefined,
	{ services, request }: { services: PipelineServices; request: InferenceRequest },
): OrderedTarget[] {
	const { health, now } = services;
	const { caller, session } = request;
	const from = {
		account: caller.account,
		...(session !== undefined && { session }),
		passedThrough: passthrough ?? false,
	};
	const queue = new TargetQueue(targets, {
		health,
		now,
		poolRequest: (target) => (call ? poolRequestOf(call, target, from) : EMPTY_REQUEST),
	});
	const taken: OrderedTarget[] = [];
	for (let target = queue.next(); target && taken.length < MAX_TARGETS; target = queue.next()) {
		const legs = queue.legsOf(target);
		taken.push({ target, ...(legs && { legs }) });
	}
	return taken;
}

export async function describePlan(
	plan: Plan,
	routed: ResolvedRoute | undefined,
	call: TaskCall | undefined,
	{ services, request }: { services: PipelineServices; request: InferenceRequest },
): Promise<ExplainedPlan> {
	const { targets: weighted = [], named } = routed ?? {};
	const targets = inOrder(plan, call, { services, request });
	const isOperator = request.caller.credential.kind === "operator";
	const total = weighted.reduce((sum, { weight = 0 }) => sum + weight, 0);
	await loadBackends(plan.targets);
	const whyOf = ({ target, legs }: OrderedTarget): string => {
		const { backend, model, kind, circuit } = target;
		const tasks = tasksOf(target, services);
		if (call && !(call.task in tasks)) return `passed over: a ${kind} backend has no ${call.task}`;
		if (circuit === "open") return "called last: its circuit is open after several failures";
		const { weight } = weighted.find((one) => one.backend === backend && one.model === model) ?? {};
		const withoutWeight = total > 0 ? "stands in, in the order of the route" : "in the order of the route";
		const share = weight === undefined ? withoutWeight : `weight ${weight} of ${total}`;
		const urls = replicasOf(target);
		const replicas = urls.length > 1 ? `, one of ${urls.length} replicas` : "";
		const reason = legs?.reason ? `; ${REASONS[legs.reason]}` : "";
		return (
			(named ? share : "the default backend: no route names the model") + replicas + reason + queueOf(target)
		);
	};
	const poolOf = ({ backend, model }: PlannedTarget): BackendPool | undefined => {
		const found = plan.targets.find((one) => one.backend === backend && one.model === model);
		return found && isPooled(found) ? found.pool : undefined;
	};
	/** Only for the operator, because requests of all accounts wait in one queue. */
	const queueOf = (target: PlannedTarget): string => {
		const waiting = (isOperator && poolOf(target)?.gate?.report(services.now()).waiting) || 0;
		return waiting > 0 ? `; requests in its queue: ${waiting}` : "";
	};
	const replicasOf = (target: PlannedTarget): readonly string[] => poolOf(target)?.urls ?? [];
	const replicaOf = (target: PlannedTarget, url: string): ExplainedReplica | undefined => {
		const urls = replicasOf(target);
		if (urls.length < 2) return undefined;
		const host = isOperator ? { host: hostOf(url) } : {};
		return { number: urls.indexOf(url) + 1, of: urls.length, ...host };
	};
	const { retries, hedgeMs, totalMs } = plan;
	return {
		targets: targets.map((ordered) => {
			const { target, legs } = ordered;
			const { backend, kind, model, weights, circuit, timeouts } = target;
			const replica = replicaOf(target, target.url);
			const prefill = legs?.prefill && replicaOf(target, legs.prefill.replica.url);
			return {
				backend,
				kind,
				...(replica && { replica }),
				...(prefill && { prefill }),
				model,
				...(weights !== undefined && { weights }),
				circuit,
				why: whyOf(ordered),
				timeouts: describeTimeouts(timeouts),
			};
		}),
		retries: { attempts: retries.attempts, base_ms: retries.baseMs, max_ms: retries.maxMs },
		...(hedgeMs !== undefined && { hedge_ms: hedgeMs }),
		...(totalMs !== undefined && { total_ms: totalMs }),
	};
}

const describeTimeouts = ({
	headerMs,
	firstTokenMs,
	idleMs,
	totalMs,
}: Timeouts): ExplainedTarget["timeouts"] => ({
	header_ms: headerMs,
	first_token_ms: firstTokenMs ?? idleMs,
	idle_ms: idleMs,
	total_ms: totalMs,
});
