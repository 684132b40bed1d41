/** Runs one command line. */
import { refuseNpmOptions } from "../scripts/options.ts";
import { stopWith } from "../scripts/stop-with.ts";
import type { Defaults } from "./config-location.ts";
import { CommandError } from "./gateway-client.ts";
import { program } from "./program.ts";
import { VERSION } from "./version.ts";

export async function main(args: readonly string[], defaults: Defaults = {}): Promise<void> {
	const ganglion = program(VERSION, defaults, (code) => process.exit(code));
	try {
		await ganglion.parseAsync([...args], { from: "user" });
	} catch (error) {
		if (error instanceof CommandError) stopWith(`error: ${error.message}`);
		throw error;
	}
}

/** A command of the project's own `npm run`. npm takes options that do not follow a `--`. */
export async function mainOfNpmScript(command: string, defaults: Defaults): Promise<void> {
	const { commands } = program(VERSION, defaults, () => {});
	const options = commands.find((one) => one.name() === command)?.options ?? [];
	refuseNpmOptions(options.map((option) => option.name()));
	await main([command, ...process.argv.slice(2)], defaults);
}
