/** The engines of the command line, as settings. Apart from the flags, because it loads the kinds of backends. */
import { BACKEND_KINDS } from "../src/backends/kinds.ts";
import { ConfigError } from "../src/config/index.ts";
import { parseJson } from "../src/core/json.ts";
import type { BackendFlag, RouteFlag } from "./flags.ts";

export interface EngineFlags {
	backend?: readonly BackendFlag[];
	route?: readonly RouteFlag[];
}

/**
 * `BACKENDS` and `ROUTES` of `settings`, with those of the command line first. Targets of one pattern are called in their order.
 * Empty if the command line has none.
 */
export function settingsOfFlags(
	settings: Readonly<Record<string, unknown>>,
	{ backend = [], route = [] }: EngineFlags,
): { BACKENDS?: object; ROUTES?: object } {
	if (backend.length === 0 && route.length === 0) return {};
	const backends = Object.fromEntries(
		backend.map((flag) => [flag.name, { kind: kindOf(flag), url: flag.url }]),
	);
	const routes: Record<string, Omit<RouteFlag, "pattern">[]> = {};
	for (const { pattern, ...target } of route) routes[pattern] = [...(routes[pattern] ?? []), target];
	return {
		BACKENDS: { ...backends, ...without(recordOf(settings, "BACKENDS"), backends) },
		ROUTES: { ...routes, ...without(recordOf(settings, "ROUTES"), routes) },
	};
}

function kindOf({ name, kind }: BackendFlag): string {
	const kinds: readonly string[] = BACKEND_KINDS;
	return kind ?? (kinds.includes(name) ? name : "openai");
}

const without = (record: object, replaced: object): object =>
	Object.fromEntries(Object.entries(record).filter(([name]) => !(name in replaced)));

/** A setting may be an object or its JSON text. */
function recordOf(settings: Readonly<Record<string, unknown>>, name: string): object {
	const setting = settings[name];
	const value = typeof setting === "string" ? parseJson(setting.trim() || "{}") : (setting ?? {});
	if (typeof value === "object" && value !== null) return value;
	throw new ConfigError([`${name}: expected a JSON object`]);
}
