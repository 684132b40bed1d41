/** The options of a command, for whoever types it: `--help`, and mistakes without a stack. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { stopWith } from "./settings.ts";

type Values<Options extends ParseArgsOptionsConfig> = ReturnType<
	typeof parseArgs<{ options: Options }>
>["values"];

const HELP = { help: { type: "boolean", short: "h" } } as const;

/** What the command line says. `usage` is shown to whoever asks for it, and to whoever got it wrong. */
export function readOptions<const Options extends ParseArgsOptionsConfig>(
	options: Options,
	usage: string,
): Values<Options> {
	refuseNpmOptions(Object.keys(options));
	const values = parsed(options, usage);
	if (!("help" in values)) return values;
	console.log(usage);
	process.exit(0);
}

function parsed<Options extends ParseArgsOptionsConfig>(options: Options, usage: string): Values<Options> {
	try {
		const { values } = parseArgs<{ options: Options }>({ options: { ...options, ...HELP } });
		return values;
	} catch (error) {
		return stopWith(`${error instanceof Error ? error.message : error}\n\n${usage}`);
	}
}

/**
 * npm reads options that are not behind a `--` as its own, and the script does not get them. It leaves them in the
 * environment.
 */
export function refuseNpmOptions(names: readonly string[], env: NodeJS.ProcessEnv = process.env): void {
	const script = env.npm_lifecycle_event;
	if (script === undefined) return;
	const taken = names.filter((name) => env[`npm_config_${name.replaceAll("-", "_")}`] !== undefined);
	if (taken.length === 0) return;
	const shown = taken.map((name) => `--${name}`);
	stopWith(
		`npm took ${shown.join(", ")} for its own. Put "--" before the options: npm run ${script} -- ${shown.map((name) => `${name} …`).join(" ")}`,
	);
}
