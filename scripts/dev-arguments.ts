/** The arguments of `npm run dev`. Most of them are those of wrangler. */
import { parseArgs } from "node:util";
import { asQuestion, didYouMean, misspelledNames } from "../src/core/did-you-mean.ts";
import { readVariables } from "./config-file.ts";
import { DEV_VARS } from "./dev-settings.ts";
import { configureNaming, PROJECT_CONFIG } from "./settings.ts";

export const DEFAULT_PORT = "8787";

export const DEV_OPTIONS = [
	"port",
	"env",
	"config",
	"state",
	"local-engines",
	"engine-ports",
	"engine",
	"pull",
	"var",
];
/** The options that wrangler does not know. */
const OWN_OPTIONS = ["state", "local-engines", "engine-ports", "engine", "pull"];

/** A mistake in the arguments. The message is for the terminal. */
export class BadArgument extends Error {}

const parsed = (args: string[]) =>
	parseArgs({
		args,
		options: {
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
		},
		strict: false,
		allowNegative: true,
		tokens: true,
	});
type Values = ReturnType<typeof parsed>["values"];
type Tokens = NonNullable<ReturnType<typeof parsed>["tokens"]>;

/** @throws {BadArgument} and {ConfigError}, for a mistake in the variables of the configuration or of the command line. */
export function readDevArguments(args: string[]) {
	const { values, tokens = [] } = parsed(args);
	if (values.help) return { help: true } as const;
	refuseMisspelledOptions(tokens);
	const port = typeof values.port === "string" ? values.port : DEFAULT_PORT;
	const address = ["127.0.0.1", readPort(port)] as const;
	const cliVars = variablesOf(tokens);
	const ports = values["engine-ports"];
	const enginePorts = typeof ports === "string" ? portsIn(ports) : values["local-engines"];
	if (values.state === true || values.state === "") throw new BadArgument("--state: expected a folder");
	const runsModels = readEngine(values);
	const vars = configuredVariables(values);
	// With `--engine local` the routes may name a backend that its start adds.
	if (!runsModels) configureNaming({ ...vars, ...DEV_VARS, ...cliVars });
	return {
		help: false,
		...{ address, cliVars, enginePorts, runsModels, vars },
		/** If it is given. */
		port: values.port === undefined ? undefined : port,
		state: values.state,
		pulls: values.pull === true,
		ofWrangler: argumentsOfWrangler(args, tokens),
	} as const;
}

/** Without the arguments that only the script reads. */
function argumentsOfWrangler(args: readonly string[], tokens: Tokens): string[] {
	const ownOptions = tokens.filter((token) => token.kind === "option" && OWN_OPTIONS.includes(token.name));
	const positions = ownOptions.flatMap((token) =>
		token.kind === "option" && token.value !== undefined && !token.inlineValue
			? [token.index, token.index + 1]
			: [token.index],
	);
	return args.filter((_, position) => !positions.includes(position));
}

/** The variables of the Worker. */
function configuredVariables(values: Values): Record<string, unknown> {
	const env = typeof values.env === "string" ? values.env : undefined;
	const config = typeof values.config === "string" ? values.config : PROJECT_CONFIG;
	const { vars, secrets, bindings } = readVariables({ config, env });
	return { ...vars, ...secrets, ...bindings };
}

/** wrangler prints its own message above its list of all options. */
function refuseMisspelledOptions(tokens: Tokens): void {
	for (const token of tokens) {
		if (token.kind !== "option" || DEV_OPTIONS.includes(token.name)) continue;
		const [near] = misspelledNames(token.name, DEV_OPTIONS, (name) => name);
		if (near !== undefined)
			throw new BadArgument(`${token.rawName}: no option has this name${asQuestion(`--${near}`)}`);
	}
}

function readPort(text: string): number {
	const port = Number(text);
	if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
	throw new BadArgument(`--port: expected a number up to 65535, found ${text}`);
}

/** Parses variables as wrangler does: `--var A:1 B:2 --var C:3`. */
function variablesOf(tokens: Tokens): Record<string, string> {
	const found: Record<string, string> = {};
	let inVar = false;
	for (const token of tokens) {
		if (token.kind === "option") inVar = token.name === "var";
		if (!inVar || token.kind === "option-terminator") continue;
		const [name = "", ...value] = (token.value ?? "").split(":");
		if (name === "" || value.length === 0) {
			const shown = token.value === undefined ? "nothing" : name;
			throw new BadArgument(`--var: expected NAME:VALUE, found ${shown}`);
		}
		found[name] = value.join(":");
	}
	return found;
}

/** Whether this machine runs models itself. */
function readEngine({ engine, pull = false }: Values): boolean {
	if (engine === undefined && !pull) return false;
	if (engine === "local") return true;
	const found = typeof engine === "string" ? `${engine}${didYouMean(engine, ["local"])}` : "nothing";
	throw new BadArgument(`--engine: expected local, found ${found}`);
}

function portsIn(text: string): number[] {
	const ports = text.split(",").map(Number);
	if (ports.every((port) => Number.isInteger(port) && port > 0 && port < 65_536)) return ports;
	throw new BadArgument("--engine-ports: expected numbers with commas between them, such as 11434,8080");
}
