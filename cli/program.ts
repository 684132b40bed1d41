/** The commands of `ganglion`, their options and their help. */
import tab from "@bomb.sh/tab/commander";
import { Command, Option } from "commander";
import { clientCommands } from "./client-commands.ts";
import { type Defaults, pathFrom, shownConfig } from "./config-location.ts";
import {
	engineOption,
	engineOptions,
	localEngineOptions,
	localModelsOptions,
	logFormatOption,
	logLevelOption,
	readHost,
	readPort,
	readWorkers,
	refuseEmptyValues,
	withConfig,
} from "./flags.ts";

const DEFAULT_PORT = 8787;
const DEFAULT_HOST = "127.0.0.1";
const DEFAULT_STATE = ".ganglion";
const COMPLETION = "completion";

/** `finish` receives the exit code of a command. */
export function program(version: string, defaults: Defaults, finish: (code: number) => void): Command {
	const ganglion = new Command("ganglion")
		.description("Workers AI that anyone can run.")
		.version(version, "-v, --version", "show the version")
		.helpOption("-h, --help", "show this help")
		.helpCommand(false)
		.showHelpAfterError("(add --help for the options)")
		.configureHelp({
			showGlobalOptions: true,
			sortSubcommands: false,
			styleTitle: (title) => title.replace(/:$/, "").toUpperCase(),
			subcommandTerm: (command) =>
				`ganglion ${nameOf(command)} ${command.usage()}`.replace(" [options]", "").trim(),
		})
		.addHelpText("after", "\nDocumentation: node_modules/ganglion/docs, or the folder docs of the project.");
	runCommands(ganglion, defaults, finish);
	clientCommands(ganglion, defaults, finish);
	workerCommands(ganglion, defaults, finish);
	refuseEmptyValues(ganglion);
	ganglion.commandsGroup("Other:");
	tab(ganglion, { completionCommandName: COMPLETION });
	ganglion.commands
		.find((command) => command.name() === COMPLETION)
		?.description("print a script that completes commands in a shell");
	return ganglion;
}

/** `token create` */
const nameOf = (command: Command): string =>
	command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();

function runCommands(ganglion: Command, defaults: Defaults, finish: (code: number) => void): void {
	ganglion.commandsGroup("Run a gateway:");
	localEngineOptions(localModelsOptions(gatewayCommand(ganglion, "dev", defaults)))
		.description(
			"run a gateway for development: no token is needed, and the simulator answers if no engine does",
		)
		.action(async (flags) => {
			const { devCommand } = await import("./commands/dev.ts");
			finish(await devCommand(flags, defaults));
		});
	localModelsOptions(gatewayCommand(ganglion, "serve", defaults))
		.option("--workers <n>", "number of processes that serve requests, one for each core", readWorkers, 1)
		.option(
			"--separate-large",
			"while a worker is behind, the first one serves large requests, and the others small ones",
		)
		.description("run a gateway without Cloudflare, with its accounts on this machine's disk")
		.addHelpText(
			"after",
			"\nSettings and secrets in the environment have precedence over the file: ADMIN_TOKEN, ROUTES, … (docs/self-hosting.md)",
		)
		.action(async (flags) => {
			const { serveCommand } = await import("./commands/serve.ts");
			finish(await serveCommand(flags, defaults));
		});
	withConfig(ganglion.command("doctor"), shownConfig(defaults))
		.description("check the engines, this machine, and with --url the gateways of an account there")
		.addOption(stateOption(defaults))
		.addOption(engineOption())
		.option("--url <url>", "a running gateway (GANGLION_URL): try its guards and collectors")
		.option("--account <id>", "account of these gateways (GANGLION_ACCOUNT)")
		.option("--json", "print JSON")
		.addHelpText("after", "\n✓ correct   ! works, but may be a mistake   ✗ wrong: exits with 1")
		.action(async (flags) => {
			const { doctorCommand } = await import("./commands/doctor.ts");
			finish(await doctorCommand(flags, defaults));
		});
	ganglion
		.command("backup")
		.description("copy the state of a gateway, also while it runs")
		.addOption(stateOption(defaults))
		.requiredOption("--to <folder>", "folder of the copy, which must not exist", pathFrom(defaults))
		.action(async (flags) => {
			const { backupCommand } = await import("./commands/backup.ts");
			finish(await backupCommand(flags));
		});
}

function workerCommands(ganglion: Command, defaults: Defaults, finish: (code: number) => void): void {
	const specifier = "version of the package, or another specifier of npm";
	ganglion.commandsGroup("Use env.AI of a Worker:");
	ganglion
		.command("init")
		.description("make env.AI of the Worker in this folder a local gateway in development")
		.option("--binding <name>", "name of the binding (that of the ai block, or AI)")
		.option("--package <specifier>", specifier)
		.option("-y, --yes", "write without a question")
		.option("--dry-run", "only show the changes")
		.action(async (flags) => {
			const { initCommand } = await import("./commands/init.ts");
			finish(await initCommand({ ...flags, folder: pathFrom(defaults)(".") }));
		});
	ganglion
		.command("create")
		.description("create a Worker whose env.AI is a local gateway in development")
		.argument("<folder>", "a new folder", pathFrom(defaults))
		.option("--package <specifier>", specifier)
		.action(async (folder: string, flags: { package?: string }) => {
			const { createCommand } = await import("./commands/init.ts");
			finish(await createCommand(folder, flags.package));
		});
}

const stateOption = (defaults: Defaults): Option =>
	new Option("--state <folder>", "folder of accounts, tokens and bills")
		.argParser(pathFrom(defaults))
		.default(defaults.state ?? pathFrom(defaults)(DEFAULT_STATE), DEFAULT_STATE);

function gatewayCommand(parent: Command, name: string, defaults: Defaults): Command {
	return engineOptions(withConfig(parent.command(name), shownConfig(defaults)))
		.option("-p, --port <n>", "port to listen on", readPort(), DEFAULT_PORT)
		.option("--host <address>", "address to listen on: 0.0.0.0 for all networks", readHost, DEFAULT_HOST)
		.addOption(stateOption(defaults))
		.addOption(logFormatOption())
		.addOption(logLevelOption());
}
