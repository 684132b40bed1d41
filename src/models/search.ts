/**
 * `models/search`, `tasks/search` and `authors/search`. Pure functions of the query parameters and the time.
 *
 * The product's default page size, its order and its matching of `search` are unknown. Here they are 100, the catalogue's
 * order, and: every word occurs in the id, the description, the task or a tag.
 */
import * as z from "zod";
import { AiError } from "../core/errors.ts";
import { lazy } from "../core/lazy.ts";
import { own } from "../core/own.ts";
import { textFlag } from "../schemas/text-flag.ts";
import { type Catalog, isListed } from "./catalog.ts";
import type { Capability, Model } from "./model.ts";
import { type ListedTask, listedTask, TASK_TITLES } from "./tasks.ts";

const DEFAULT_PER_PAGE = 100;
const MAX_PER_PAGE = 1000;

/** A model as `models/search` and `env.AI.models()` return it. */
export interface SearchModel {
	/** The UUID. Callers run the model by `name`. */
	id: string;
	source: number;
	name: string;
	description: string;
	task: ListedTask;
	/** `YYYY-MM-DD hh:mm:ss.mmm`, absent if unknown. */
	created_at?: string;
	tags: string[];
	properties: Property[];
}

interface Property {
	property_id: string;
	value: string | { unit: string; price: number; currency: "USD" }[] | NonNullable<Model["reasoningEffort"]>;
}

const count = lazy(() =>
	z
		.string()
		.regex(/^[1-9]\d{0,8}$/)
		.transform(Number),
);

/** Other parameters are ignored: clients may have some that are newer than this list. */
export const SearchQuery = lazy(() =>
	z.object({
		search: z.string().optional(),
		author: z.string().optional(),
		task: z.string().optional(),
		source: z.string().regex(/^\d+$/).transform(Number).optional(),
		hide_experimental: textFlag().default(false),
		include_deprecated: textFlag().default(false),
		page: count().default(1),
		per_page: count()
			.refine((perPage) => perPage <= MAX_PER_PAGE)
			.default(DEFAULT_PER_PAGE),
		/** Any other value: the product's format. */
		format: z.string().optional(),
	}),
);
type Query = z.output<ReturnType<typeof SearchQuery>>;

const EXPECTED: Record<string, string> = {
	source: "a whole number",
	hide_experimental: "'true' or 'false'",
	include_deprecated: "'true' or 'false'",
	page: "a whole number from 1",
	per_page: `a whole number from 1 to ${MAX_PER_PAGE}`,
};

/** One page of the matching models. A page after the last is empty. Throws `badInput`. */
export function search(
	catalog: Catalog,
	query: Readonly<Record<string, string | undefined>>,
	now: number,
): { result: SearchModel[]; result_info: object } {
	const filters = parseQuery(query);
	const found = catalog.all.filter((model) => matches(model, filters, now));
	const { page, per_page } = filters;
	const result = found.slice((page - 1) * per_page, page * per_page).map(searchModel);
	return {
		result,
		result_info: {
			page,
			per_page,
			count: result.length,
			total_count: found.length,
			total_pages: Math.ceil(found.length / per_page),
		},
	};
}

/** Empty parameters count as absent, because forms send them. */
function parseQuery(query: Readonly<Record<string, string | undefined>>): Query {
	const parsed = SearchQuery().safeParse(
		Object.fromEntries(Object.entries(query).filter(([, value]) => value !== "")),
	);
	if (parsed.success) return parsed.data;
	const fields = [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))];
	const findings = fields.map((field) => `'${field}' must be ${own(EXPECTED, field)}`);
	throw new AiError("badInput", `Error: ${findings.join(", ")}`);
}

function matches(model: Model, filters: Query, now: number): boolean {
	return (
		isListed(model, now, filters.include_deprecated) &&
		(filters.source === undefined || model.source === filters.source) &&
		(filters.author === undefined || same(model.author, filters.author)) &&
		(filters.task === undefined || same(model.task, filters.task)) &&
		!(filters.hide_experimental && model.capabilities.includes("beta")) &&
		(filters.search === undefined || mentions(model, filters.search))
	);
}

const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

function mentions({ id, description, task, tags }: Model, text: string): boolean {
	const subject = [id, description, task, ...tags].join("\n").toLowerCase();
	return text
		.toLowerCase()
		.split(/\s+/)
		.every((word) => subject.includes(word));
}

function searchModel(model: Model): SearchModel {
	return {
		id: model.uuid,
		source: model.source,
		name: model.id,
		description: model.description,
		task: listedTask(model.task),
		...(model.created && { created_at: `${model.created} 00:00:00.000` }),
		tags: model.tags,
		properties: properties(model),
	};
}

/** The capabilities that the product shows as properties. */
export const FLAG_PROPERTIES: readonly Capability[] = [
	"async_queue",
	"beta",
	"function_calling",
	"lora",
	"partner",
	"realtime",
	"reasoning",
	"require_workers_paid",
	"vision",
];

function properties(model: Model): Property[] {
	const { contextWindow, maxInputTokens, dimensions, deprecated, reasoningEffort, prices } = model;
	const list: Property[] = FLAG_PROPERTIES.filter((flag) => model.capabilities.includes(flag)).map(
		(property_id) => ({ property_id, value: "true" }),
	);
	const add = (property_id: string, value: Property["value"] | undefined): void => {
		if (value !== undefined) list.push({ property_id, value });
	};
	add("context_window", contextWindow?.toString());
	add("max_input_tokens", maxInputTokens?.toString());
	add("output_dimensions", dimensions?.toString());
	add("reasoning_effort", reasoningEffort);
	add("planned_deprecation_date", deprecated);
	if (prices.length > 0)
		add(
			"price",
			prices.map(({ unit, usd, aboveInputTokens }) => ({
				unit: aboveInputTokens === undefined ? unit : `${unit} (above ${aboveInputTokens} input tokens)`,
				price: usd,
				currency: "USD",
			})),
		);
	return list;
}

export const taskList = (): ListedTask[] => TASK_TITLES.map(listedTask);

/** The authors of all models in the catalogue, in alphabetical order. `name` is a value of the parameter `author`. */
export function authorList(catalog: Catalog): { name: string }[] {
	const names = new Set(catalog.all.map(({ author }) => author).filter((author) => author !== ""));
	return [...names].sort().map((name) => ({ name }));
}
