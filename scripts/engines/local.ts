/**
 * The engines of this machine as the settings of a gateway: they answer for the models of the catalogue that they have a
 * near one for, the simulator for the rest. Only where nobody has said which engines to use, and never in tests or in CI,
 * which must give the same answers on every machine, unless they are told to.
 */
import { PRODUCT_MODELS } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import { nearest } from "./match.ts";
import type { Engine } from "./probe.ts";

/** `true`, `false`, or the ports to look at; absent: unless in CI or in a test. */
export type LocalEngines = boolean | readonly number[] | undefined;

const UNATTENDED = ["CI", "VITEST"];

export function wantsLocalEngines(
	wanted: LocalEngines,
	settings: { BACKENDS?: unknown; ROUTES?: unknown },
	env: Readonly<Record<string, string | undefined>>,
): boolean {
	if (wanted === false || !isUnset(settings.BACKENDS) || !isUnset(settings.ROUTES)) return false;
	return wanted !== undefined || !UNATTENDED.some((name) => isOn(env[name]));
}

const isOn = (value: string | undefined): boolean => !["", "0", "false"].includes(value?.toLowerCase() ?? "");

/** As a variable may say nothing. */
function isUnset(setting: unknown): boolean {
	if (typeof setting === "string") return /^\s*(\{\s*\})?\s*$/.test(setting);
	return setting === undefined || (typeof setting === "object" && Object.keys(setting ?? {}).length === 0);
}

export interface LocalSettings {
	BACKENDS: Record<string, { kind: string; url: string }>;
	ROUTES: Record<string, { backend: string; model: string }[]>;
	/** Which engine serves what, a line each, for people. */
	lines: string[];
}

/** `undefined` where no engine has a near model for any. `now`: epoch milliseconds; what has ended by then has ended. */
export function settingsFor(engines: readonly Engine[], now: number): LocalSettings | undefined {
	const served = engines.flatMap((engine) => engine.models.map((model) => ({ ...model, engine })));
	const matches = PRODUCT_MODELS.filter((model) => isOffered(model, now)).flatMap((model) => {
		const near = nearest(model, served);
		return near ? [{ model, near }] : [];
	});
	if (matches.length === 0) return undefined;
	const used = engines.filter((engine) => matches.some(({ near }) => near.engine === engine));
	return {
		BACKENDS: Object.fromEntries(used.map(({ name, kind, url }) => [name, { kind, url }])),
		ROUTES: Object.fromEntries(
			matches.map(({ model, near }) => [model.id, [{ backend: near.engine.name, model: near.name }]]),
		),
		lines: used.flatMap((engine) => describe(engine, matches)),
	};
}

/** For ports that an operator has named: a line for each where no engine with models answered. */
export const portsWithoutEngine = (ports: readonly number[], engines: readonly Engine[]): string[] =>
	ports
		.filter((port) => !engines.some(({ url }) => Number(new URL(url).port || 80) === port))
		.map((port) => `no engine with a model answered on 127.0.0.1:${port}`);

/** A route by its name would bring back what the product has ended. */
const isOffered = ({ status, deprecated }: Model, now: number): boolean =>
	status !== "removed" && (deprecated === undefined || Date.parse(deprecated) > now);

interface Match {
	model: Model;
	near: { name: string; engine: Engine };
}

/** Ids that are shown; of more, the number. */
const MOST_IDS = 2;

function describe(engine: Engine, matches: readonly Match[]): string[] {
	return engine.models.flatMap(({ name }) => {
		const ids = matches
			.filter(({ near }) => near.engine === engine && near.name === name)
			.map(({ model }) => model.id);
		if (ids.length === 0) return [];
		const more = ids.length > MOST_IDS ? ` and ${ids.length - MOST_IDS} more` : "";
		return [`${ids.slice(0, MOST_IDS).join(", ")}${more}  ->  ${engine.name} (${engine.url}) ${name}`];
	});
}
