/**
 * Creates a gateway's settings from the engines of this machine. They serve the models of the catalogue for which they have a similar model, and the
 * simulator serves the others. Only if no engine is configured, and by default not in tests and CI, which must give the same answers on
 * every machine.
 */
import { PRODUCT_MODELS } from "../../src/models/catalog.ts";
import type { Model } from "../../src/models/model.ts";
import { nearest } from "./match.ts";
import type { Engine } from "./probe.ts";

/** `true`, `false`, or the ports to search. Absent: `true`, except in CI and in tests. */
export type LocalEngines = boolean | readonly number[] | undefined;

const UNATTENDED = ["CI", "VITEST"];

export function usesLocalEngines(
	setting: LocalEngines,
	settings: { BACKENDS?: unknown; ROUTES?: unknown },
	env: Readonly<Record<string, string | undefined>>,
): boolean {
	if (setting === false || !isUnset(settings.BACKENDS) || !isUnset(settings.ROUTES)) return false;
	return setting !== undefined || !UNATTENDED.some((name) => isOn(env[name]));
}

/** Whether a variable such as `CI` is set. */
export const isOn = (value: string | undefined): boolean =>
	!["", "0", "false"].includes(value?.toLowerCase() ?? "");

/** A variable may be empty. */
function isUnset(value: unknown): boolean {
	if (typeof value === "string") return /^\s*(\{\s*\})?\s*$/.test(value);
	return value === undefined || (typeof value === "object" && Object.keys(value ?? {}).length === 0);
}

export interface LocalSettings {
	BACKENDS: Record<string, { kind: string; url: string }>;
	ROUTES: Record<string, { backend: string; model: string }[]>;
	/** One line per engine and model, to print. */
	lines: string[];
}

/** `undefined` if no engine has a similar model. `now`: epoch milliseconds; deprecated models are skipped. */
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

/** For the ports that a user named: one line for each port that serves nothing, with the reason. */
export const unusedPorts = (
	ports: readonly number[],
	engines: readonly Engine[],
	settings: LocalSettings | undefined,
): string[] =>
	ports.flatMap((port) => {
		const engine = engines.find(({ url }) => Number(new URL(url).port || 80) === port);
		if (!engine) return `no engine with a model answered on 127.0.0.1:${port}`;
		if (settings?.BACKENDS[engine.name]) return [];
		const names = engine.models.map(({ name }) => name).join(", ");
		return `no model of the catalogue is similar to those of ${engine.name} (${engine.url}): ${names}. Name it in ROUTES`;
	});

/** A route with the name of a removed model would serve it again. */
const isOffered = ({ status, deprecated }: Model, now: number): boolean =>
	status !== "removed" && (deprecated === undefined || Date.parse(deprecated) > now);

interface Match {
	model: Model;
	near: { name: string; engine: Engine };
}

/** Ids to print. For the others, only their number is printed. */
const MAX_IDS = 2;

function describe(engine: Engine, matches: readonly Match[]): string[] {
	return engine.models.flatMap(({ name }) => {
		const ids = matches
			.filter(({ near }) => near.engine === engine && near.name === name)
			.map(({ model }) => model.id);
		if (ids.length === 0) return [];
		const suffix = ids.length > MAX_IDS ? ` and ${ids.length - MAX_IDS} more` : "";
		return [`${ids.slice(0, MAX_IDS).join(", ")}${suffix}  ->  ${engine.name} (${engine.url}) ${name}`];
	});
}
