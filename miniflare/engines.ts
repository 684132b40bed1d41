/**
 * Finds engines on this machine for a binding whose options name none. The search runs once per session, because Miniflare
 * requests a Worker's bindings and its services separately, and both must belong to the same gateway.
 */
import { type LocalSettings, settingsFor, unusedPorts, usesLocalEngines } from "../scripts/engines/local.ts";
import { findEngines } from "../scripts/engines/probe.ts";
import type { Env } from "../src/config/headers.ts";
import { LocalEngines } from "./options.ts";

/** Searches by their ports, shared by the whole process. */
const searches = new Map<string, Promise<LocalSettings | undefined>>();

/** Adds the engines found to the options. Returns the options unchanged if none is found or the search is disabled. */
export async function withLocalEngines(
	options: Env,
	processEnv: Readonly<Record<string, string | undefined>>,
): Promise<Env> {
	if ("url" in options) return options;
	// `readOptions` reports an invalid value with the other problems.
	const { data: localEngines, success } = LocalEngines.optional().safeParse(options.localEngines);
	if (!success || !usesLocalEngines(localEngines, options, processEnv)) return options;
	const found = await search(Array.isArray(localEngines) ? localEngines : undefined);
	return found ? { ...options, BACKENDS: found.BACKENDS, ROUTES: found.ROUTES } : options;
}

function search(ports: readonly number[] | undefined): Promise<LocalSettings | undefined> {
	const key = String(ports);
	const known = searches.get(key);
	if (known) return known;
	const searching = findEngines(ports ? { ports } : {}).then((engines) => {
		const found = settingsFor(engines, Date.now());
		if (found) unreported.push(...found.lines);
		unused.push(...unusedPorts(ports ?? [], engines, found));
		return found;
	});
	searches.set(key, searching);
	return searching;
}

/** Lines that were not reported yet. */
const unreported: string[] = [];

/** Named ports that serve nothing, not yet announced. */
const unused: string[] = [];

/** Reports once which engines are used, how to disable them, and which of the named ports serve nothing. */
export function announceEngines(say: (line: string) => void): void {
	for (const line of unused.splice(0)) say(`ganglion: options.localEngines: ${line}`);
	const lines = unreported.splice(0);
	if (lines.length === 0) return;
	say("ganglion: engines on this machine answer (options.localEngines: false leaves them alone)");
	for (const line of lines) say(`  ${line}`);
}
