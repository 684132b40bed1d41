/**
 * Engines of this machine, for a binding whose options name none. They are looked for once a session: Miniflare asks for
 * a Worker's bindings and for its services one after the other, and both must be of the same gateway.
 */
import {
	type LocalSettings,
	portsWithoutEngine,
	settingsFor,
	wantsLocalEngines,
} from "../scripts/engines/local.ts";
import { findEngines } from "../scripts/engines/probe.ts";
import type { Env } from "../src/config/headers.ts";
import { LocalEngines } from "./options.ts";

/** By the ports that were looked at. Of the process, as the engines are. */
const searches = new Map<string, Promise<LocalSettings | undefined>>();

/** The options with the engines in them; as they are where there are none, or they are not wanted. */
export async function withLocalEngines(
	options: Env,
	processEnv: Readonly<Record<string, string | undefined>>,
): Promise<Env> {
	if ("url" in options) return options;
	// What it may not be is told with the other mistakes.
	const { data: wanted, success } = LocalEngines.optional().safeParse(options.localEngines);
	if (!success || !wantsLocalEngines(wanted, options, processEnv)) return options;
	const found = await search(Array.isArray(wanted) ? wanted : undefined);
	return found ? { ...options, BACKENDS: found.BACKENDS, ROUTES: found.ROUTES } : options;
}

function search(ports: readonly number[] | undefined): Promise<LocalSettings | undefined> {
	const key = String(ports);
	const known = searches.get(key);
	if (known) return known;
	const searching = findEngines(ports ? { ports } : {}).then((engines) => {
		const found = settingsFor(engines, Date.now());
		if (found) untold.push(...found.lines);
		missing.push(...portsWithoutEngine(ports ?? [], engines));
		return found;
	});
	searches.set(key, searching);
	return searching;
}

/** What nobody has been told yet. */
const untold: string[] = [];

/** Named ports without an engine, not yet announced. */
const missing: string[] = [];

/** Says once which engines answer, how to have it otherwise, and which of the named ports have no engine. */
export function announceEngines(say: (line: string) => void): void {
	for (const line of missing.splice(0)) say(`ganglion: options.localEngines: ${line}`);
	const lines = untold.splice(0);
	if (lines.length === 0) return;
	say("ganglion: engines on this machine answer (options.localEngines: false leaves them alone)");
	for (const line of lines) say(`  ${line}`);
}
