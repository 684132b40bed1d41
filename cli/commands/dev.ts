/**
 * `ganglion dev`: runs the gateway for development, without authentication on this machine. The simulator serves all models without a
 * route. If no engine is configured, engines that run on this machine come first.
 */
import { DEV_VARS, devBanner, linesOfEngines, localEngines } from "../../scripts/dev-settings.ts";
import { type LocalEngines, type LocalSettings, usesLocalEngines } from "../../scripts/engines/local.ts";
import { orStop, warnings } from "../../scripts/settings.ts";
import { describeRouting } from "../../src/config/index.ts";
import type { Defaults } from "../config-location.ts";
import { startLocalModels } from "../local-models.ts";
import { runGateway } from "../run-gateway.ts";
import type { SettingsInUse } from "../settings-in-use.ts";
import { withSettings } from "../with-settings.ts";
import type { GatewayVariables } from "../workers.ts";
import { type GatewayFlags, gatewayOptions } from "./serve.ts";

export interface DevFlags extends GatewayFlags {
	localEngines?: boolean;
	/** Ports to search. */
	enginePorts?: number[];
}

export async function devCommand(flags: DevFlags, defaults: Defaults): Promise<number> {
	const options = gatewayOptions(flags, defaults);
	const models = await startLocalModels(flags, options);
	const settings = await devSettings(models.isUsed ? { ...flags, localEngines: false } : flags, () =>
		models.addTo(options.readVariables()),
	);
	const code = await runGateway({
		...options,
		workers: 1,
		separateLarge: false,
		readVariables: settings.readVariables,
		whenChanged: models.whenChanged,
		started: ({ url, ...current }) =>
			devBanner({ url, lines: settings.linesFor(current), notes: models.lines() + notesFor(current) }),
		reloaded: (current) =>
			`  What serves the models\n${settings
				.linesFor(current)
				.map((line) => `    ${line}\n`)
				.join("")}${models.lines()}${notesFor(current)}`,
	});
	await models.stop();
	return code;
}

export interface DevSettings {
	readVariables(): GatewayVariables;
	/** What serves the models. */
	linesFor(current: SettingsInUse): string[];
}

/** Adds the settings of development to those that `read` returns. Searches once for engines on this machine. */
export async function devSettings(
	{ enginePorts, localEngines: requested }: Pick<DevFlags, "enginePorts" | "localEngines">,
	read: () => GatewayVariables,
): Promise<DevSettings> {
	const search: LocalEngines = enginePorts ?? requested;
	const { vars, secrets } = orStop(read);
	const engines = await localEngines(search, { ...vars, ...secrets });
	/** As of the latest read. */
	let used: LocalSettings | undefined;
	return {
		readVariables: () =>
			withSettings(read(), (settings) => {
				used = usesLocalEngines(search, settings, process.env) ? engines : undefined;
				const { ALLOW_ANONYMOUS, DEFAULT_BACKEND } = DEV_VARS;
				return {
					ALLOW_ANONYMOUS,
					...(settings.DEFAULT_BACKEND === undefined && { DEFAULT_BACKEND }),
					...(used && { BACKENDS: used.BACKENDS, ROUTES: used.ROUTES }),
				};
			}),
		linesFor: ({ config }) => (used ? linesOfEngines(used) : describeRouting(config)),
	};
}

const notesFor = ({ config, variables }: SettingsInUse): string => warnings(config, variables, process.env);
