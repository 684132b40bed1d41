/** What a wrangler configuration says of the Worker, for whoever runs it by other means. */
import { join } from "node:path";
import { unstable_getVarsForDev as getVarsForDev, unstable_readConfig as readConfig } from "wrangler";
import * as z from "zod";
import { ConfigError, configure } from "../src/config/index.ts";
import { warningsOf } from "../src/config/warnings.ts";
import { didYouMean } from "../src/core/did-you-mean.ts";
import { ROOT } from "./worker.ts";
import type { WorkerSpec } from "./workerd.ts";

/** Which configuration: a file, the project's own where none is named, and one of its environments. */
export interface Where {
	config?: string | undefined;
	env?: string | undefined;
}

/** Flags that the runtime has by default from a date on; it then says at each start that they need not be named. */
const DEFAULT_SINCE: Readonly<Record<string, string>> = { nodejs_compat: "2026-08-04" };

export const OWN_CONFIG = join(ROOT, "wrangler.jsonc");

/**
 * What the runtime must know of the Worker beside its modules and its variables. From the project's own file, whatever
 * `--config` names: the date, the flags and the objects belong to the code.
 */
export function runtimeSettings(): Pick<WorkerSpec, "compatibilityDate" | "compatibilityFlags" | "objects"> {
	const { compatibility_date = "", compatibility_flags, durable_objects } = read({ config: OWN_CONFIG });
	return {
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
	/** As the configuration file has them. */
	vars: Record<string, unknown>;
	/** Of `.dev.vars` or `.env` beside it. */
	secrets: Record<string, string>;
	/** Name of the binding to the runtime's own AI, where there is one. */
	ai?: string;
}

/** Throws a `ConfigError` where the file cannot be read. */
export function readVariables({ config = OWN_CONFIG, env }: Where = {}): Variables {
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

/** Codes of `jsonc-parser`, whose names alone tell a reader little. Errors in TOML have sentences. */
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

/** `wrangler.jsonc:3:23: expected a value`, for an error of wrangler's parsers. The line itself may hold a key. */
function syntaxMistake(error: unknown): string | undefined {
	const { data } = Syntax.safeParse(error);
	if (!data) return undefined;
	const { file = "the configuration", line, column } = data.location;
	return `${file}:${line}:${column}: ${SYNTAX[data.text] ?? data.text}`;
}

/** A mistake of the file's is one of the configuration, in wrangler's own words. */
function read(where: Where): ReturnType<typeof readConfig> {
	let config: ReturnType<typeof readConfig>;
	try {
		config = readConfig(where);
	} catch (error) {
		throw new ConfigError([syntaxMistake(error) ?? (error instanceof Error ? error.message : String(error))]);
	}
	const { env } = where;
	const environments: readonly string[] = config.definedEnvironments ?? [];
	// wrangler warns, and goes on with the settings of none.
	if (env !== undefined && !environments.includes(env))
		throw new ConfigError([
			`--env: the file has ${environments.length > 0 ? environments.join(", ") : "no environments"}, found ${JSON.stringify(env)}`,
		]);
	return config;
}

/** For a banner: what may be a mistake although it is valid. Empty where there is none. */
export function warnings(config: Parameters<typeof warningsOf>[0], variables: object): string {
	const lines = [...misspelled(variables), ...warningsOf(config)].map((line) => `    ${line}\n`);
	return lines.length > 0 ? `\n  Look at this\n${lines.join("")}` : "";
}

/** Variables that no setting reads, and whose name is nearly that of a setting. A secret may have any name. */
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

/** A mistake in the configuration would stop the Worker's start; here it stops before anything is started. */
export function orStop<T>(work: () => T): T {
	try {
		return work();
	} catch (error) {
		if (error instanceof ConfigError) return stopWith(error.message);
		throw error;
	}
}

/** For whoever typed the command: no stack. */
export function stopWith(message: string): never {
	console.error(message);
	process.exit(1);
}

/** What the configuration reads is taken from the environment first. */
export function fromEnvironment({ vars, secrets }: Variables): Pick<Variables, "vars" | "secrets"> {
	const found: Record<string, string> = {};
	const given: Record<string, unknown> = { ...vars, ...secrets };
	const recording = new Proxy(given, {
		get(all, name) {
			const value = typeof name === "string" ? process.env[name] : undefined;
			if (value === undefined || typeof name !== "string") return Reflect.get(all, name);
			found[name] = value;
			return value;
		},
	});
	configure(recording);
	const rest = Object.entries(vars).filter(([name]) => !(name in found));
	return { vars: Object.fromEntries(rest), secrets: { ...secrets, ...found } };
}
