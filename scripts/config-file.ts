/**
 * Reads variables and secrets from a configuration file and the files beside it, as wrangler does, without wrangler:
 * developers.cloudflare.com/workers/wrangler/configuration and …/workers/configuration/environment-variables.
 *
 * JSON, JSON with comments, or TOML. `vars` and the bindings of an environment replace those of the file, and are not merged. Secrets come
 * from `.dev.vars.<env>` or `.dev.vars`. If neither exists: from `.env`, `.env.local`, `.env.<env>`, `.env.<env>.local`, a later file wins.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { parse as parseDotEnv } from "dotenv";
import { expand } from "dotenv-expand";
import { type ParseError, parse as parseJsonc, printParseErrorCode } from "jsonc-parser";
import { parse as parseToml, TomlError } from "smol-toml";
import * as z from "zod";
import { ConfigError } from "../src/config/index.ts";
import { didYouMean } from "../src/core/did-you-mean.ts";
import { isRecord } from "../src/core/json.ts";
import { expectedName, explain } from "../src/schemas/explain.ts";
import { readFailure } from "./file-failure.ts";
import { settingNames } from "./setting-names.ts";

/** A configuration file and one of its environments. */
export interface ConfigLocation {
	/** Absent: there is no file. Secrets are then read from `folder`. */
	config?: string | undefined;
	env?: string | undefined;
	folder?: string | undefined;
}

export interface Variables {
	/** From the configuration file. */
	vars: Record<string, unknown>;
	/** From `.dev.vars` or `.env` in the same folder. */
	secrets: Record<string, string>;
	/** By the names of the bindings that settings may name: objects in their place, which only the runtime has. */
	bindings: Record<string, object>;
}

const Named = z.looseObject({ binding: z.string() });
const Environment = z.object({
	vars: z.record(z.string(), z.unknown()).optional(),
	ai: Named.optional(),
	r2_buckets: z.array(Named).optional(),
	hyperdrive: z.array(Named).optional(),
	vectorize: z.array(Named).optional(),
	services: z.array(Named).optional(),
});
const ConfigFile = Environment.extend({ env: z.record(z.string(), Environment).optional() });

/** Names of wrangler's configuration, which a command reads only with `--config`. */
const WRANGLER_CONFIGS = ["wrangler.jsonc", "wrangler.json", "wrangler.toml"];

/** Messages for the error codes of `jsonc-parser`. */
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

/** Throws a `ConfigError` if a file cannot be read. Its message never quotes a line, which may contain a key. */
export function readVariables({ config, env, folder }: ConfigLocation = {}): Variables {
	const place = config === undefined ? (folder ?? process.cwd()) : dirname(config);
	const environment = config === undefined ? withoutFile(place, env) : environmentOf(config, env);
	const { vars = {} } = environment;
	const secrets = secretsIn(place, env);
	return {
		// A secret replaces the variable of the same name.
		vars: Object.fromEntries(Object.entries(vars).filter(([name]) => !(name in secrets))),
		secrets,
		bindings: bindingsOf(environment),
	};
}

/** With the members by which the settings recognise them. */
function bindingsOf({ ai, hyperdrive, r2_buckets, services, vectorize }: z.output<typeof Environment>) {
	const absent = (): void => {};
	const named = (bindings: readonly { binding: string }[] | undefined, standIn: object) =>
		Object.fromEntries((bindings ?? []).map(({ binding }) => [binding, standIn]));
	return {
		// Another gateway's entrypoint is a service.
		...named(services, { run: absent }),
		...named(ai && [ai], { run: absent }),
		...named(r2_buckets, { createMultipartUpload: absent, list: absent }),
		...named(hyperdrive, { connectionString: "" }),
		...named(vectorize, { queryById: absent }),
	};
}

/** The parsed file, as it is. */
export function parseConfigFile(file: string): unknown {
	const text = textOf(file);
	return extname(file) === ".toml" ? tomlIn(file, text) : jsonIn(file, text);
}

function textOf(file: string): string {
	try {
		return readFileSync(file, "utf8");
	} catch (error) {
		throw new ConfigError([`${file}: ${readFailure(error)}`]);
	}
}

/** Without a configuration file, an environment can only have secrets. */
function withoutFile(folder: string, env: string | undefined): z.output<typeof Environment> {
	if (env === undefined || secretFilesOf(env).some((name) => existsSync(join(folder, name)))) return {};
	const wrangler = WRANGLER_CONFIGS.find((name) => existsSync(join(folder, name)));
	const cure = wrangler === undefined ? "name the file with --config" : `use --config ${wrangler}`;
	throw new ConfigError([
		`--env: no configuration file is read, so there is no environment ${JSON.stringify(env)}: ${cure}`,
	]);
}

function environmentOf(file: string, env: string | undefined): z.output<typeof Environment> {
	const parsed = parseConfigFile(file);
	const { data, error } = ConfigFile.safeParse(parsed, { error: explain });
	if (error)
		throw new ConfigError(
			error.issues.map(({ path, message }) =>
				[file, ...(path.length > 0 ? [path.join(".")] : []), message].join(": "),
			),
		);
	refuseMisplaced(file, parsed);
	if (env === undefined) return data;
	const environments = Object.keys(data.env ?? {});
	const environment = data.env?.[env];
	if (!environment)
		throw new ConfigError([
			`--env: ${environments.length > 0 ? expectedName(environments, env) : `the file has no environments, found ${JSON.stringify(env)}`}`,
		]);
	return environment;
}

/** Settings outside `vars` would have no effect, those of environments either. */
function refuseMisplaced(file: string, parsed: unknown): void {
	if (!isRecord(parsed)) return;
	const environments = Object.entries(isRecord(parsed.env) ? parsed.env : {});
	const problems = [
		...misplacedIn(parsed, ""),
		...environments.flatMap(([name, environment]) => misplacedIn(environment, `env.${name}.`)),
	];
	if (problems.length > 0) throw new ConfigError(problems.map((problem) => `${file}: ${problem}`));
}

function misplacedIn(environment: unknown, path: string): string[] {
	if (!isRecord(environment)) return [];
	const settings = settingNames();
	return Object.keys(environment).flatMap((name) => {
		if (settings.has(name)) return [`${path}${name}: expected it inside "vars", found it beside "vars"`];
		const guess = environment.vars === undefined ? didYouMean(name, ["vars"]) : "";
		return guess ? [`${path}${name}: expected no such field${guess}`] : [];
	});
}

function jsonIn(file: string, text: string): unknown {
	const errors: ParseError[] = [];
	const value: unknown = parseJsonc(text, errors, { allowTrailingComma: true });
	const [first] = errors;
	if (!first) return value;
	const before = text.slice(0, first.offset).split("\n");
	const code = printParseErrorCode(first.error);
	throw new ConfigError([
		`${file}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}: ${SYNTAX[code] ?? code}`,
	]);
}

function tomlIn(file: string, text: string): unknown {
	try {
		return parseToml(text);
	} catch (error) {
		if (!(error instanceof TomlError)) throw error;
		// Only the first line: the others quote the file.
		const [message = ""] = error.message.split("\n");
		throw new ConfigError([`${file}:${error.line}:${error.column}: ${message}`]);
	}
}

/** The files with the secrets of one environment only. */
const secretFilesOf = (env: string): [devVars: string, ...dotEnv: string[]] => [
	`.dev.vars.${env}`,
	`.env.${env}`,
	`.env.${env}.local`,
];

function secretsIn(folder: string, env: string | undefined): Record<string, string> {
	const [ofEnvironment, ...dotEnv] = env === undefined ? [] : secretFilesOf(env);
	const devVars = [ofEnvironment ?? ".dev.vars", ".dev.vars"]
		.map((name) => join(folder, name))
		.find((file) => existsSync(file));
	if (devVars !== undefined) return parseDotEnv(textOf(devVars));
	const files = [".env", ".env.local", ...dotEnv]
		.map((name) => join(folder, name))
		.filter((file) => existsSync(file));
	const parsed = Object.assign({}, ...files.map((file) => parseDotEnv(textOf(file))));
	return expand({ parsed, processEnv: {} }).parsed ?? {};
}
