/**
 * Adapters of llama.cpp's server, which it has from its start (`--lora`). A request lists those that it uses, by their position; an adapter
 * that is not listed has the scale 0 (github.com/ggml-org/llama.cpp/tree/master/tools/server). The positions are read with each request
 * that names an adapter, because another start of the engine may change them.
 *
 * Observed: with `--lora-init-without-apply` the list has the scale 1 too, so requests without an adapter get zeros that change nothing.
 */
import * as z from "zod";
import { BoundedMap } from "../../../core/bounded-map.ts";
import { hasPassed } from "../../../core/elapsed.ts";
import { lazy } from "../../../core/lazy.ts";
import { getJson } from "../../transport/http.ts";
import type { Call } from "../../transport/upstream-failure.ts";

const LoadedAdapters = lazy(() =>
	z.array(z.looseObject({ id: z.int().min(0), path: z.string(), scale: z.number().optional() })),
);

/** The field `lora` of a request. */
export type AdapterScales = readonly { id: number; scale: number }[];

/** How long it is known whether the engine applies adapters to requests that name none. */
const KNOWN_MS = 60_000;
const MAX_REPLICAS = 1_000;

const adaptersOf = (call: Call) => {
	const { target } = call;
	// The address of the server, without the `/v1` of OpenAI's API.
	const root = { ...call, target: { ...target, url: target.url.replace(/\/v1$/, "") } };
	return getJson(root, "/lora-adapters", LoadedAdapters());
};

/** `undefined`: the engine has no adapter of that name. */
export async function scalesFor(name: string, call: Call): Promise<AdapterScales | undefined> {
	const found = (await adaptersOf(call)).find(({ path }) => baseName(path) === name);
	return found && [{ id: found.id, scale: 1 }];
}

/** The name of the file, without its folders and its end. */
const baseName = (path: string): string => (path.split(/[/\\]/).at(-1) ?? "").replace(/\.gguf$/i, "");

interface KnownBase {
	scales: AdapterScales | undefined;
	/** When it was read. */
	at: number;
}

const knownBases = new WeakMap<object, Map<string, KnownBase>>();

/**
 * For a request without an adapter: zeros, if the engine applies its adapters to such requests (it was started without
 * `--lora-init-without-apply`).
 */
export async function baseScales(call: Call): Promise<AdapterScales | undefined> {
	const { services, target } = call;
	const owner = target.observed ?? target;
	const known = knownBases.get(owner) ?? new BoundedMap<string, KnownBase>(MAX_REPLICAS);
	knownBases.set(owner, known);
	const latest = known.get(target.url);
	if (latest && !hasPassed(KNOWN_MS, latest.at, services.now())) return latest.scales;
	// If the engine cannot be reached, the request itself fails.
	const adapters = await adaptersOf(call).catch(() => []);
	const applied = adapters.filter(({ scale }) => scale !== 0);
	const scales = applied.length > 0 ? applied.map(({ id }) => ({ id, scale: 0 })) : undefined;
	known.set(target.url, { scales, at: services.now() });
	return scales;
}
