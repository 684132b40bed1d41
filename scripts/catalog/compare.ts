/** Compares our catalogue with the product's files. Facts that a file does not state are not compared. */
import type { ModelFacts, PriceList } from "./facts.ts";
import type { OwnFacts } from "./own-facts.ts";
import type { ProductFiles } from "./product-files.ts";

export interface Difference {
	field: string;
	/** `null`: unknown here. */
	here: unknown;
	product: unknown;
}

export interface Comparison {
	/** Models of the folder that we do not have. */
	missing: { id: string; task: string }[];
	changed: { id: string; differences: Difference[] }[];
	/** Our models of a kind of which the folder has files, but none of them. */
	gone: string[];
	unreadable: ProductFiles["unreadable"];
}

/** The files round prices to three digits. */
const PRICE_TOLERANCE = 0.005;

export function compare(own: readonly OwnFacts[], { models, unreadable }: ProductFiles): Comparison {
	const ownById = new Map(own.map((facts) => [facts.id, facts]));
	const ids = new Set(models.map(({ id }) => id));
	const kinds = new Set(models.map(({ kind }) => kind));
	return {
		missing: models.filter(({ id }) => !ownById.has(id)).map(({ id, task }) => ({ id, task })),
		changed: models.flatMap((model) => {
			const known = ownById.get(model.id);
			const differences = known ? differencesOf(known, model) : [];
			return differences.length > 0 ? [{ id: model.id, differences }] : [];
		}),
		gone: own
			.filter(({ id, kind, withoutFile }) => kinds.has(kind) && !ids.has(id) && !withoutFile)
			.map(({ id }) => id),
		unreadable,
	};
}

export const isEqual = (comparison: Comparison): boolean =>
	Object.values(comparison).every((list: unknown[]) => list.length === 0);

function differencesOf(own: ModelFacts, product: ModelFacts): Difference[] {
	const { id: _, kind, prices, ...facts } = product;
	const known: Readonly<Record<string, unknown>> = { ...own };
	const differences = Object.entries(facts)
		.filter(([field, value]) => JSON.stringify(known[field]) !== JSON.stringify(value))
		.map(([field, value]) => ({ field, here: known[field] ?? null, product: value }));
	return [...differences, ...priceDifferences(own.prices ?? {}, prices, kind === "third-party")];
}

/**
 * @param complete the file has all prices per token, so that another price of ours is wrong. The files of Workers AI lack some that the
 * pricing page has.
 */
function priceDifferences(own: PriceList, product: PriceList | undefined, complete: boolean): Difference[] {
	if (!product) return [];
	const units = [...new Set([...Object.keys(product), ...(complete ? Object.keys(own) : [])])];
	return units
		.filter((unit) => !isSamePrice(own[unit] ?? 0, product[unit] ?? 0))
		.map((unit) => ({ field: `price ${unit}`, here: own[unit] ?? null, product: product[unit] ?? null }));
}

const isSamePrice = (a: number, b: number): boolean =>
	Math.abs(a - b) <= PRICE_TOLERANCE * Math.max(Math.abs(a), Math.abs(b));

/** Several lines. The last one has the counts. */
export function describe({ missing, changed, gone, unreadable }: Comparison): string {
	const shown = (value: unknown): string => (value === null ? "nothing" : JSON.stringify(value));
	const sections = [
		section("Missing here", missing, ({ id, task }) => [`${id}  (${task})`]),
		section("Changed", changed, ({ id, differences }) => [
			id,
			...differences.map(
				({ field, here, product }) => `  ${field}: ${shown(here)} here, ${shown(product)} in the file`,
			),
		]),
		section("Not in the folder", gone, (id) => [id]),
		section("Unreadable", unreadable, ({ file, reason }) => [`${file}: ${reason}`]),
	];
	const counts = `${missing.length} missing, ${changed.length} changed, ${gone.length} gone, ${unreadable.length} unreadable`;
	return [...sections.flat(), counts].join("\n");
}

const section = <Entry>(
	title: string,
	entries: readonly Entry[],
	lines: (entry: Entry) => string[],
): string[] =>
	entries.length === 0 ? [] : [`${title}:`, ...entries.flatMap(lines).map((line) => `  ${line}`), ""];
