/**
 * The permission groups of Cloudflare that this gateway uses, and the permissions that a token's policies grant.
 *
 * They have the product's ids and names, so that tools that create tokens there work here. The ids of the product's groups of AI Search are
 * not known, so these have ids of ours; clients may name them. The product has no group that only runs models or only reads the catalogue;
 * those are ours.
 */
import type { Permission } from "./admission.ts";

export interface PermissionGroup {
	id: string;
	name: string;
	category: "ai_and_machine_learning" | "account_and_billing";
	grants: readonly Permission[];
}

export const PERMISSION_GROUPS: readonly PermissionGroup[] = [
	{
		id: "a92d2450e05d4e7bb7d0a64968f83d11",
		name: "Workers AI Read",
		category: "ai_and_machine_learning",
		// As in the product: the read permission is enough to run a model.
		grants: ["read", "run"],
	},
	{
		id: "bacc64e0f6c34fc0883a1223f938a104",
		name: "Workers AI Write",
		category: "ai_and_machine_learning",
		grants: ["read", "run", "write", "gateways-write"],
	},
	{
		id: "eb56a6953c034b9d97dd838155666f06",
		name: "Account API Tokens Read",
		category: "account_and_billing",
		grants: ["tokens-read"],
	},
	{
		id: "5bc3f8b21c554832afc660159ab75fa4",
		name: "Account API Tokens Write",
		category: "account_and_billing",
		grants: ["tokens-read", "tokens-write"],
	},
	{
		id: "d3ab162cd977454484c09407d166146a",
		name: "Workers AI Run",
		category: "ai_and_machine_learning",
		grants: ["run"],
	},
	{
		id: "1799edaae5db489294430e20d9b519e0",
		name: "Vectorize Read",
		category: "ai_and_machine_learning",
		grants: ["vectorize-read"],
	},
	{
		id: "64156ba5be47441096c83c7fc17c488b",
		name: "Vectorize Write",
		category: "ai_and_machine_learning",
		grants: ["vectorize-read", "vectorize-write"],
	},
	{
		id: "3c9b5d1e7f2a4c68b0e4a8d6f1c37b92",
		name: "AI Search Read",
		category: "ai_and_machine_learning",
		// Wider than in the product, where a search needs "AI Search Run".
		grants: ["search-read", "search-run", "run"],
	},
	{
		id: "a17e4f0c8d364b5e92c1d7b3f5a60e84",
		name: "AI Search Write",
		category: "ai_and_machine_learning",
		grants: ["search-read", "search-write", "search-run", "run"],
	},
	{
		id: "5d81f3a6c9024e7bb6a2f07c1e94d35a",
		name: "AI Search Run",
		category: "ai_and_machine_learning",
		// A search runs the models of its instance, and a chat any model that it names.
		grants: ["search-run", "run"],
	},
	{
		id: "b2ac9e7c9e4a4df98eeba1c4c94eb381",
		name: "Workers AI Metadata Read",
		category: "ai_and_machine_learning",
		grants: ["read"],
	},
];

const GROUPS: ReadonlyMap<string, PermissionGroup> = new Map(
	PERMISSION_GROUPS.map((group) => [group.id, group]),
);

/** The ids that an earlier version gave the groups of Vectorize. Stored tokens have them. */
const FORMER_IDS: ReadonlyMap<string, string> = new Map([
	["6f6d2c0f9b4b4d1a8f0f3c1d7a5e9b21", "1799edaae5db489294430e20d9b519e0"],
	["0d3f1b7a2c8e4f5b9a6d4e2f8c1b7d53", "64156ba5be47441096c83c7fc17c488b"],
]);

export const groupById = (id: string): PermissionGroup | undefined => GROUPS.get(FORMER_IDS.get(id) ?? id);

/** One of a token's policies, in the format of Cloudflare's API. Each applies to the token's own account. */
export interface TokenPolicy {
	id: string;
	effect: "allow" | "deny";
	permission_groups: { id: string; name: string }[];
	resources: Record<string, string>;
}

/** The permissions that some policy allows and none denies. */
export function permissionsOf(policies: readonly TokenPolicy[]): ReadonlySet<Permission> {
	const named = (effect: TokenPolicy["effect"]): Set<Permission> =>
		new Set(
			policies
				.filter((policy) => policy.effect === effect)
				.flatMap((policy) => policy.permission_groups)
				.flatMap(({ id }) => groupById(id)?.grants ?? []),
		);
	const denied = named("deny");
	return new Set([...named("allow")].filter((permission) => !denied.has(permission)));
}

/** Names of the groups that grant a permission, for error messages. */
export const groupsGranting = (permission: Permission): string[] =>
	PERMISSION_GROUPS.filter(({ grants }) => grants.includes(permission)).map(({ name }) => name);
