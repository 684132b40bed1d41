/** Names of environment variables that are probably misspelled settings. Their values are not read. */
import { asQuestion, editDistance, misspelledNames } from "../src/core/did-you-mean.ts";
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
/** Set for processes that a command starts. */
const INTERNAL = new Set(["GANGLION_GUARD", "GANGLION_SERVED_BUILD"]);
/** Other programs have shorter ones, such as COLS. */
const MIN_CHARACTERS = 5;
/** One slip in so many. Other programs have names that differ more, such as API_TOKEN and MODULES. */
const CHARACTERS_PER_SLIP = 5;

/** One line each. `used`: the names that the configuration reads, also those of secrets. */
export function misspelledInEnvironment(
	environment: Readonly<Record<string, unknown>>,
	used: ReadonlySet<string>,
): string[] {
	const names = [...settingNames(), ...OF_THE_COMMAND];
	const others = new Set([...used, ...INTERNAL, ...serviceNames(Object.keys(environment))]);
	return Object.keys(environment).flatMap((name) => {
		if (name.length < MIN_CHARACTERS || names.includes(name) || others.has(name)) return [];
		const [guess] = misspelledNames(name, names, (known) => known).filter((known) => isNear(name, known));
		if (guess === undefined && !name.startsWith("GANGLION_")) return [];
		return [
			`${name} of the environment: no setting has this name, so it has no effect${guess === undefined ? "" : asQuestion(guess)}`,
		];
	});
}

function isNear(name: string, known: string): boolean {
	const slips = Math.floor(name.length / CHARACTERS_PER_SLIP);
	return (
		known.length >= MIN_CHARACTERS && editDistance(name.toLowerCase(), known.toLowerCase(), slips) <= slips
	);
}

const SERVICE_HOST = "_SERVICE_HOST";

/**
 * Kubernetes sets them for each service beside a pod, so a service `ganglion` has `GANGLION_PORT` and others:
 * kubernetes.io/docs/concepts/services-networking/service/#environment-variables
 */
function serviceNames(names: readonly string[]): string[] {
	const services = names.flatMap((name) =>
		name.endsWith(SERVICE_HOST) ? name.slice(0, -SERVICE_HOST.length) : [],
	);
	return names.filter((name) =>
		services.some(
			(service) =>
				[`${service}${SERVICE_HOST}`, `${service}_PORT`].includes(name) ||
				[`${service}_SERVICE_PORT`, `${service}_PORT_`].some((start) => name.startsWith(start)),
		),
	);
}
