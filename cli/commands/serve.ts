/** `ganglion serve`: runs the gateway without Cloudflare. */
import { readVariables } from "../../scripts/config-file.ts";
import { fromEnvironment, warnings } from "../../scripts/settings.ts";
import { describeRouting } from "../../src/config/index.ts";
import { type ConfigFlags, type Defaults, locateConfig } from "../config-location.ts";
import { type EngineFlags, settingsOfFlags } from "../engine-settings.ts";
import { startLocalModels } from "../local-models.ts";
import { Log, type LogFormat, type LogLevel } from "../log.ts";
import { type GatewayOptions, runGateway } from "../run-gateway.ts";
import type { SettingsInUse } from "../settings-in-use.ts";
import { withSettings } from "../with-settings.ts";
import type { GatewayVariables } from "../workers.ts";

export interface GatewayFlags extends ConfigFlags, EngineFlags {
	host: string;
	port: number;
	/** An absolute path. */
	state: string;
	logFormat: LogFormat;
	logLevel: LogLevel;
	/** Models run on this machine. */
	engine?: "local";
	/** Missing weights are downloaded at their first use. */
	pull?: boolean;
}

/** The properties that all commands with a gateway have in common. */
export function gatewayOptions(
	flags: GatewayFlags,
	defaults: Defaults,
): Pick<GatewayOptions, "host" | "port" | "state" | "configFile" | "log"> & {
	readVariables(): GatewayVariables;
} {
	const location = locateConfig(flags, defaults);
	const { host, port, state, logFormat, logLevel } = flags;
	return {
		host,
		port,
		state,
		configFile: location.watched,
		log: new Log({ format: logFormat, level: logLevel }),
		readVariables() {
			return withSettings(fromEnvironment(readVariables(location)), (settings) =>
				settingsOfFlags(settings, flags),
			);
		},
	};
}

export interface ServeFlags extends GatewayFlags {
	/** Number of processes that serve requests. */
	workers: number;
	/** Large requests have a worker of their own while one is behind. */
	separateLarge?: boolean;
}

export async function serveCommand(flags: ServeFlags, defaults: Defaults): Promise<number> {
	const options = gatewayOptions(flags, defaults);
	const models = await startLocalModels(flags, options);
	const code = await runGateway({
		...options,
		readVariables: () => models.addTo(options.readVariables()),
		workers: flags.workers,
		separateLarge: flags.separateLarge ?? false,
		whenChanged: models.whenChanged,
		started: ({ url, fileLimit, ...current }) => `
Ganglion is ready on ${url}
  Console: ${url}/console

${serving(current)}${models.lines()}
  Accounts and bills are in ${flags.state}
${stored(current)}${fileLimit}${access(current)}`,
		reloaded: serving,
	});
	await models.stop();
	return code;
}

/** An R2 bucket is a binding, which only Cloudflare has. */
function stored({ config: { storage } }: Pick<SettingsInUse, "config">): string {
	const { s3 } = storage;
	const place = s3
		? `are in the bucket ${s3.bucket} at ${s3.endpoint} (STORAGE.s3)`
		: "are in the same folder (SQLite)";
	return `  Stored objects ${place}\n`;
}

function serving({ config, variables }: SettingsInUse): string {
	const lines = describeRouting(config).map((line) => `    ${line}\n`);
	const servesNothing = config.routing.routes.length === 0 && variables.DEFAULT_BACKEND === undefined;
	const hint = servesNothing ? "    Set BACKENDS and ROUTES (docs/configuration.md)\n" : "";
	return `  What serves the models\n${lines.join("")}${hint}${warnings(config, variables, process.env)}`;
}

function access({ config }: SettingsInUse): string {
	if (config.allowAnonymous) return "  Open to everyone who can reach this address (ALLOW_ANONYMOUS).\n";
	if (config.adminToken !== undefined) return "";
	return `
  No ADMIN_TOKEN is set. Existing tokens work, but you cannot create new ones.
  To create tokens, stop the gateway, set this, and start it again (docs/accounts.md):
    export ADMIN_TOKEN="$(openssl rand -base64 32)"
`;
}
