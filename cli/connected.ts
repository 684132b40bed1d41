/** The options of commands that call a gateway. */
import type { Command } from "commander";
import { misspelledConnection } from "../scripts/command-names.ts";
import { shownConfig } from "./config-location.ts";
import { engineOptions, localEngineOptions, withConfig } from "./flags.ts";
import { DEFAULT_URL } from "./gateway-client.ts";

const CONNECTION = `
The token of the account, or of the operator, is read from GANGLION_TOKEN.`;
const TEMPORARY = `
A gateway for development runs until the command ends if an option has a setting for it (--backend, --route, --config, …), or
if --url and GANGLION_URL are not set and no gateway answers on ${DEFAULT_URL}.`;

/** Receives the exit code of a command. */
export type Finish = (code: number) => void;

export const connected = (command: Command): Command =>
	command
		.option("--url <url>", `address of the gateway (GANGLION_URL, or ${DEFAULT_URL})`)
		.option("--account <id>", "account (GANGLION_ACCOUNT, or local)")
		.option("--json", "print JSON")
		.addHelpText("after", CONNECTION)
		.hook("preAction", () => {
			for (const line of misspelledConnection(process.env)) console.error(line);
		});

/** A command that starts a gateway if none runs. */
export const reaching = (command: Command): Command =>
	localEngineOptions(engineOptions(withConfig(connected(command), shownConfig({})))).addHelpText(
		"after",
		TEMPORARY,
	);
