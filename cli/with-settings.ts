/** Settings of the command, in the variables of a gateway. */
import type { GatewayVariables } from "./workers.ts";

/** Replaces settings. A new value may come from the environment, so it is passed as a secret, which is written to no file. */
export function withSettings(
	{ vars, secrets }: GatewayVariables,
	replace: (settings: Readonly<Record<string, unknown>>) => object,
): GatewayVariables {
	const replaced = Object.entries(replace({ ...vars, ...secrets })).map(([name, value]): [string, string] => [
		name,
		typeof value === "string" ? value : JSON.stringify(value),
	]);
	const names = new Set(replaced.map(([name]) => name));
	return {
		vars: Object.fromEntries(Object.entries(vars).filter(([name]) => !names.has(name))),
		secrets: { ...secrets, ...Object.fromEntries(replaced) },
	};
}
