/** `BACKENDS.x.pool.disaggregation` and the roles of the replicas. */
import * as z from "zod";
import { quote } from "../core/did-you-mean.ts";
import { lazy } from "../core/lazy.ts";
import { present } from "../core/present.ts";
import {
	DISAGGREGATIONS,
	type Disaggregation,
	type DisaggregationName,
} from "../pools/prefill-decode/settings.ts";
import { ROLES, type Role } from "../pools/replica.ts";
import { roleProblem, rolesOf } from "../pools/replica-roles.ts";
import { list } from "../schemas/explain.ts";
import { wholeCount } from "./amounts.ts";
import { withShortForm } from "./short-form.ts";

const NAMES = Object.keys(DISAGGREGATIONS) as [DisaggregationName, ...DisaggregationName[]];
/** One block of the prefix index. Shorter prompts are processed faster than they are transferred. */
const DEFAULT_MIN_PREFILL_TOKENS = 512;

export const DisaggregationSetting = lazy(() =>
	withShortForm(
		{ field: "protocol", name: "the name of a protocol" },
		{
			protocol: z.enum(NAMES),
			min_prefill_tokens: wholeCount.optional(),
			rewrite_remote_host: z.boolean().optional(),
		},
	),
);

/** Fields of a replica besides its address. */
export const ReplicaRole = lazy(() => ({
	role: z.enum(ROLES).optional(),
	bootstrap_port: z.int().min(1).max(65_535).optional(),
}));

interface SetReplica {
	url: string;
	role?: Role | undefined;
	bootstrap_port?: number | undefined;
}
interface SetPool {
	replicas?: SetReplica[] | undefined;
	disaggregation?: z.output<ReturnType<typeof DisaggregationSetting>> | undefined;
	/** A list, which may have replicas of other roles. */
	discover?: object | undefined;
}

/** For a refinement of the setting of a pool. */
export function checkRoles(
	{ replicas = [], disaggregation, discover }: SetPool,
	context: z.RefinementCtx,
): void {
	const add = (path: PropertyKey[], message: string) => context.addIssue({ code: "custom", path, message });
	const roles = new Set(replicas.map(({ role = "both" }) => role));
	const [prefill, decode] = [roles.has("prefill"), roles.has("decode")];
	if (prefill !== decode && !discover) {
		const [found, missing] = prefill ? ["prefill", "decode"] : ["decode", "prefill"];
		add(
			["replicas"],
			`expected a replica of the role "${missing}" beside one of the role "${found}", found none`,
		);
	}
	if (!disaggregation) {
		if (prefill || decode)
			add(
				["disaggregation"],
				`expected ${list(NAMES.map(quote), "or")} beside replicas with roles, found none`,
			);
	} else if (!prefill && !decode && !discover)
		add(
			["replicas"],
			'expected replicas of the roles "prefill" and "decode" beside disaggregation, found none',
		);
	if (disaggregation?.rewrite_remote_host !== undefined && disaggregation.protocol !== "nixl")
		add(
			["disaggregation", "rewrite_remote_host"],
			`expected no such field beside the protocol "${disaggregation.protocol}", only beside "nixl"`,
		);
	for (const [i, { role, bootstrap_port }] of replicas.entries()) {
		const problem = roleProblem(present({ role, bootstrapPort: bootstrap_port }), disaggregation?.protocol);
		// A role without `disaggregation` was reported above.
		if (problem?.field === "bootstrap_port") add(["replicas", i, problem.field], problem.message);
	}
}

export function disaggregationSettings({
	replicas = [],
	disaggregation,
}: SetPool): Disaggregation | undefined {
	if (!disaggregation) return undefined;
	const { protocol, min_prefill_tokens, rewrite_remote_host = false } = disaggregation;
	const named = replicas.map(({ url, role, bootstrap_port }) => ({
		url,
		...present({ role, bootstrapPort: bootstrap_port }),
	}));
	return {
		protocol,
		...rolesOf(named),
		minPrefillTokens: min_prefill_tokens ?? DEFAULT_MIN_PREFILL_TOKENS,
		rewriteRemoteHost: rewrite_remote_host,
	};
}
