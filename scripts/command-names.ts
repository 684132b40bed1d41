/** Names of environment variables that the command and the Miniflare plugin read besides the settings of a deployment. */
import { asQuestion, misspelledNames } from "../src/core/did-you-mean.ts";

/** Those of commands that call a gateway. */
const OF_A_CONNECTION = ["GANGLION_ACCOUNT", "GANGLION_TOKEN", "GANGLION_URL"];
export const OF_THE_COMMAND = [
	...OF_A_CONNECTION,
	"GANGLION_ENGINE",
	"GANGLION_ENGINE_PACKAGES",
	"GANGLION_HUB",
	"GANGLION_MODELS",
	"GANGLION_MODELS_MEMORY_GB",
	"GANGLION_RECORDINGS",
];
/** Other programs have shorter ones, such as COLS. */
const MIN_CHARACTERS = 5;
/** One slip in so many. Other programs have names that differ more, such as API_TOKEN and MODULES. */
const CHARACTERS_PER_SLIP = 5;

/** For comparisons: Windows has one variable for all cases of a name. */
export const comparable = (name: string, platform: string = process.platform): string =>
	platform === "win32" ? name.toUpperCase() : name;

/** The name that is probably meant by `name`. */
export function nearestName(name: string, names: readonly string[]): string | undefined {
	if (name.length < MIN_CHARACTERS) return undefined;
	const near = misspelledNames(name, names, (known) => known, CHARACTERS_PER_SLIP);
	return near.find((known) => known.length >= MIN_CHARACTERS);
}

/** `question`: with the name that is probably meant, or empty. */
export const noSuchSetting = (name: string, question: string): string =>
	`${name}: no setting has this name, so it has no effect${question}`;

export const noSuchVariable = (name: string, guess?: string): string =>
	noSuchSetting(`${name} of the environment`, guess === undefined ? "" : asQuestion(guess));

/** One line for each misspelled address, account or token that is not set under its right name too. */
export function misspelledConnection(
	environment: Readonly<Record<string, unknown>>,
	platform?: string,
): string[] {
	const present = new Set(Object.keys(environment).map((name) => comparable(name, platform)));
	const absent = OF_A_CONNECTION.filter((known) => !present.has(known));
	return Object.keys(environment).flatMap((name) => {
		const guess = OF_THE_COMMAND.includes(comparable(name, platform)) ? undefined : nearestName(name, absent);
		return guess === undefined ? [] : [noSuchVariable(name, guess)];
	});
}
