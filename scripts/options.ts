/** Parses the options of a command: `--help`, and errors without a stack. */
import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { stopWith } from "./stop-with.ts";

type Values<Options extends ParseArgsOptionsConfig> = ReturnType<
	typeof parseArgs<{ options: Options }>
>["values"];

const HELP = { help: { type: "boolean", short: "h" } } as const;

/** Returns the options of the command line. Prints `usage` for `--help` and after a mistake. */
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

/** npm consumes options that are not after a `--`; the script does not receive them. npm puts them into the environment. */
export function refuseNpmOptions(names: readonly string[], env: NodeJS.ProcessEnv = process.env): void {
	const script = env.npm_lifecycle_event;
	if (script === undefined) return;
	const consumed = names.filter((name) => env[`npm_config_${name.replaceAll("-", "_")}`] !== undefined);
	if (consumed.length === 0) return;
	const shown = consumed.map((name) => `--${name}`);
	stopWith(
		`npm took ${shown.join(", ")} for its own. Put "--" before the options: npm run ${script} -- ${shown.map((name) => `${name} …`).join(" ")}`,
	);
}
