/** Names of environment variables that are probably misspelled settings. Their values are not read. */
import { comparable, nearestName, noSuchVariable, OF_THE_COMMAND } from "./command-names.ts";
import { GUARD_SETTINGS, SERVED_BUILD } from "./internal-names.ts";
import { settingNames } from "./setting-names.ts";

/** One line each. `used`: the names that the configuration reads, also those of secrets. */
export function misspelledInEnvironment(
	environment: Readonly<Record<string, unknown>>,
	used: ReadonlySet<string>,
	platform?: string,
): string[] {
	const names = [...settingNames(), ...OF_THE_COMMAND];
	const inOneCase = (list: Iterable<string>): string[] => [...list].map((name) => comparable(name, platform));
	const known = new Set([
		...inOneCase([...names, ...used]),
		...[GUARD_SETTINGS, SERVED_BUILD],
		...serviceNames(inOneCase(Object.keys(environment))),
	]);
	return Object.keys(environment).flatMap((shown) => {
		const name = comparable(shown, platform);
		if (known.has(name)) return [];
		const guess = nearestName(name, names);
		return guess === undefined && !name.startsWith("GANGLION_") ? [] : [noSuchVariable(shown, guess)];
	});
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
