/** `ROUTES` and `DEFAULT_BACKEND`: which backends serve which models. */
import { didYouMean, didYouMeanField, quote } from "../core/did-you-mean.ts";
import { isRecord } from "../core/json.ts";
import type { ConfiguredBackend, Continuation } from "../pipeline/plan.ts";
import type { Route } from "../pipeline/route.ts";
import { expectedName, kindOf } from "../schemas/explain.ts";
import { refuseSecondKey, SIMULATOR } from "./backends.ts";
import type { Env } from "./headers.ts";
import type { Path, Problems } from "./problems.ts";
import { type ReadSettings, Settings, TARGET_EXAMPLE, TargetsSetting } from "./route-settings.ts";

export interface RouteContext {
	env: Env;
	backends: ReadonlyMap<string, ConfiguredBackend>;
	/** Unparsed, so that a backend with a mistake is not reported as missing. */
	backendEntries: ReadonlyMap<string, unknown>;
	problems: Problems;
}

export function readRoutes(entries: [string, unknown][], context: RouteContext): Route[] {
	const schema = TargetsSetting(context.env);
	return entries.map(([pattern, entry]) => {
		const path: Path = ["ROUTES", pattern];
		if (!/^\S+$/.test(pattern))
			context.problems.add(path, "expected a model id or a pattern, found spaces or nothing");
		const { list, listPath, settings, strict, timeouts } = readEntry(entry, path, context.problems);
		if (Array.isArray(list))
			for (const [i, target] of list.entries()) checkBackend(target, [...listPath, i], context);
		const parsed = list === undefined ? undefined : context.problems.parse(schema, list, listPath);
		if (settings?.passthrough && Array.isArray(list)) checkKinds(list, listPath, context);
		return {
			pattern,
			...(settings && { settings }),
			...(strict !== undefined && { strict }),
			targets: (parsed ?? []).flatMap(
				({ backend: name, headers = {}, continues, weights_absent: weightsAbsent, ...target }) => {
					const backend = context.backends.get(String(name));
					if (!backend) return [];
					return [
						{
							...target,
							backend,
							headers,
							timeouts: { ...timeouts, ...target.timeouts },
							...(weightsAbsent && { weightsAbsent }),
							...(continues !== undefined && { continues: continues && continuationOf(backend, continues) }),
						},
					];
				},
			),
		};
	});
}

interface Entry extends ReadSettings {
	/** Unparsed targets. `undefined` if the mistake is reported already. */
	list: unknown;
	listPath: Path;
}

/** Reads a list of targets, or an object with `targets` and settings. */
function readEntry(entry: unknown, path: Path, problems: Problems): Entry {
	const plain = { timeouts: {} };
	if (Array.isArray(entry)) return { list: entry, listPath: path, ...plain };
	const listPath: Path = [...path, "targets"];
	if (!isRecord(entry) || !("targets" in entry)) {
		problems.add(
			path,
			`expected a list of targets such as [${TARGET_EXAMPLE}], or an object with "targets", found ${describeEntry(entry)}`,
		);
		return { list: undefined, listPath, ...plain };
	}
	return { list: entry.targets, listPath, ...(problems.parse(Settings, entry, path) ?? plain) };
}

function describeEntry(entry: unknown): string {
	if (!isRecord(entry)) return kindOf(entry);
	if ("backend" in entry) return "a target that is in no list";
	const names = Object.keys(entry);
	const [misspelled] = names.filter((name) => didYouMeanField(name, ["targets"]) !== "");
	return `an object without "targets"${misspelled === undefined ? "" : `, but with ${quote(misspelled)}`}`;
}

/**
 * Engines with a copy of OpenAI's API start a new message unless a field requests the continuation. Other engines continue the
 * last one.
 */
const continuationOf = ({ kind }: ConfiguredBackend, set: true | Continuation): Continuation =>
	set !== true ? set : kind === "openai" ? "vllm" : "prefill";

export function checkBackend(target: unknown, path: Path, context: RouteContext): void {
	if (!isRecord(target)) return;
	const { backend, headers } = target;
	const names = namesOf(context);
	if (typeof backend !== "string" || !names.includes(backend))
		context.problems.add([...path, "backend"], expectedBackend(context, backend));
	else {
		const configured = context.backendEntries.get(backend);
		if (isRecord(configured))
			refuseSecondKey(headers, configured.key, [...path, "headers"], context.problems);
	}
}

/** Streams of other kinds are translated, so they cannot be passed through. */
function checkKinds(targets: readonly unknown[], path: Path, { backends, problems }: RouteContext): void {
	for (const [i, target] of targets.entries()) {
		const name = isRecord(target) ? String(target.backend) : "";
		const kind = backends.get(name)?.kind;
		if (kind !== undefined && kind !== "openai")
			problems.add(
				[...path, i, "backend"],
				`expected a backend of kind "openai" with "passthrough": true, found one of kind "${kind}"`,
			);
	}
}

/** The names of backends, also of those with mistakes. */
export const namesOf = ({ backendEntries }: RouteContext): string[] => [
	...new Set([...backendEntries.keys(), SIMULATOR]),
];

/** The sentence about a name that no backend has. */
export function expectedBackend(context: RouteContext, found: unknown): string {
	const names = namesOf(context);
	const isMissing =
		context.backendEntries.size === 0 && typeof found === "string" && didYouMean(found, names) === "";
	return expectedName(names, found) + (isMissing ? ": BACKENDS is not set, so add this backend there" : "");
}

/** The backend of models that no route matches. */
export function readDefaultBackend(value: unknown, context: RouteContext): ConfiguredBackend | undefined {
	if (value === undefined || value === "") return undefined;
	const names = namesOf(context);
	if (typeof value === "string" && names.includes(value)) return context.backends.get(value);
	context.problems.add(["DEFAULT_BACKEND"], expectedBackend(context, value));
	return undefined;
}
