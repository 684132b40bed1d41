/** The models that this machine runs itself, for a gateway of the command (`--engine local`). They end with the gateway. */
import { LocalEngine } from "../scripts/local-engine/index.ts";
import { LocalProblem } from "../scripts/local-engine/problem.ts";
import { describeLibrary, localSettings } from "../scripts/local-engine/settings.ts";
import { stopWith } from "../scripts/stop-with.ts";
import type { Log } from "./log.ts";
import { withSettings } from "./with-settings.ts";
import type { GatewayVariables } from "./workers.ts";

export interface LocalModels {
	isUsed: boolean;
	/** Adds the settings of the models to those of the gateway. */
	addTo(variables: GatewayVariables): GatewayVariables;
	/** Receives a function to call when files of weights have come or gone. The labels of answers have their revision. */
	whenChanged(changed: () => void): void;
	/** Which weights are here, for the message at the start. */
	lines(): string;
	stop(): Promise<void>;
}

const NONE: LocalModels = {
	isUsed: false,
	addTo: (variables) => variables,
	whenChanged: () => {},
	lines: () => "",
	stop: async () => {},
};

/** Stops the command if this machine cannot run models. */
export async function startLocalModels(
	{ engine, pull = false }: { engine?: "local"; pull?: boolean },
	{ log }: { log: Log },
): Promise<LocalModels> {
	if (engine === undefined) {
		if (pull) stopWith("--pull: expected --engine local beside it");
		return NONE;
	}
	let changed = (): void => {};
	const models = await LocalEngine.start({
		env: process.env,
		pulls: pull,
		log: (line) => log.info(line, { message: "local engine", detail: line }),
		changed: () => changed(),
	}).catch((error: unknown) => {
		if (error instanceof LocalProblem) return stopWith(error.message);
		throw error;
	});
	return {
		isUsed: true,
		addTo: (variables) => withSettings(variables, (settings) => localSettings(models, settings, Date.now())),
		whenChanged(listener) {
			changed = listener;
		},
		lines: () =>
			`\n${describeLibrary(models, pull)
				.map((line) => `  ${line}\n`)
				.join("")}`,
		stop: () => models.stop(),
	};
}
