/** Queries of logs: AI Gateway's filters, order, search and pages, and their conditions in SQL. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { textFlag } from "../../schemas/text-flag.ts";
import { idPrefix } from "./log-row.ts";

/** Columns of each type, by the name of their filter. */
const TEXT = {
	id: "logs.id",
	request_content_type: "request_content_type",
	response_content_type: "response_content_type",
	request_type: "request_type",
	provider: "provider",
	model: "model",
	model_type: "model_type",
	event_id: "coalesce(event_id, logs.id)",
	dlp_action: "dlp_action",
	user_agent: "user_agent",
} as const;
const NUMBERS = {
	cost: "cost",
	tokens: "coalesce(tokens_in + tokens_out, tokens_in, tokens_out)",
	tokens_in: "tokens_in",
	tokens_out: "tokens_out",
	duration: "duration",
	feedback: "feedback",
} as const;
const FLAGS = {
	success: "success",
	cached: "cached",
	authentication: "authentication",
	wholesale: "wholesale",
	byok: "coalesce(byok, 0)",
	usage_estimated: "coalesce(usage_estimated, 0)",
	compatibilityMode: "compatibility_mode",
} as const;
const METADATA = { "metadata.key": "key", "metadata.value": "value" } as const;

const keysOf = <T extends object>(columns: T): (keyof T & string)[] =>
	Object.keys(columns) as (keyof T & string)[];

const Operator = lazy(() => z.enum(["eq", "neq", "contains", "lt", "gt"]));
type Operator = z.infer<ReturnType<typeof Operator>>;

const MAX_VALUES = 50;
const MAX_FILTERS = 20;
const MAX_TEXT = 1_000;

const values = <T extends z.ZodType>(value: T) => z.array(value).min(1).max(MAX_VALUES);
const flag = lazy(() =>
	z.union([z.boolean(), textFlag(), z.union([z.literal(0), z.literal(1)]).transform(Boolean)]),
);
/** A query string has an empty text in place of null. */
const nothing = lazy(() => z.union([z.null(), z.literal("").transform(() => null)]));
const number = lazy(() =>
	z.union([
		z.number(),
		z
			.string()
			.regex(/^-?\d+(?:\.\d+)?(?:e[-+]?\d+)?$/i)
			.transform(Number),
	]),
);
const text = lazy(() =>
	z.union([z.string(), z.number(), z.boolean()]).transform(String).pipe(z.string().max(MAX_TEXT)),
);
/** ISO 8601, or epoch milliseconds. */
const time = lazy(() =>
	z
		.union([z.number(), z.string().transform((text) => Date.parse(text))])
		.pipe(z.number("expected a time in ISO 8601, or milliseconds since 1970")),
);

const equality = lazy(() => Operator().extract(["eq", "neq"]));
const comparison = lazy(() => Operator().exclude(["contains"]));

const LogFilter = lazy(() =>
	z.discriminatedUnion("key", [
		z.object({
			key: z.enum(keysOf(TEXT)),
			operator: Operator(),
			value: values(z.union([nothing(), text()])),
		}),
		z.object({ key: z.enum(keysOf(METADATA)), operator: Operator(), value: values(text()) }),
		z.object({
			key: z.enum(keysOf(NUMBERS)),
			operator: comparison(),
			value: values(z.union([nothing(), number()])),
		}),
		z.object({ key: z.enum(keysOf(FLAGS)), operator: equality(), value: values(flag()) }),
		z.object({ key: z.literal("created_at"), operator: comparison(), value: values(time()) }),
	]),
);
type LogFilter = z.infer<ReturnType<typeof LogFilter>>;
export const LogFilters = lazy(() => z.array(LogFilter()).max(MAX_FILTERS));

export const LIST_ORDERS = ["created_at", "provider", "model", "model_type", "success", "cached"] as const;
export const DELETE_ORDERS = [
	...LIST_ORDERS,
	"cost",
	"tokens_in",
	"tokens_out",
	"duration",
	"feedback",
] as const;
type LogOrder = (typeof DELETE_ORDERS)[number];

export interface LogQuery {
	filters: readonly LogFilter[];
	/** Part of a key or value of the metadata, in any case. */
	search?: string | undefined;
	orderBy: LogOrder;
	direction: "asc" | "desc";
}

interface LogSelection {
	/** SQL after `SELECT …`. */
	sql: string;
	values: (string | number)[];
}

/** A part of SQL with the values of its `?`. */
interface Condition {
	sql: string;
	values: (string | number)[];
}

/** The clauses `FROM`, `WHERE` and, for `ordered`, `ORDER BY`. */
export function selectionOf(
	{ filters, search, orderBy, direction }: LogQuery,
	{ ordered }: { ordered: boolean },
): LogSelection {
	const joined = filters.filter(isJoin);
	const joins = joined.map((filter, index) => joinOf(filter, `m${index}`));
	const conditions = filters.filter((filter) => !isJoin(filter)).map(conditionOf);
	if (search) conditions.push(searchOf(search));
	// The index of the joined table has the order of ids. SQLite sorts all rows if the clause names the other table's column.
	const id = joins.length > 0 ? "m0.log" : "logs.id";
	const columns = orderBy === "created_at" ? [id] : [`logs.${orderBy}`, id];
	const order = columns.map((column) => `${column} ${direction}`).join(", ");
	return {
		sql: [
			"FROM",
			[...joins.map((_, index) => `log_metadata AS m${index}`), "logs"].join(" CROSS JOIN "),
			"WHERE",
			["true", ...[...joins, ...conditions].map(({ sql }) => `(${sql})`)].join(" AND "),
			...(ordered ? [`ORDER BY ${order}`] : []),
		].join(" "),
		values: [...joins, ...conditions].flatMap((condition) => condition.values),
	};
}

type MetadataFilter = Extract<LogFilter, { key: keyof typeof METADATA }>;

/** Whether an index of the metadata finds the rows in their order. */
const isJoin = (filter: LogFilter): filter is MetadataFilter =>
	isMetadata(filter) && filter.operator === "eq" && filter.value.length === 1;

const isMetadata = (filter: LogFilter): filter is MetadataFilter => Object.hasOwn(METADATA, filter.key);

function joinOf({ key, value: [value = ""] }: MetadataFilter, alias: string): Condition {
	const matches = `logs.id = ${alias}.log AND ${alias}.${METADATA[key]} = ?`;
	if (key === "metadata.key") return { sql: matches, values: [value] };
	// Several keys of a log may have the value. The first one stands for the log.
	const first = `SELECT min(key) FROM log_metadata WHERE log = ${alias}.log AND value = ?`;
	return { sql: `${matches} AND ${alias}.key = (${first})`, values: [value, value] };
}

function conditionOf(filter: LogFilter): Condition {
	if (isMetadata(filter)) {
		const { key, operator, value } = filter;
		const any = comparisonOf(`m.${METADATA[key]}`, operator === "neq" ? "eq" : operator, value);
		const exists = `EXISTS (SELECT 1 FROM log_metadata AS m WHERE m.log = logs.id AND (${any.sql}))`;
		return { sql: operator === "neq" ? `NOT ${exists}` : exists, values: any.values };
	}
	if (filter.key === "created_at") return timeCondition(filter.operator, filter.value);
	if (filter.key === "event_id" && filter.operator === "eq") return eventCondition(filter.value);
	if (isFlag(filter)) return comparisonOf(FLAGS[filter.key], filter.operator, filter.value.map(Number));
	const column = { ...TEXT, ...NUMBERS }[filter.key];
	return comparisonOf(column, filter.operator, filter.value);
}

/** The condition of the column `event_id` in {@link TEXT}, in a form for which SQLite uses its index. */
function eventCondition(values: readonly (string | null)[]): Condition {
	const [events, ids] = ["event_id", "logs.id"].map((column) =>
		comparisonOf(column, "eq", values.filter(Boolean)),
	);
	return {
		sql: `${events?.sql} OR (event_id IS NULL AND (${ids?.sql}))`,
		values: [...(events?.values ?? []), ...(ids?.values ?? [])],
	};
}

type FlagFilter = Extract<LogFilter, { key: keyof typeof FLAGS }>;
const isFlag = (filter: LogFilter): filter is FlagFilter => Object.hasOwn(FLAGS, filter.key);

/** Several values: any of them matches; for `neq`, none of them is equal. */
function comparisonOf(
	column: string,
	operator: Operator,
	values: readonly (string | number | null)[],
): Condition {
	const present = values.filter((value) => value !== null);
	const hasNull = present.length < values.length;
	if (operator === "neq") {
		const equal = comparisonOf(column, "eq", values);
		// A row without a value differs from every value.
		return { sql: `(${equal.sql}) IS NOT TRUE`, values: equal.values };
	}
	const isNull = hasNull && operator === "eq" ? ` OR ${column} IS NULL` : "";
	if (present.length < 2) {
		const [sql = "false"] = present.map(() => OPERATORS[operator](column, "?"));
		return { sql: sql + isNull, values: present };
	}
	// One list as JSON: a statement of a Durable Object may have 100 values, and expressions of a bounded depth.
	const list = "SELECT value FROM json_each(?)";
	const sql =
		operator === "eq"
			? `${column} IN (${list})`
			: `EXISTS (${list} WHERE ${OPERATORS[operator](column, "value")})`;
	return { sql: sql + isNull, values: [JSON.stringify(present)] };
}

const OPERATORS: Readonly<Record<Exclude<Operator, "neq">, (column: string, value: string) => string>> = {
	eq: (column, value) => `${column} = ${value}`,
	contains: (column, value) => `instr(lower(${column}), lower(${value})) > 0`,
	lt: (column, value) => `${column} < ${value}`,
	gt: (column, value) => `${column} > ${value}`,
};

/** The time of a row is the beginning of its id, so the primary key finds it. */
function timeCondition(operator: Exclude<Operator, "contains">, times: readonly number[]): Condition {
	const after = (time: number): string => idPrefix(Math.floor(time) + 1);
	switch (operator) {
		case "lt": {
			const latest = Math.max(...times);
			return { sql: "logs.id < ?", values: [Number.isInteger(latest) ? idPrefix(latest) : after(latest)] };
		}
		case "gt":
			return { sql: "logs.id >= ?", values: [after(Math.min(...times))] };
		case "eq":
		case "neq": {
			const [time = 0] = times;
			const not = operator === "neq" ? "NOT " : "";
			if (times.length === 1)
				return { sql: `${not}(logs.id >= ? AND logs.id < ?)`, values: [idPrefix(time), after(time)] };
			const ranges = times.map((each) => [idPrefix(each), after(each)]);
			const isIn = "logs.id >= value ->> 0 AND logs.id < value ->> 1";
			return {
				sql: `${not}EXISTS (SELECT 1 FROM json_each(?) WHERE ${isIn})`,
				values: [JSON.stringify(ranges)],
			};
		}
		default:
			return operator satisfies never;
	}
}

const searchOf = (search: string): Condition => ({
	sql: `EXISTS (SELECT 1 FROM log_metadata AS m WHERE m.log = logs.id
		AND (instr(lower(m.key), lower(?)) > 0 OR instr(lower(m.value), lower(?)) > 0))`,
	values: [search, search],
});
