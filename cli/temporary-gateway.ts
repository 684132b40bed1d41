/** A gateway with the settings of development, for the duration of one command. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readVariables } from "../scripts/config-file.ts";
import { freePort } from "../scripts/free-port.ts";
import { fromEnvironment, orStop, runtimeSettings } from "../scripts/settings.ts";
import { serve } from "../scripts/workerd.ts";
import { configure } from "../src/config/index.ts";
import { type DevFlags, devSettings } from "./commands/dev.ts";
import { withSettings } from "./commands/serve.ts";
import { type ConfigFlags, type Defaults, locateConfig } from "./config-location.ts";
import { type EngineFlags, settingsOfFlags } from "./flags.ts";
import { Log } from "./log.ts";
import { workerModules } from "./worker-modules.ts";

export type TemporaryFlags = ConfigFlags & EngineFlags & Pick<DevFlags, "localEngines" | "enginePorts">;

export interface TemporaryGateway {
	url: string;
	/** What serves the models. */
	lines: string[];
	stop(): Promise<void>;
}

/** Its accounts are deleted when it stops. */
export async function startTemporary(flags: TemporaryFlags, defaults: Defaults): Promise<TemporaryGateway> {
	const location = locateConfig(flags, defaults);
	const settings = await devSettings(flags, () =>
		withSettings(fromEnvironment(readVariables(location)), (variables) => settingsOfFlags(variables, flags)),
	);
	const { vars, secrets } = orStop(settings.readVariables);
	const variables = { ...vars, ...secrets };
	const config = orStop(() => configure(variables));
	const folder = mkdtempSync(join(tmpdir(), "ganglion-"));
	process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
	const log = new Log({ format: "text", level: "none" });
	const served = await serve(
		{
			name: "ganglion",
			modules: await workerModules(join(folder, "worker")),
			...runtimeSettings(),
			vars,
			secrets,
			onOutput: (stdout, stderr) => {
				log.follow(stdout, "info");
				log.follow(stderr, "error");
			},
		},
		await freePort(),
		folder,
	);
	process.on("exit", () => void served.stop());
	return { url: served.url, lines: settings.linesFor({ config, variables }), stop: served.stop };
}
