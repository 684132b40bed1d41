/**
 * `models/search`, `tasks/search` and `authors/search`. Pure: the query as the URL has it, and the time, come in.
 *
 * Differences from the product: its default page size, its order and the way it matches `search` are not known; here
 * they are 100, the catalogue's order, and every word in the id, the description, the task or a tag.
 */
import * as z from "zod";
import { AiError } from "../errors.ts";
import { type Catalog, isListed } from "./catalog.ts";
import type { Capability, Model } from "./model.ts";
import { TASKS, type TaskEntry } from "./tasks.ts";

const DEFAULT_PER_PAGE = 100;
const MAX_PER_PAGE = 1000;

/** A model as `models/search` and `env.AI.models()` show it. */
export interface SearchModel {
	/** The UUID; what callers run is `name`. */
	id: string;
	source: number;
	name: string;
	description: string;
	task: TaskEntry;
	/** `YYYY-MM-DD hh:mm:ss.mmm`, absent where nobody knows. */
	created_at?: string;
	tags: string[];
	properties: Property[];
}

export interface Property {
	property_id: string;
	value: string | { unit: string; price: number; currency: "USD" }[] | NonNullable<Model["reasoningEffort"]>;
}

export interface ResultInfo {
	page: number;
	per_page: number;
	/** On this page. */
	count: number;
	total_count: number;
	total_pages: number;
}

export interface SearchResult {
	result: SearchModel[];
	result_info: ResultInfo;
}

const flag = z.enum(["true", "false"]).transform((text) => text === "true");
const count = z
	.string()
	.regex(/^[1-9]\d{0,8}$/)
	.transform(Number);

/** Other parameters are ignored. */
const Query = z.object({
	search: z.string().optional(),
	author: z.string().optional(),
	task: z.string().optional(),
	source: z.string().regex(/^\d+$/).transform(Number).optional(),
	hide_experimental: flag.default(false),
	include_deprecated: flag.default(false),
	page: count.default(1),
	per_page: count.refine((perPage) => perPage <= MAX_PER_PAGE).default(DEFAULT_PER_PAGE),
});
type Query = z.output<typeof Query>;

const EXPECTED: Record<string, string> = {
	source: "a whole number",
	hide_experimental: "'true' or 'false'",
	include_deprecated: "'true' or 'false'",
	page: "a whole number from 1",
	per_page: `a whole number from 1 to ${MAX_PER_PAGE}`,
};

/** One page of the models that fit; a page after the last is empty. Throws `badInput`. */
export function search(
	catalog: Catalog,
	query: Readonly<Record<string, string | undefined>>,
	now: number,
): SearchResult {
	const asked = parseQuery(query);
	const found = catalog.all.filter((model) => fits(model, asked, now));
	const { page, per_page } = asked;
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

/** An empty parameter is an absent one, as forms send them. */
function parseQuery(query: Readonly<Record<string, string | undefined>>): Query {
	const parsed = Query.safeParse(
		Object.fromEntries(Object.entries(query).filter(([, value]) => value !== "")),
	);
	if (parsed.success) return parsed.data;
	const fields = [...new Set(parsed.error.issues.map(({ path }) => String(path[0])))];
	const findings = fields.map((field) => `'${field}' must be ${EXPECTED[field]}`);
	throw new AiError("badInput", `Error: ${findings.join(", ")}`);
}

function fits(model: Model, asked: Query, now: number): boolean {
	return (
		isListed(model, now, asked.include_deprecated) &&
		(asked.source === undefined || model.source === asked.source) &&
		(asked.author === undefined || same(model.author, asked.author)) &&
		(asked.task === undefined || same(model.task, asked.task)) &&
		!(asked.hide_experimental && model.capabilities.includes("beta")) &&
		(asked.search === undefined || mentions(model, asked.search))
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

export function searchModel(model: Model): SearchModel {
	return {
		id: model.uuid,
		source: model.source,
		name: model.id,
		description: model.description,
		task: TASKS[model.task],
		...(model.created && { created_at: `${model.created} 00:00:00.000` }),
		tags: model.tags,
		properties: properties(model),
	};
}

/** The capabilities that are properties of the product's models; the others it does not show. */
const FLAG_PROPERTIES: readonly Capability[] = [
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
			prices.map(({ unit, usd }) => ({ unit, price: usd, currency: "USD" })),
		);
	return list;
}

export const taskList = (): TaskEntry[] => Object.values(TASKS);

/** Everyone with a model in the catalogue, in alphabetical order; `name` is what `author` takes. */
export function authorList(catalog: Catalog): { name: string }[] {
	const names = new Set(catalog.all.map(({ author }) => author).filter((author) => author !== ""));
	return [...names].sort().map((name) => ({ name }));
}
