/** The settings and the start message of a gateway for development. */
import {
	type LocalEngines,
	type LocalSettings,
	settingsFor,
	unusedPorts,
	usesLocalEngines,
} from "./engines/local.ts";
import { findEngines } from "./engines/probe.ts";

export const DEV_VARS = { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator" };
/** For ports that the user names: an engine is there, but may be busy. */
const NAMED_PORT_MS = 3000;

/** Searches for engines on this machine, if no engine is configured. Reports named ports that serve nothing. */
export async function localEngines(
	requested: LocalEngines,
	settings: { BACKENDS?: unknown; ROUTES?: unknown },
): Promise<LocalSettings | undefined> {
	if (!usesLocalEngines(requested, settings, process.env)) return undefined;
	const ports = typeof requested === "object" ? requested : undefined;
	const engines = await findEngines(ports ? { ports, timeoutMs: NAMED_PORT_MS } : {});
	const found = settingsFor(engines, Date.now());
	for (const line of unusedPorts(ports ?? [], engines, found)) console.error(`--engine-ports: ${line}`);
	return found;
}

/** The routes as configured: one line per model of the catalogue would be too long. */
export const linesOfEngines = ({ lines }: LocalSettings): string[] => [
	...lines,
	"everything else  ->  simulator",
	"",
	"(--no-local-engines disables these engines)",
];

/** `lines`: what serves the models. `notes`: warnings. */
export function devBanner({
	url,
	lines,
	notes,
}: {
	url: string;
	lines: readonly string[];
	notes: string;
}): string {
	return `
Ganglion is ready on ${url}
  Console: ${url}/console

  What serves the models
${lines.map((line) => `    ${line}`).join("\n")}
${notes}
  Try it
    curl -N ${url}/client/v4/accounts/local/ai/run/@cf/meta/llama-3.3-70b-instruct-fp8-fast \\
      -d '{"messages":[{"role":"user","content":"Hello, who are you?"}],"stream":true}'

  Open to everyone who can reach this address (ALLOW_ANONYMOUS), for development only. Ctrl-C stops it.
`;
}
