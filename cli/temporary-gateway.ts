/** A gateway with the settings of development, for the duration of one command. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readVariables } from "../scripts/config-file.ts";
import { startConverter } from "../scripts/documents/converter.ts";
import { freePort } from "../scripts/free-port.ts";
import { isStartedByNpm, whenParentExits } from "../scripts/parent.ts";
import { fromEnvironment, orStop, runtimeSettings } from "../scripts/settings.ts";
import { type Served, serve } from "../scripts/workerd.ts";
import { DOCUMENTS_BINDING } from "../src/config/worker-bindings.ts";
import { type DevFlags, devSettings } from "./commands/dev.ts";
import { type ConfigFlags, type Defaults, locateConfig } from "./config-location.ts";
import { type EngineFlags, settingsOfFlags } from "./engine-settings.ts";
import { Log } from "./log.ts";
import { settingsOf } from "./settings-in-use.ts";
import { withSettings } from "./with-settings.ts";
import { converterModules, workerModules } from "./worker-modules.ts";

/** 128 and the number of SIGTERM, as shells report it. */
const EXIT_CODE_OF_STOP = 143;

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
	const current = orStop(() => settingsOf(variables, process.env));
	const folder = mkdtempSync(join(tmpdir(), "ganglion-"));
	process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
	const converter = await startConverter(() => converterModules(join(folder, "documents")));
	const log = new Log({ format: "text", level: "none" });
	const stopBoth = async ({ stop }: Served): Promise<void> => {
		await Promise.all([stop(), converter.stop()]);
	};
	const starting = serve(
		{
			name: "ganglion",
			modules: await workerModules(join(folder, "worker")),
			...runtimeSettings(),
			vars: { ...vars, [DOCUMENTS_BINDING]: converter.address },
			secrets,
			temporary: folder,
			onOutput: (stdout, stderr) => {
				log.follow(stdout, "info");
				log.follow(stderr, "error");
			},
		},
		await freePort(),
		folder,
	);
	// A signal ends a process without its `exit` event.
	const end = (): void => void starting.then(stopBoth).finally(() => process.exit(EXIT_CODE_OF_STOP));
	for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, end);
	if (isStartedByNpm()) whenParentExits(end);
	const served = await starting;
	const stop = (): Promise<void> => stopBoth(served);
	process.on("exit", () => void stop());
	return { url: served.url, lines: settings.linesFor(current), stop };
}
