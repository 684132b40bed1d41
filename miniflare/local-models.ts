/**
 * Models that this machine runs itself, for a binding with `engine: "local"`. One llama-server serves all bindings of a session, because
 * Miniflare requests bindings and services separately, and again on every reload. It ends with the process.
 */
import type { LocalEngine } from "../scripts/local-engine/index.ts";
import { LocalProblem } from "../scripts/local-engine/problem.ts";
import type { Env } from "../src/config/headers.ts";
import { ConfigError } from "../src/config/index.ts";
import { LocalModels } from "./options.ts";

/** By whether weights are downloaded at their first use. */
const engines = new Map<boolean, Promise<LocalEngine>>();

interface WithModels {
	options: Env;
	/** Variables that the options name. */
	secrets: Env;
}

/** The options with the settings of the models. `undefined`: the binding does not use them. */
export async function withLocalModels(
	options: Env,
	processEnv: Readonly<Record<string, string | undefined>>,
): Promise<WithModels | undefined> {
	// `readOptions` reports invalid values with the other problems.
	if (!LocalModels.engine.safeParse(options.engine).success) return undefined;
	const pulls = options.pull === true;
	const { localSettings } = await import("../scripts/local-engine/settings.ts");
	const engine = await engineFor(pulls, processEnv);
	const { BACKENDS, ROUTES, ...secrets } = localSettings(engine, options, Date.now());
	return { options: { ...options, BACKENDS, ROUTES }, secrets };
}

async function engineFor(
	pulls: boolean,
	env: Readonly<Record<string, string | undefined>>,
): Promise<LocalEngine> {
	const known = engines.get(pulls);
	if (known) return known;
	const starting = start(pulls, env);
	engines.set(pulls, starting);
	// A later session may find what is missing now.
	starting.catch(() => engines.delete(pulls));
	return starting;
}

async function start(
	pulls: boolean,
	env: Readonly<Record<string, string | undefined>>,
): Promise<LocalEngine> {
	const { LocalEngine: Engine } = await import("../scripts/local-engine/index.ts");
	const { describeLibrary } = await import("../scripts/local-engine/settings.ts");
	try {
		const engine = await Engine.start({ env, pulls, log: (line) => unreported.push(line) });
		unreported.push(...describeLibrary(engine, pulls));
		return engine;
	} catch (error) {
		if (error instanceof LocalProblem) throw new ConfigError([`dev.options.engine: ${error.message}`]);
		throw error;
	}
}

/** Lines that were not reported yet. */
const unreported: string[] = [];

export function announceModels(say: (line: string) => void): void {
	for (const line of unreported.splice(0)) say(`ganglion: ${line}`);
}
