/** Values of the command line: their formats, and settings made from them. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { USUAL_PORTS } from "../scripts/engines/probe.ts";
import { LOG_FORMATS, LOG_LEVELS } from "./log.ts";

const MAX_PORT = 65_535;

/**
 * Refuses an empty value of every option and of every argument: `--state "$UNSET"` is not the current folder, and `models "$UNSET"` not the
 * list of all models. An option whose reader refuses it has its own sentence. Commands that are added later, such as the one that completes a
 * word, may get an empty text.
 */
export function refuseEmptyValues(program: Command): void {
	const refuse = (name: string): never =>
		program.error(
			`error: ${name}: expected a value, found an empty text (is a variable of the shell not set?)`,
		);
	const refuseArgument = (_: Command, { args, registeredArguments }: Command): void => {
		const empty = registeredArguments.find(({ variadic }, position) =>
			(variadic ? args.slice(position) : [args[position]]).includes(""),
		);
		if (empty) refuse(empty.required ? `<${empty.name()}>` : `[${empty.name()}]`);
	};
	const check = (command: Command): void => {
		for (const option of command.options)
			if (option.required)
				command.on(`option:${option.name()}`, (value: unknown) => {
					if (value === "") refuse(option.flags);
				});
		command.hook("preAction", refuseArgument);
		for (const inner of command.commands) check(inner);
	};
	for (const command of program.commands) check(command);
}

/** @param least 0 if the system may choose the port. */
export const readPort =
	(least: 0 | 1 = 1) =>
	(text: string): number => {
		const port = Number(text);
		if (/^\d+$/.test(text) && port >= least && port <= MAX_PORT) return port;
		throw new InvalidArgumentError(`Expected a number from ${least} to ${MAX_PORT}.`);
	};

/** An address to listen on, without the brackets of IPv6. */
export function readHost(text: string): string {
	if (text === "") throw new InvalidArgumentError("Expected an address.");
	return text.replace(/^\[(.*)\]$/, "$1");
}

/** `11434,8080` */
export function readPorts(text: string): number[] {
	return text.split(",").map(readPort());
}

export function readCount(text: string): number {
	if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
	throw new InvalidArgumentError("Expected a whole number above 0.");
}

const MAX_WORKERS = 64;

export function readWorkers(text: string): number {
	const workers = readCount(text);
	if (workers <= MAX_WORKERS) return workers;
	throw new InvalidArgumentError(`Expected a number from 1 to ${MAX_WORKERS}.`);
}

export interface BackendFlag {
	name: string;
	/** If absent: the name, if it is that of a kind, or else `openai`. */
	kind?: string;
	url: string;
}

/** `NAME=URL` or `NAME=KIND+URL`. */
export function readBackend(text: string, earlier: readonly BackendFlag[] = []): BackendFlag[] {
	const [, name, kind, url] = /^([^=]+)=(?:([a-z-]+)\+)?(https?:\/\/.+)$/.exec(text) ?? [];
	if (name === undefined || url === undefined)
		throw new InvalidArgumentError(
			"Expected NAME=URL or NAME=KIND+URL, such as ollama=http://localhost:11434.",
		);
	return [...earlier, { name, ...(kind !== undefined && { kind }), url }];
}

export interface RouteFlag {
	pattern: string;
	backend: string;
	model?: string;
}

/** `PATTERN=BACKEND` or `PATTERN=BACKEND:MODEL`. */
export function readRoute(text: string, earlier: readonly RouteFlag[] = []): RouteFlag[] {
	const [, pattern, backend, model] = /^([^=]+)=([^:]+)(?::(.+))?$/.exec(text) ?? [];
	if (pattern === undefined || backend === undefined)
		throw new InvalidArgumentError(
			"Expected PATTERN=BACKEND or PATTERN=BACKEND:MODEL, such as @cf/meta/*=ollama:llama3.2.",
		);
	return [...earlier, { pattern, backend, ...(model !== undefined && { model }) }];
}

export const logFormatOption = (): Option =>
	new Option("--log-format <format>", "text for people, json for one object per line")
		.choices(LOG_FORMATS)
		.default(LOG_FORMATS[0]);

export const logLevelOption = (): Option =>
	new Option("--log-level <level>", "least severe lines to log").choices(LOG_LEVELS).default(LOG_LEVELS[0]);

/** `shown`: the name of the file that is read without the option. */
export const withConfig = (command: Command, shown: string): Command =>
	command
		.option("-c, --config <file>", `configuration file (${shown})`)
		.option("-e, --env <name>", "an environment of that file");

export const engineOptions = (command: Command): Command =>
	command
		.option("--backend <name=url>", "an engine: NAME=URL or NAME=KIND+URL; may be repeated", readBackend)
		.option(
			"--route <pattern=target>",
			"what serves a model: PATTERN=BACKEND[:MODEL]; may be repeated",
			readRoute,
		);

export const engineOption = (): Option =>
	new Option("--engine <name>", "local: models run on this machine (llama.cpp)").choices(LOCAL_ENGINES);

export const localModelsOptions = (command: Command): Command =>
	command
		.addOption(engineOption())
		.option("--pull", "with --engine local: download weights at their first use");

const LOCAL_ENGINES = ["local"];

export const localEngineOptions = (command: Command): Command =>
	command
		.option("--local-engines", "search for engines on this machine, also in CI")
		.option("--no-local-engines", "do not search for engines on this machine")
		.option("--engine-ports <ports>", `ports to search for engines (${USUAL_PORTS.join()})`, readPorts);
