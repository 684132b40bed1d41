/** Probable mistakes in a valid configuration, one line each, for the start. */
import { asQuestion, misspelledNames } from "../core/did-you-mean.ts";
import { type Catalog, PRODUCT_MODELS } from "../models/catalog.ts";
import { THIRD_PARTY_IDS } from "../models/third-party.ts";
import type { Limits } from "../pipeline/limits.ts";
import { isExact, matches, type Route, type RouteTable } from "../pipeline/route.ts";
import type { Aliases } from "../pipeline/services.ts";
import { chargesFor, isOwnEngine } from "../providers/billing.ts";
import { list } from "../schemas/explain.ts";
import { DEFAULT_PRICE, hasBudget } from "./prices.ts";
import { formatPath, type Path } from "./problems.ts";

interface Checked {
	aliases: Aliases;
	adHoc: readonly string[];
	catalog: Catalog;
	limits: Limits;
	routing: RouteTable;
}

export const warningsOf = (config: Checked): string[] => [
	...config.routing.routes.flatMap((route) => unknownModel(route, config)),
	...withoutEffect(config),
	...(hasBudget(config.limits) ? unpriced(config) : []),
];

const knownIds = (): string[] => [...PRODUCT_MODELS.map(({ id }) => id), ...THIRD_PARTY_IDS];

/** A new id is valid, but one that resembles an id of the catalogue is probably misspelled. */
function unknownModel(route: Route, { adHoc }: Pick<Checked, "adHoc">): string[] {
	const { pattern } = route;
	const path = formatPath(["ROUTES", pattern]);
	if (isExact(route)) {
		const [guess] = adHoc.includes(pattern) ? misspelledNames(pattern, knownIds(), (id) => id) : [];
		return guess === undefined
			? []
			: [`${path}: the catalogue has no such model${asQuestion(guess)} Served as a text model of your own`];
	}
	const isProduct = /^@(?:cf|hf)\//.test(pattern);
	if (!isProduct || knownIds().some((id) => matches(pattern, id))) return [];
	return [`${path}: no model of the catalogue matches`];
}

/** Limits of names that are no models, because they are misspelled, or aliases. */
function withoutEffect({
	aliases,
	catalog,
	limits,
}: Pick<Checked, "aliases" | "catalog" | "limits">): string[] {
	const ofEveryone = limits.everyone.models;
	const places: [Path, string][] = [
		...[...ofEveryone.keys()].map((id): [Path, string] => [["LIMITS", "models", id], id]),
		...[...limits.accounts].flatMap(([account, { models }]) =>
			[...models.keys()]
				.filter((id) => !ofEveryone.has(id))
				.map((id): [Path, string] => [["LIMITS", "accounts", account, "models", id], id]),
		),
	];
	return places.flatMap(([path, id]) => {
		if (catalog.find(id)) return [];
		const model = aliases.everyone.get(id);
		const guess = model ?? misspelledNames(id, knownIds(), (known) => known)[0];
		if (guess === undefined) return [];
		return [
			`${formatPath(path)}: ${model ? "an alias is no model" : "the catalogue has no such model"}, so the limit has no effect${asQuestion(guess)}`,
		];
	});
}

/** Routes that use the default price, by backend. */
function unpriced({ catalog, routing }: Checked): string[] {
	const byBackend = new Map<string, Set<string>>();
	for (const route of routing.routes) {
		const model = isExact(route) ? catalog.find(route.pattern) : undefined;
		if (model && model.priceSource !== "default") continue;
		for (const { backend } of route.targets) {
			if (!isOwnEngine(backend) || backend.prices || chargesFor(backend, route.pattern)) continue;
			const patterns = byBackend.get(backend.backend) ?? new Set();
			byBackend.set(backend.backend, patterns.add(route.pattern));
		}
	}
	const { input, output, request } = DEFAULT_PRICE;
	return [...byBackend].map(
		([backend, patterns]) =>
			`${formatPath(["BACKENDS", backend])}: no price is set, and LIMITS has a budget. What ${list([...patterns], "and")} serves, where neither the catalogue nor MODELS has a price, costs the default: ${input} neurons per M input tokens, ${output} per M output tokens, ${request} per request without tokens. Set "price" ({"input": 0, "output": 0} for free)`,
	);
}
