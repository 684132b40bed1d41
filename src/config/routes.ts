/** `ROUTES` and `DEFAULT_BACKEND`: which backends serve which models. */
import * as z from "zod";
import type { Timeouts } from "../backends/backend.ts";
import { isRecord } from "../core/json.ts";
import { present } from "../core/present.ts";
import type {
	Continuation,
	RouteList,
	RouteSettings,
	RouteSummary,
	Routing,
	WeightedTarget,
} from "../pipeline/plan.ts";
import { chargesFor, isOwnEngine } from "../providers/billing.ts";
import { type ConfiguredBackend, refuseSecondKey, SIMULATOR } from "./backends.ts";
import { type Env, headers } from "./headers.ts";
import { expectedName, kindOf, type Path, type Problems } from "./problems.ts";
import { type ReadSettings, Settings } from "./route-settings.ts";
import { SetTimeouts } from "./timeouts.ts";

export interface RouteTarget {
	backend: ConfiguredBackend;
	/** The engine's name of the model. Absent: the name that the caller sent. */
	model?: string;
	/** Converts a model id to the engine's name, for a route that matches many models. */
	rename?(modelId: string): string;
	weight?: number;
	continues?: Continuation;
	loras?: readonly string[];
	headers: Record<string, string>;
	/** Timeouts of the route or the target. They have precedence over the backend's. */
	timeouts?: Partial<Timeouts>;
}

export interface Route {
	/** A model id, in which `*` matches any text, including slashes and nothing. */
	pattern: string;
	targets: RouteTarget[];
	settings?: RouteSettings;
	strict?: boolean;
}

/** Model ids in the cache. Callers can invent ids, so the cache is cleared when it is full. */
const MAX_CACHED = 1_000;
/** Longer ids are not cached. */
const MAX_CACHED_CHARACTERS = 256;

/** Precedence: an exact id, then the pattern with the most literal characters, then the first one in the configuration. */
export class RouteTable implements Routing, RouteList {
	/** In the order of the configuration. */
	readonly routes: readonly Route[];
	readonly defaultBackend: ConfiguredBackend | undefined;
	readonly #exact: ReadonlyMap<string, Route>;
	readonly #patterns: readonly Route[];
	/** Cache by model id. */
	readonly #found = new Map<string, NonNullable<ReturnType<Routing["find"]>>>();

	constructor(routes: readonly Route[], defaultBackend?: ConfiguredBackend) {
		this.routes = routes;
		this.defaultBackend = defaultBackend;
		this.#exact = new Map(routes.filter(isExact).map((route) => [route.pattern, route]));
		this.#patterns = routes
			.filter((route) => !isExact(route))
			.sort((a, b) => literalLength(b.pattern) - literalLength(a.pattern));
	}

	find(modelId: string): ReturnType<Routing["find"]> {
		const known = this.#found.get(modelId);
		if (known) return known;
		const found = this.#find(modelId);
		if (!found || modelId.length > MAX_CACHED_CHARACTERS) return found;
		if (this.#found.size >= MAX_CACHED) this.#found.clear();
		this.#found.set(modelId, found);
		return found;
	}

	list(): RouteSummary[] {
		const { defaultBackend, routes } = this;
		return [
			...routes.map(({ pattern, targets }) => ({ pattern, targets: targets.map(targetSummary) })),
			...(defaultBackend ? [{ pattern: "*", targets: [targetSummary({ backend: defaultBackend })] }] : []),
		];
	}

	#find(modelId: string): ReturnType<Routing["find"]> {
		const route = this.#exact.get(modelId) ?? this.#patterns.find(({ pattern }) => matches(pattern, modelId));
		if (route)
			return {
				billed: isBilled(route.targets, modelId),
				targets: route.targets.map((target) => weightedTarget(target, modelId, isExact(route))),
				named: true,
				strict: route.strict ?? isProduct(route.targets),
				...(route.settings && { settings: route.settings }),
			};
		if (!this.defaultBackend) return undefined;
		const target: RouteTarget = { backend: this.defaultBackend, headers: {} };
		return {
			billed: isBilled([target], modelId),
			targets: [weightedTarget(target, modelId, false)],
			named: false,
			strict: isProduct([target]),
		};
	}
}

/** The simulator represents Workers AI: what it accepts must work after `wrangler deploy`. */
const isProduct = (targets: readonly RouteTarget[]): boolean =>
	targets.every(({ backend }) => !isOwnEngine(backend));

const isBilled = (targets: readonly RouteTarget[], modelId: string): boolean =>
	targets.some(({ backend }) => isOwnEngine(backend) || chargesFor(backend, modelId));

const weightedTarget = (
	{ backend, model, rename, weight, continues, loras, headers, timeouts }: RouteTarget,
	modelId: string,
	/** Whether the route names exactly this model. */
	exact: boolean,
): WeightedTarget => ({
	...backend,
	model: model ?? rename?.(modelId) ?? modelId,
	headers: { ...backend.headers, ...headers },
	timeouts: { ...backend.timeouts, ...timeouts },
	...present({ weight, continues, loras }),
	...(model === undefined && !exact && { anyModel: true }),
});

const targetSummary = ({
	backend: { backend, urls, pool },
	model,
	weight,
}: Pick<RouteTarget, "backend" | "model" | "weight">): RouteSummary["targets"][number] => ({
	backend,
	urls,
	...present({ pool, model, weight }),
});

export const isExact = ({ pattern }: Route): boolean => !pattern.includes("*");

const literalLength = (pattern: string): number => pattern.replaceAll("*", "").length;

/** Linear in the length of the id. A regular expression for several `*` could backtrack exponentially. */
export function matches(pattern: string, id: string): boolean {
	const [first = "", ...rest] = pattern.split("*");
	const last = rest.pop();
	if (last === undefined) return pattern === id;
	if (!id.startsWith(first) || !id.endsWith(last) || id.length < first.length + last.length) return false;
	const end = id.length - last.length;
	let at = first.length;
	for (const part of rest) {
		const found = id.indexOf(part, at);
		if (found < 0 || found + part.length > end) return false;
		at = found + part.length;
	}
	return true;
}

/** `*` alone would allow all models of the engine. */
const adapter = z
	.string()
	.regex(/^[^*\s]+\*?$/, 'expected the name of an adapter, or how some begin and a "*", found another');

const targets = (env: Env) =>
	z
		.array(
			z.strictObject({
				// Checked below, against the backends.
				backend: z.unknown().optional(),
				model: z
					.string()
					.min(1)
					.refine((model) => !model.includes("*"), "expected the name of one model, found a pattern")
					.optional(),
				weight: z.number().positive().optional(),
				headers: headers(env).optional(),
				timeouts: SetTimeouts.optional(),
				continues: z.literal([true, "prefill", "vllm"]).optional(),
				loras: z.array(adapter).min(1).optional(),
			}),
		)
		.min(1);

export interface RouteContext {
	env: Env;
	backends: ReadonlyMap<string, ConfiguredBackend>;
	/** Unparsed, so that a backend with a mistake is not reported as missing. */
	backendEntries: ReadonlyMap<string, unknown>;
	problems: Problems;
}

export function readRoutes(entries: [string, unknown][], context: RouteContext): Route[] {
	const schema = targets(context.env);
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
			targets: (parsed ?? []).flatMap(({ backend: name, headers = {}, continues, ...target }) => {
				const backend = context.backends.get(String(name));
				if (!backend) return [];
				return [
					{
						...target,
						backend,
						headers,
						timeouts: { ...timeouts, ...target.timeouts },
						...(continues && { continues: continuationOf(backend, continues) }),
					},
				];
			}),
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
		const found = isRecord(entry) ? "an object without" : kindOf(entry);
		problems.add(path, `expected a list of targets, or an object with "targets", found ${found}`);
		return { list: undefined, listPath, ...plain };
	}
	return { list: entry.targets, listPath, ...(problems.parse(Settings, entry, path) ?? plain) };
}

/** Engines with a copy of OpenAI's API start a new message unless a field says otherwise. Other engines continue the last one. */
const continuationOf = ({ kind }: ConfiguredBackend, set: true | Continuation): Continuation =>
	set !== true ? set : kind === "openai" ? "vllm" : "prefill";

function checkBackend(target: unknown, path: Path, context: RouteContext): void {
	if (!isRecord(target)) return;
	const { backend, headers } = target;
	const names = namesOf(context);
	if (typeof backend !== "string" || !names.includes(backend))
		context.problems.add([...path, "backend"], expectedName(names, backend));
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
				`expected a backend of kind "openai" beside "passthrough", found one of kind "${kind}"`,
			);
	}
}

const namesOf = ({ backendEntries }: RouteContext): string[] => [
	...new Set([...backendEntries.keys(), SIMULATOR]),
];

/** The backend of models that no route matches. */
export function readDefaultBackend(value: unknown, context: RouteContext): ConfiguredBackend | undefined {
	if (value === undefined || value === "") return undefined;
	const names = namesOf(context);
	if (typeof value === "string" && names.includes(value)) return context.backends.get(value);
	context.problems.add(["DEFAULT_BACKEND"], expectedName(names, value));
	return undefined;
}
