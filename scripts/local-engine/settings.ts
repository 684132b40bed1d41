/** The settings of a gateway whose models run on this machine. Routes of the configuration have precedence. */
import { ConfigError } from "../../src/config/index.ts";
import { isRecord, parseJson } from "../../src/core/json.ts";
import { matches } from "../../src/pipeline/route.ts";
import type { LocalEngine } from "./index.ts";
import { sizeText } from "./progress.ts";
import { labelOf, servedModels } from "./table.ts";

/** The name in `BACKENDS`, and that of its kind. */
export const LOCAL = "local";
const KEY_VARIABLE = "LOCAL_ENGINE_KEY";
/** A large model is read from the disk before its first answer. */
const HEADER_MS = 120_000;

/** Settings that name engines: an object, or its JSON text. */
interface OwnSettings {
	BACKENDS?: unknown;
	ROUTES?: unknown;
}

export type LocalSettings = {
	BACKENDS: Record<string, unknown>;
	ROUTES: Record<string, unknown>;
	[KEY_VARIABLE]: string;
};

/** `now`: epoch milliseconds. Throws a `ConfigError` if another backend has the name. */
export function localSettings(
	{ url, key, library }: Pick<LocalEngine, "url" | "key" | "library">,
	own: OwnSettings,
	now: number,
): LocalSettings {
	const backends = recordOf(own.BACKENDS);
	const routes = recordOf(own.ROUTES);
	if (LOCAL in backends)
		throw new ConfigError([`BACKENDS.${LOCAL}: expected another name, because --engine local has this one`]);
	const revisions = new Map(library.present.map(({ weights, manifest }) => [weights, manifest.revision]));
	const patterns = Object.keys(routes);
	const served = [...servedModels(now, (weights) => revisions.has(weights))]
		.filter(([id]) => !patterns.some((pattern) => matches(pattern, id)))
		.map(([id, model]): [string, object[]] => {
			const { weights } = model;
			const revision = revisions.get(weights);
			const target = {
				backend: LOCAL,
				weights: labelOf(model, revision),
				...(revision === undefined && { weights_absent: true }),
			};
			return [id, [weights.name === id ? target : { ...target, model: weights.name }]];
		});
	return {
		BACKENDS: {
			...backends,
			[LOCAL]: { kind: LOCAL, url, key: KEY_VARIABLE, timeouts: { header_ms: HEADER_MS } },
		},
		ROUTES: { ...routes, ...Object.fromEntries(served) },
		[KEY_VARIABLE]: key,
	};
}

/** The configuration reports a value that is no object. */
function recordOf(setting: unknown): Record<string, unknown> {
	const value = typeof setting === "string" ? parseJson(setting) : setting;
	return isRecord(value) ? value : {};
}

const MAX_NAMES = 4;

/** Which weights are here, to print. */
export function describeLibrary({ library }: Pick<LocalEngine, "library">, pulls: boolean): string[] {
	const here = library.present.map(({ weights, size }) => `${weights.name} (${sizeText(size)})`);
	const missing = library.rows().filter(({ present }) => !present).length;
	const cure = pulls
		? "each is downloaded at its first use"
		: 'npx ganglion models pull NAME downloads one; with --pull (plugin: "pull": true), each is downloaded at its first use';
	const more = here.length > MAX_NAMES ? ` and ${here.length - MAX_NAMES} more` : "";
	return [
		`Weights in ${library.folder}`,
		`  on the disk: ${here.length === 0 ? "none" : here.slice(0, MAX_NAMES).join(", ") + more}`,
		`  not on the disk: ${missing} (${cure}; names and sizes: npx ganglion models list)`,
	];
}
