/** The arguments of `npm run dev`. Most of them are those of wrangler. */
import { parseArgs } from "node:util";
import { asQuestion, didYouMean, misspelledNames } from "../src/core/did-you-mean.ts";
import { readVariables } from "./config-file.ts";
import { DEV_VARS } from "./dev-settings.ts";
import { configureNaming, PROJECT_CONFIG } from "./settings.ts";
import { BadArgument } from "./stop-with.ts";

export const DEFAULT_PORT = "8787";

const OPTIONS = {
	port: { type: "string" },
	env: { type: "string", short: "e" },
	config: { type: "string", short: "c" },
	state: { type: "string" },
	"local-engines": { type: "boolean" },
	"engine-ports": { type: "string" },
	engine: { type: "string" },
	pull: { type: "boolean" },
	var: { type: "string", multiple: true },
	help: { type: "boolean", short: "h" },
} as const;
export const DEV_OPTIONS = Object.keys(OPTIONS).filter((name) => name !== "help");
/** The options that wrangler does not know. */
const OWN_OPTIONS = ["state", "local-engines", "engine-ports", "engine", "pull"];
/** Options of wrangler that are similar to the ones above. */
const WRANGLER_OPTIONS = ["tsconfig"];
/** The values of options. */
const EXPECTED: Record<string, string> = {
	port: "a number up to 65535",
	env: "a name",
	config: "a file",
	state: "a folder",
	"engine-ports": "numbers with commas between them, such as 11434,8080",
	engine: "local",
	var: "NAME:VALUE",
};

const parse = (args: string[]) =>
	parseArgs({ args, options: OPTIONS, strict: false, allowNegative: true, tokens: true });
type Tokens = NonNullable<ReturnType<typeof parse>["tokens"]>;
type OptionToken = Extract<Tokens[number], { kind: "option" }>;

/** Throws a `BadArgument`, or a `ConfigError` for a mistake in variables. */
export function readDevArguments(args: string[]) {
	const { tokens = [] } = parse(args);
	const options = tokens.filter((token) => token.kind === "option");
	if (flagIn(options, "help")) return { help: true } as const;
	refuseMisspelledOptions(options);
	const port = valueIn(options, "port");
	const address = ["127.0.0.1", readPort(port ?? DEFAULT_PORT)] as const;
	const cliVars = variablesOf(tokens);
	const ports = valueIn(options, "engine-ports");
	const state = valueIn(options, "state");
	const pulls = flagIn(options, "pull") ?? false;
	const runsModels = readEngine(valueIn(options, "engine"), pulls);
	const vars = configuredVariables(options);
	// With `--engine local` the routes may name a backend that its start adds.
	if (!runsModels) configureNaming({ ...vars, ...DEV_VARS, ...cliVars });
	return {
		help: false,
		address,
		cliVars,
		enginePorts: ports === undefined ? flagIn(options, "local-engines") : portsIn(ports),
		/** If it is given. */
		port,
		pulls,
		runsModels,
		state,
		vars,
		wranglerArguments: argumentsOfWrangler(args, options),
	} as const;
}

const unexpected = (option: string, found = "nothing"): BadArgument =>
	new BadArgument(`--${option}: expected ${EXPECTED[option] ?? "true or false"}, found ${found}`);

const lastOf = (options: readonly OptionToken[], name: string): OptionToken | undefined =>
	options.findLast((token) => token.name === name);

/** The value of an option that has one. An empty one is none: `--state "$UNSET"` is not the current folder. */
function valueIn(options: readonly OptionToken[], name: string): string | undefined {
	const token = lastOf(options, name);
	if (!token) return undefined;
	const { inlineValue, value } = token;
	// The parser takes the next option as the value.
	if (!value || (!inlineValue && value.startsWith("--"))) throw unexpected(name);
	return value;
}

/** An option without a value, or with one as wrangler's: `--pull`, `--no-pull`, `--pull=false`. */
function flagIn(options: readonly OptionToken[], name: string): boolean | undefined {
	const token = lastOf(options, name);
	if (!token) return undefined;
	if (token.value === undefined) return !token.rawName.startsWith("--no-");
	if (token.value !== "true" && token.value !== "false") throw unexpected(name, token.value);
	return token.value === "true";
}

/** Without the arguments that only the script reads. */
function argumentsOfWrangler(args: readonly string[], options: readonly OptionToken[]): string[] {
	const positions = options
		.filter(({ name }) => OWN_OPTIONS.includes(name))
		.flatMap(({ index, inlineValue, value }) =>
			value !== undefined && !inlineValue ? [index, index + 1] : [index],
		);
	return args.filter((_, position) => !positions.includes(position));
}

/** The variables of the Worker. */
function configuredVariables(options: readonly OptionToken[]): Record<string, unknown> {
	const config = valueIn(options, "config") ?? PROJECT_CONFIG;
	const { vars, secrets, bindings } = readVariables({ config, env: valueIn(options, "env") });
	return { ...vars, ...secrets, ...bindings };
}

/** wrangler prints its own message above its list of all options. */
function refuseMisspelledOptions(options: readonly OptionToken[]): void {
	for (const { name, rawName } of options) {
		if (DEV_OPTIONS.includes(name) || WRANGLER_OPTIONS.includes(name)) continue;
		const [near] = misspelledNames(name, DEV_OPTIONS, (option) => option);
		if (near !== undefined)
			throw new BadArgument(`${rawName}: no option has this name${asQuestion(`--${near}`)}`);
	}
}

function readPort(text: string): number {
	const port = Number(text);
	if (/^\d+$/.test(text) && port < 65_536) return port;
	throw unexpected("port", text);
}

/** Parses variables as wrangler does: `--var A:1 B:2 --var C:3`. */
function variablesOf(tokens: Tokens): Record<string, string> {
	const found: Record<string, string> = {};
	let inVar = false;
	for (const token of tokens) {
		if (token.kind === "option") inVar = token.name === "var";
		if (!inVar || token.kind === "option-terminator") continue;
		const [name = "", ...value] = (token.value ?? "").split(":");
		// A value may be a secret.
		if (name === "" || value.length === 0) throw unexpected("var", name || "no name");
		found[name] = value.join(":");
	}
	return found;
}

/** Whether this machine runs models itself. */
function readEngine(engine: string | undefined, pulls: boolean): boolean {
	if (engine === "local") return true;
	if (engine !== undefined) throw unexpected("engine", `${engine}${didYouMean(engine, ["local"])}`);
	if (pulls) throw new BadArgument("--pull: expected --engine local beside it");
	return false;
}

function portsIn(text: string): number[] {
	const ports = text.split(",").map(Number);
	if (ports.every((port) => Number.isInteger(port) && port > 0 && port < 65_536)) return ports;
	throw unexpected("engine-ports", text);
}
