/** The roles of the replicas of a pool: from the configuration, from a list of replicas, and from the operator's changes. */
import type { Role } from "./replica.ts";

/** Fields of a replica besides its address. */
export interface ReplicaRole {
	role?: Role;
	/** SGLang: the port at which a prefill replica meets decode replicas. */
	bootstrapPort?: number;
}

export interface NamedReplica extends ReplicaRole {
	url: string;
}

export interface ReplicaRoles {
	/** By address. A replica that is not listed has the role `both`. */
	readonly roles: Readonly<Record<string, Role>>;
	/** By address. Absent: the default port. */
	readonly bootstrapPorts: Readonly<Record<string, number>>;
}

export function rolesOf(replicas: readonly NamedReplica[]): ReplicaRoles {
	const roles: Record<string, Role> = {};
	const bootstrapPorts: Record<string, number> = {};
	for (const { bootstrapPort, role, url } of replicas) {
		if (role !== undefined) roles[url] = role;
		if (bootstrapPort !== undefined) bootstrapPorts[url] = bootstrapPort;
	}
	return { roles, bootstrapPorts };
}

/** Later sources replace earlier ones, for each replica and each field. */
export const mergeRoles = (sources: readonly ReplicaRoles[]): ReplicaRoles => ({
	roles: Object.assign({}, ...sources.map(({ roles }) => roles)),
	bootstrapPorts: Object.assign({}, ...sources.map(({ bootstrapPorts }) => bootstrapPorts)),
});

/** What is wrong with the role of a replica. Returns nothing if it is right. `protocol`: absent in a pool without two stages. */
export function roleProblem(
	{ bootstrapPort, role = "both" }: ReplicaRole,
	protocol: string | undefined,
): { field: "role" | "bootstrap_port"; message: string } | undefined {
	if (role !== "both" && protocol === undefined)
		return {
			field: "role",
			message: `expected "both" in a pool without disaggregation, found "${role}"`,
		};
	if (bootstrapPort !== undefined && (role !== "prefill" || protocol !== "sglang"))
		return {
			field: "bootstrap_port",
			message:
				'expected no such field, except at a replica of the role "prefill" beside the protocol "sglang"',
		};
	return undefined;
}
