/** Names of environment variables that are probably misspelled settings. Their values are not read. */
import { asQuestion, misspelledNames } from "../src/core/did-you-mean.ts";
import { settingNames } from "./setting-names.ts";

/** Those that the command reads besides the settings of a deployment. */
const OF_THE_COMMAND = [
	"GANGLION_ACCOUNT",
	"GANGLION_ENGINE",
	"GANGLION_ENGINE_PACKAGES",
	"GANGLION_HUB",
	"GANGLION_MODELS",
	"GANGLION_MODELS_MEMORY_GB",
	"GANGLION_TOKEN",
	"GANGLION_URL",
];
/** Set for processes that the command starts. */
const INTERNAL = new Set(["GANGLION_GUARD"]);
/** Other programs have shorter ones, such as COLS. */
const MIN_CHARACTERS = 5;

/** One line each. `used`: the names that the configuration reads, also those of secrets. */
export function misspelledInEnvironment(
	environment: Readonly<Record<string, unknown>>,
	used: ReadonlySet<string>,
): string[] {
	const names = [...settingNames(), ...OF_THE_COMMAND];
	return Object.keys(environment).flatMap((name) => {
		if (name.length < MIN_CHARACTERS || names.includes(name) || used.has(name) || INTERNAL.has(name))
			return [];
		const [guess] = misspelledNames(name, names, (known) => known);
		if (guess === undefined && !name.startsWith("GANGLION_")) return [];
		return [
			`${name} of the environment: no setting has this name, so it has no effect${guess === undefined ? "" : asQuestion(guess)}`,
		];
	});
}
