/** Which profiles of a gateway's rules a text matches, and what follows. */
import { own } from "../../core/own.ts";
import { type CustomProfiles, findsCustom } from "../profiles/custom-profiles.ts";
import { contains, PROFILES } from "../profiles/profiles.ts";
import type { GatewaySettings } from "../settings.ts";

export type DlpCheck = "REQUEST" | "RESPONSE";
export type DlpAction = "FLAG" | "BLOCK";

export interface DlpPolicy {
	/** Absent for the short form of the setting. */
	id?: string;
	action: DlpAction;
	check: readonly DlpCheck[];
	profiles: readonly string[];
	customProfiles: CustomProfiles;
}

/** Its value is a {@link DlpReport} in JSON. */
export const DLP_HEADER = "cf-aig-dlp";

/** The value of {@link DLP_HEADER}. */
export interface DlpReport {
	findings: DlpFinding[];
	action: DlpAction;
}

interface DlpFinding {
	profile: { context: Record<string, never>; entry_ids: string[]; profile_id: string };
	policy_ids: string[];
	check: DlpCheck;
}

/** The policies that are enabled. The short form of the setting checks requests only. */
export function policiesOf({ dlp }: Pick<GatewaySettings, "dlp">): DlpPolicy[] {
	if (!dlp?.enabled) return [];
	const { action, profiles = [], policies, custom_profiles: customProfiles = {} } = dlp;
	if (policies)
		return policies.filter(({ enabled }) => enabled).map((policy) => ({ ...policy, customProfiles }));
	return action ? [{ action, check: ["REQUEST"], profiles, customProfiles }] : [];
}

/** `undefined`: no profile matches. The settings have no profile that does not exist. */
export function findingsOf(
	texts: readonly string[],
	check: DlpCheck,
	policies: readonly DlpPolicy[],
): DlpReport | undefined {
	const applying = policies.filter((policy) => policy.check.includes(check));
	const names = new Set(applying.flatMap(({ profiles }) => profiles));
	const customProfiles = applying[0]?.customProfiles ?? {};
	const matched = [...names].filter((name) => {
		const profile = own(PROFILES, name);
		if (profile) return texts.some((text) => contains(text, profile));
		const custom = own(customProfiles, name);
		return custom && texts.some((text) => findsCustom(text, custom));
	});
	if (matched.length === 0) return undefined;
	const blocks = applying.some(
		({ action, profiles }) => action === "BLOCK" && profiles.some((name) => matched.includes(name)),
	);
	return {
		findings: matched.map((name) => ({
			profile: { context: {}, entry_ids: [], profile_id: name },
			policy_ids: applying.flatMap(({ id, profiles }) =>
				id !== undefined && profiles.includes(name) ? [id] : [],
			),
			check,
		})),
		action: blocks ? "BLOCK" : "FLAG",
	};
}

/** The findings of a request and its answer. */
export const merged = (first: DlpReport | undefined, second: DlpReport): DlpReport => ({
	findings: [...(first?.findings ?? []), ...second.findings],
	action: first?.action === "BLOCK" ? "BLOCK" : second.action,
});
