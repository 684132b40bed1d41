/** `BACKENDS.x.pool`: the replicas of a backend, and how one is chosen. */
import * as z from "zod";
import { EngineUrl } from "../backends/engine-url.ts";
import { lazy } from "../core/lazy.ts";
import { present } from "../core/present.ts";
import { POLICIES } from "../pools/choice.ts";
import type { PoolSettings } from "../pools/pool-settings.ts";
import { positiveAmount, positiveCount, timerMs, wholeCount } from "./amounts.ts";
import { checkRoles, DisaggregationSetting, disaggregationSettings, ReplicaRole } from "./disaggregation.ts";
import type { Path, Problems } from "./problems.ts";
import { withShortForm } from "./short-form.ts";

const ADDRESS = { field: "url", name: "an address" } as const;

const ReplicaSetting = lazy(() => withShortForm(ADDRESS, { url: EngineUrl, ...ReplicaRole() }));

const MIN_POLL_MS = 500;
const MIN_REFRESH_MS = 1_000;
const REFRESH_MS = 30_000;

const HttpUrl = lazy(() =>
	z.url({
		protocol: /^https?$/,
		error: "expected an http or https address, found another value",
	}),
);

/** A service that lists replicas. */
const DiscoverSetting = lazy(() =>
	withShortForm(ADDRESS, {
		url: HttpUrl(),
		path: z
			.string()
			.regex(/^(\/[^/?#]+)*$/, 'expected "" or a path like "/v1", found another text')
			.optional(),
		refresh_ms: timerMs(MIN_REFRESH_MS).optional(),
	}),
);

const WAKE_COOLDOWN_MS = 60_000;
const MAX_WAKE_WAIT_MS = 600_000;

/** A service that starts replicas. */
const WakeSetting = lazy(() =>
	withShortForm(ADDRESS, {
		url: HttpUrl(),
		cooldown_ms: timerMs(1_000).optional(),
		wait_ms: z.number().min(0).max(MAX_WAKE_WAIT_MS).optional(),
	}),
);

/** Engines keep a priority in 32 bits. */
const Priority = z.int32();

export const PoolSetting = lazy(() =>
	z
		.strictObject({
			replicas: z.array(ReplicaSetting()).min(1).optional(),
			policy: z.enum(POLICIES).optional(),
			shared_prompts: z.boolean().optional(),
			max_requests: positiveCount.optional(),
			queue: z
				.strictObject({
					max: wholeCount.optional(),
					wait_ms: timerMs(0).optional(),
					weights: z.record(z.string(), positiveAmount).optional(),
				})
				.optional(),
			cache_salt: z.boolean().optional(),
			priority: z.strictObject({ interactive: Priority.optional(), batch: Priority.optional() }).optional(),
			wake: WakeSetting().optional(),
			poll_ms: timerMs(MIN_POLL_MS).optional(),
			discover: DiscoverSetting().optional(),
			disaggregation: DisaggregationSetting().optional(),
			preload: z.boolean().optional(),
		})
		.superRefine(checkRoles)
		.refine(({ queue, max_requests }) => !queue || max_requests !== undefined, {
			path: ["queue"],
			error: "expected max_requests beside it, found none",
		})
		.refine(({ disaggregation, preload }) => !preload || !disaggregation, {
			path: ["preload"],
			error: "expected no disaggregation beside it, found both",
		})
		.refine(({ cache_salt, shared_prompts }) => !cache_salt || !shared_prompts, {
			path: ["cache_salt"],
			error: "expected no shared_prompts beside it, found both",
		}),
);

const MAX_WAITING = 1_000;
const MAX_WAIT_MS = 30_000;

export const poolSettings = ({
	policy,
	shared_prompts,
	max_requests,
	queue: { max = MAX_WAITING, wait_ms = MAX_WAIT_MS, weights } = {},
	cache_salt,
	priority,
	poll_ms,
	discover,
	wake,
	preload,
	...roles
}: z.output<ReturnType<typeof PoolSetting>>): PoolSettings =>
	present({
		policy,
		pollMs: poll_ms,
		wake: wake && {
			url: wake.url,
			cooldownMs: wake.cooldown_ms ?? WAKE_COOLDOWN_MS,
			waitMs: wake.wait_ms ?? 0,
		},
		discover: discover && {
			url: discover.url,
			path: discover.path ?? "/v1",
			refreshMs: discover.refresh_ms ?? REFRESH_MS,
		},
		preload,
		sharedPrompts: shared_prompts,
		gate:
			max_requests === undefined
				? undefined
				: { maxRequests: max_requests, maxWaiting: max, maxWaitMs: wait_ms, ...present({ weights }) },
		cacheSalt: cache_salt,
		priority: priority && present(priority),
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
			if (url === "") continue;
			const path: Path = ["BACKENDS", backend, "pool", "replicas", i];
			const owner = owners.get(url);
			if (owner === backend) problems.add(path, "expected different replicas, found one twice");
			else if (owner !== undefined)
				problems.add(path, `expected a replica of one pool, found one that the pool of "${owner}" has`);
			owners.set(url, backend);
		}
	}
}
