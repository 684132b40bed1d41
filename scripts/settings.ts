/** Reads the Worker's settings from a wrangler configuration, to run it without wrangler. */
import { join } from "node:path";
import { unstable_getVarsForDev as getVarsForDev, unstable_readConfig as readConfig } from "wrangler";
import * as z from "zod";
import { ConfigError, configure } from "../src/config/index.ts";
import { warningsOf } from "../src/config/warnings.ts";
import { didYouMean } from "../src/core/did-you-mean.ts";
import { ROOT } from "./worker.ts";
import type { WorkerSpec } from "./workerd.ts";

/** A configuration file (default: the project's own) and one of its environments. */
export interface ConfigLocation {
	config?: string | undefined;
	env?: string | undefined;
}

/** Flags that are defaults of the runtime from a date on. If they are set, the runtime warns at each start. */
const DEFAULT_SINCE: Readonly<Record<string, string>> = { nodejs_compat: "2026-08-04" };

export const PROJECT_CONFIG = join(ROOT, "wrangler.jsonc");

/**
 * The runtime's settings of the Worker, except modules and variables. They come from the project's own file, even with `--config`, because the date,
 * the flags, the objects and the assets belong to the code.
 */
export function runtimeSettings(): Pick<
	WorkerSpec,
	"assets" | "compatibilityDate" | "compatibilityFlags" | "objects"
> {
	const {
		assets,
		compatibility_date = "",
		compatibility_flags,
		durable_objects,
	} = read({ config: PROJECT_CONFIG });
	return {
		...(assets?.binding !== undefined &&
			assets.directory !== undefined && {
				assets: { binding: assets.binding, folder: join(ROOT, assets.directory) },
			}),
		compatibilityDate: compatibility_date,
		compatibilityFlags: compatibility_flags.filter((flag: string) => !isDefault(flag, compatibility_date)),
		objects: durable_objects.bindings.map(
			({ name, class_name = "" }: { name: string; class_name?: string }) => ({ name, class_name }),
		),
	};
}

function isDefault(flag: string, date: string): boolean {
	const since = DEFAULT_SINCE[flag];
	return since !== undefined && date >= since;
}

export interface Variables {
	/** From the configuration file. */
	vars: Record<string, unknown>;
	/** From `.dev.vars` or `.env` in the same folder. */
	secrets: Record<string, string>;
	/** Name of the `Ai` binding, if there is one. */
	ai?: string;
}

/** Throws a `ConfigError` if the file cannot be read. */
export function readVariables({ config = PROJECT_CONFIG, env }: ConfigLocation = {}): Variables {
	const { ai, vars, userConfigPath } = read({ config, env });
	const found: Variables = { vars: {}, secrets: {}, ...(ai?.binding !== undefined && { ai: ai.binding }) };
	for (const [name, binding] of Object.entries(getVarsForDev(userConfigPath, undefined, vars, env, true)))
		if (binding.type === "secret_text") found.secrets[name] = binding.value;
		else found.vars[name] = binding.value;
	return found;
}

const Syntax = z.object({
	text: z.string(),
	location: z.object({ file: z.string().optional(), line: z.number(), column: z.number() }),
});

/** Messages for the error codes of `jsonc-parser`. Errors in TOML have messages of their own. */
const SYNTAX: Readonly<Record<string, string>> = {
	CloseBraceExpected: "expected } or a comma",
	CloseBracketExpected: "expected ] or a comma",
	ColonExpected: "expected a colon",
	CommaExpected: "expected a comma",
	EndOfFileExpected: "expected the end of the file",
	InvalidSymbol: "expected a value; text needs double quotes",
	PropertyNameExpected: "expected the name of a field, in double quotes",
	UnexpectedEndOfString: "expected the closing double quote",
	ValueExpected: "expected a value",
};

/** Formats an error of wrangler's parsers: `wrangler.jsonc:3:23: expected a value`. Never quotes the line, which may contain a key. */
function syntaxMistake(error: unknown): string | undefined {
	const { data } = Syntax.safeParse(error);
	if (!data) return undefined;
	const { file = "the configuration", line, column } = data.location;
	return `${file}:${line}:${column}: ${SYNTAX[data.text] ?? data.text}`;
}

/** Reports an error of the file as a `ConfigError`, with wrangler's own message. */
function read(location: ConfigLocation): ReturnType<typeof readConfig> {
	let config: ReturnType<typeof readConfig>;
	try {
		config = readConfig(location);
	} catch (error) {
		throw new ConfigError([syntaxMistake(error) ?? (error instanceof Error ? error.message : String(error))]);
	}
	const { env } = location;
	const environments: readonly string[] = config.definedEnvironments ?? [];
	// wrangler only warns, and uses the settings without an environment.
	if (env !== undefined && !environments.includes(env))
		throw new ConfigError([
			`--env: the file has ${environments.length > 0 ? environments.join(", ") : "no environments"}, found ${JSON.stringify(env)}`,
		]);
	return config;
}

/** Valid settings that may be mistakes, for the start message. Empty if there are none. */
export function warnings(config: Parameters<typeof warningsOf>[0], variables: object): string {
	const lines = [...misspelled(variables), ...warningsOf(config)].map((line) => `    ${line}\n`);
	return lines.length > 0 ? `\n  Warnings\n${lines.join("")}` : "";
}

/** Variables that no setting reads, with a name similar to a setting's. A secret may have any name. */
function misspelled(variables: object): string[] {
	const settings = new Set<string>();
	const recording = new Proxy(
		{},
		{
			get(_, name) {
				if (typeof name === "string") settings.add(name);
				return undefined;
			},
		},
	);
	configure(recording);
	return Object.keys(variables).flatMap((name) => {
		const guess = settings.has(name) ? "" : didYouMean(name, [...settings]);
		return guess ? [`${name}: no setting has this name, so it has no effect${guess}`] : [];
	});
}

/** Stops the command for a mistake in the configuration, before anything starts. */
export function orStop<T>(work: () => T): T {
	try {
		return work();
	} catch (error) {
		if (error instanceof ConfigError) return stopWith(error.message);
		throw error;
	}
}

/** Prints the message without a stack. */
export function stopWith(message: string): never {
	console.error(message);
	process.exit(1);
}

/** For variables that the configuration reads, the environment has precedence. */
export function fromEnvironment({ vars, secrets }: Variables): Pick<Variables, "vars" | "secrets"> {
	const found: Record<string, string> = {};
	const configured: Record<string, unknown> = { ...vars, ...secrets };
	const recording = new Proxy(configured, {
		get(target, name) {
			const value = typeof name === "string" ? process.env[name] : undefined;
			if (value === undefined || typeof name !== "string") return Reflect.get(target, name);
			found[name] = value;
			return value;
		},
	});
	configure(recording);
	const remaining = Object.entries(vars).filter(([name]) => !(name in found));
	return { vars: Object.fromEntries(remaining), secrets: { ...secrets, ...found } };
}
