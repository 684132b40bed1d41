/** The settings that a running gateway uses. They are read at its start and at each reload. */
import { hash } from "node:crypto";
import { configureNaming } from "../scripts/settings.ts";
import type { Config } from "../src/config/index.ts";

export interface SettingsInUse {
	config: Config;
	/** The configuration was parsed from them. */
	variables: Record<string, unknown>;
	/** SHA-256 of the operator's token, in hexadecimal digits. The guard of connections compares it with the tokens of each request. */
	operatorHash: string | undefined;
}

/** Throws a `ConfigError`. */
export function settingsOf(
	variables: Record<string, unknown>,
	environment: Readonly<Record<string, unknown>>,
): SettingsInUse {
	const config = configureNaming(variables, environment);
	const { adminToken } = config;
	return {
		config,
		variables,
		operatorHash: adminToken === undefined ? undefined : hash("sha256", adminToken),
	};
}
