/** `BACKENDS.x.pool`: the replicas of a backend, and how one is chosen. */
import * as z from "zod";
import { EngineUrl } from "../backends/engine-url.ts";
import { present } from "../core/present.ts";
import { POLICIES } from "../pools/choice.ts";
import type { PoolSettings } from "../pools/pools.ts";
import { checkRoles, DisaggregationSetting, disaggregationSettings, ReplicaRole } from "./disaggregation.ts";
import type { Path, Problems } from "./problems.ts";

/** An address, or an object with the address and a role. */
const ReplicaSetting = z.preprocess(
	(replica) => (typeof replica === "string" ? { url: replica } : replica),
	z.strictObject({ url: EngineUrl, ...ReplicaRole }),
);

export const PoolSetting = z
	.strictObject({
		replicas: z.array(ReplicaSetting).min(1).optional(),
		policy: z.enum(POLICIES).optional(),
		shared_prompts: z.boolean().optional(),
		max_requests: z.int().min(1).optional(),
		queue: z
			.strictObject({ max: z.int().min(0).optional(), wait_ms: z.number().min(0).optional() })
			.optional(),
		disaggregation: DisaggregationSetting.optional(),
	})
	.superRefine(checkRoles)
	.refine(({ queue, max_requests }) => !queue || max_requests !== undefined, {
		path: ["queue"],
		error: "expected max_requests beside it, found none",
	});

const MAX_WAITING = 1_000;
const MAX_WAIT_MS = 30_000;

export const poolSettings = ({
	policy,
	shared_prompts,
	max_requests,
	queue: { max = MAX_WAITING, wait_ms = MAX_WAIT_MS } = {},
	...roles
}: z.output<typeof PoolSetting>): PoolSettings =>
	present({
		policy,
		sharedPrompts: shared_prompts,
		gate:
			max_requests === undefined
				? undefined
				: { maxRequests: max_requests, maxWaiting: max, maxWaitMs: wait_ms },
		disaggregation: disaggregationSettings(roles),
	});

/** Two pools that send to one replica would each count only their own requests. */
export function refuseSharedReplicas(
	backends: Iterable<{ backend: string; urls: readonly string[]; pool?: PoolSettings }>,
	problems: Problems,
): void {
	const owners = new Map<string, string>();
	for (const { backend, urls, pool } of backends) {
		if (!pool) continue;
		for (const [i, url] of urls.entries()) {
			const path: Path = ["BACKENDS", backend, "pool", "replicas", i];
			const owner = owners.get(url);
			if (owner === backend) problems.add(path, "expected different replicas, found one twice");
			else if (owner !== undefined)
				problems.add(path, `expected a replica of one pool, found one that the pool of "${owner}" has`);
			owners.set(url, backend);
		}
	}
}
