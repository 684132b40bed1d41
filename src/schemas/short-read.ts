/**
 * Reads common values without zod. zod runs the schema of every field with an object of its own for each value, which for a
 * small chat costs more than to parse its JSON; a chat has forty fields, a request three.
 *
 * `shortRead` compiles the checks of a schema once, from its public definition. It either returns what zod would return, with the
 * fields in the same order, or nothing. Then zod decides, and writes the issues: for invalid values, and for valid ones that are
 * unusual. Fields of a kind that is not listed here are read by zod.
 */
import type * as z from "zod";
import { isRecord } from "../core/json.ts";

type Schema = z.core.$ZodType;
type Fields = Record<string, unknown>;

/** Zod has to decide. */
const UNDECIDED = Symbol("undecided");

interface Reader {
	/** Returns the output, or `UNDECIDED`. */
	read(value: unknown): unknown;
	/** Every value that `read` does not decide is invalid. */
	isExact?: true;
	/** For objects: keys without which a value is invalid. */
	required?: readonly string[];
}

/** `undefined`: zod reads the values of the schema. */
const readers = new WeakMap<Schema, Reader | undefined>();

/** `undefined`: zod has to read the value. */
export function shortRead<S extends z.ZodType>(schema: S, value: unknown): z.output<S> | undefined {
	const output = readerOf(schema)?.read(value);
	return output === UNDECIDED ? undefined : (output as z.output<S> | undefined);
}

/**
 * Reads an object schema behind `z.preprocess`, whose function only removes fields that are `null`.
 * `isAbsent`: whether a field with `null` is removed.
 */
export function readNullAsAbsent(
	schema: Schema,
	object: z.ZodObject,
	isAbsent: (name: string) => boolean,
): void {
	readers.set(schema, objectReader(object, isAbsent));
}

function readerOf(schema: Schema): Reader | undefined {
	if (!readers.has(schema)) readers.set(schema, newReader(schema));
	return readers.get(schema);
}

const exact = (accepts: (value: unknown) => boolean): Reader => ({
	read: (value) => (accepts(value) ? value : UNDECIDED),
	isExact: true,
});

function newReader(schema: Schema): Reader | undefined {
	const def = definitionOf(schema);
	switch (def.type) {
		case "string": {
			const hasLength = lengthCheck(def.checks);
			if (!hasLength || "format" in def || def.coerce) return undefined;
			return exact((value) => typeof value === "string" && hasLength(value));
		}
		case "number": {
			const isInRange = rangeCheck(def.checks);
			const { format } = def as { format?: unknown };
			if (!isInRange || def.coerce || (format !== undefined && format !== "safeint")) return undefined;
			const isNumber = format === undefined ? Number.isFinite : Number.isSafeInteger;
			return exact((value) => isNumber(value) && isInRange(value as number));
		}
		case "boolean":
			return hasChecks(def) || def.coerce ? undefined : exact((value) => typeof value === "boolean");
		case "enum":
		case "literal": {
			const { values } = schema._zod;
			return hasChecks(def) || !values ? undefined : exact((value) => values.has(value as string));
		}
		case "unknown":
			return hasChecks(def) ? undefined : exact(() => true);
		case "optional":
		case "default":
			return wrapped(def, undefined);
		case "nullable":
			return wrapped(def, null);
		case "array":
			return arrayReader(def);
		case "object":
			return objectReader(schema as z.ZodObject);
		case "union":
			return unionReader(def);
		case "pipe":
			return transformReader(def);
		default:
			return undefined;
	}
}

/** Every schema of zod is one of these types. */
const definitionOf = (schema: Schema): z.core.$ZodTypes["_zod"]["def"] =>
	(schema as z.core.$ZodTypes)._zod.def;

const hasChecks = ({ checks }: Pick<z.core.$ZodTypeDef, "checks">): boolean => (checks?.length ?? 0) > 0;

interface BoundCheck {
	check: string;
	minimum?: number;
	maximum?: number;
	value?: unknown;
	inclusive?: boolean;
}
type Checks = z.core.$ZodTypeDef["checks"];

const boundsOf = (checks: Checks): BoundCheck[] =>
	(checks ?? []).map((check) => check._zod.def as BoundCheck);

/** `undefined` if there are checks of another kind. */
function lengthCheck(checks: Checks): ((value: { length: number }) => boolean) | undefined {
	let [min, max] = [0, Number.POSITIVE_INFINITY];
	for (const { minimum, maximum } of boundsOf(checks)) {
		if (minimum !== undefined) min = Math.max(min, minimum);
		else if (maximum !== undefined) max = Math.min(max, maximum);
		else return undefined;
	}
	return ({ length }) => length >= min && length <= max;
}

/** `undefined` if there are checks of another kind. */
function rangeCheck(checks: Checks): ((value: number) => boolean) | undefined {
	let [min, max] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
	for (const { check, value, inclusive } of boundsOf(checks)) {
		if (!inclusive || typeof value !== "number") return undefined;
		if (check === "greater_than") min = Math.max(min, value);
		else if (check === "less_than") max = Math.min(max, value);
		else return undefined;
	}
	return (value) => value >= min && value <= max;
}

/** A value that is or becomes `undefined` is undecided: its meaning depends on the wrapper and on what is inside. */
function wrapped(
	def: z.core.$ZodTypeDef & { innerType: Schema },
	accepted: null | undefined,
): Reader | undefined {
	const inner = readerOf(def.innerType);
	if (!inner || hasChecks(def)) return undefined;
	return {
		read(value) {
			if (value === null && accepted === null) return null;
			const output = value === undefined ? undefined : inner.read(value);
			return output === undefined ? UNDECIDED : output;
		},
	};
}

function arrayReader(def: z.core.$ZodArrayDef): Reader | undefined {
	const item = readerOf(def.element);
	const hasLength = lengthCheck(def.checks);
	if (!item || !hasLength) return undefined;
	const { read } = item;
	return {
		read(value) {
			if (!Array.isArray(value) || !hasLength(value)) return UNDECIDED;
			const items: unknown[] = [];
			for (const sent of value) {
				const output = read(sent);
				if (output === UNDECIDED) return UNDECIDED;
				items.push(output);
			}
			return items;
		},
	};
}

/** The first option that accepts the value; for `z.xor`, the only option whose required keys the value has. */
function unionReader(def: z.core.$ZodUnionDef): Reader | undefined {
	if (hasChecks(def) || "discriminator" in def) return undefined;
	const options = def.options.map((option) => readerOf(option));
	if (def.inclusive === false)
		return {
			read(value) {
				if (!isRecord(value)) return UNDECIDED;
				const possible = options.filter((option) => option?.required?.every((key) => key in value) ?? true);
				return (possible.length === 1 && possible[0]?.read(value)) || UNDECIDED;
			},
		};
	return {
		read(value) {
			for (const option of options) {
				const output = option?.read(value) ?? UNDECIDED;
				if (output !== UNDECIDED) return output;
				if (!option?.isExact) return UNDECIDED;
			}
			return UNDECIDED;
		},
	};
}

/** `z.unknown().transform(convert)`. A function without a second parameter cannot report issues. */
function transformReader(def: z.core.$ZodPipeDef): Reader | undefined {
	const from = definitionOf(def.in);
	const to = definitionOf(def.out);
	if (hasChecks(def) || from.type !== "unknown" || hasChecks(from) || to.type !== "transform")
		return undefined;
	const convert: (value: unknown) => unknown = to.transform as never;
	if (convert.length > 1 || hasChecks(to)) return undefined;
	return { read: (value) => convert(value) };
}

interface Field {
	key: string;
	index: number;
	inner: Schema["_zod"];
	read: Reader["read"];
	/** Has no effect if absent. */
	isOptional: boolean;
}

/** `required`: those that are not optional. */
type FieldTable = { byKey: ReadonlyMap<string, Field>; required: readonly Field[] };

/** Plain and loose objects without refinements. */
function objectReader(schema: z.ZodObject, isAbsent?: (name: string) => boolean): Reader | undefined {
	const { checks = [], catchall } = schema._zod.def;
	const isLoose = catchall?._zod.def.type === "unknown";
	if (checks.length > 0 || (catchall && !isLoose)) return undefined;
	const { shape } = schema;
	/** Compiled at the first use, because a schema may contain itself. */
	let fields: FieldTable | undefined;
	const required = Object.entries(shape)
		.filter(([, field]) => REQUIRED_TYPES.has(field._zod.def.type))
		.map(([key]) => key);
	return {
		required,
		read(value) {
			if (!isRecord(value)) return UNDECIDED;
			fields ??= fieldTable(shape);
			const output = readFields(fields, value, isAbsent);
			if (output && isLoose) copyUnknown(value, shape, output);
			return output ?? UNDECIDED;
		},
	};
}

/** Types of which no value may be absent. */
const REQUIRED_TYPES: ReadonlySet<string> = new Set(["string", "number", "boolean", "array", "object"]);

function fieldTable(shape: z.ZodRawShape): FieldTable {
	const fields = Object.entries<Schema>(shape).map(([key, schema], index): Field => {
		const inner = schema._zod;
		return {
			...{ key, index, inner },
			read: readerOf(schema)?.read ?? ((value) => readByZod(inner, value)),
			isOptional: inner.optin === "optional" && inner.optout === "optional",
		};
	});
	const byKey = new Map(fields.map((field) => [field.key, field]));
	return { byKey, required: fields.filter(({ isOptional }) => !isOptional) };
}

function readByZod(inner: Schema["_zod"], value: unknown): unknown {
	const result = inner.run({ value, issues: [] }, { async: false });
	return result instanceof Promise || result.issues.length > 0 ? UNDECIDED : result.value;
}

/** Looks only at fields that are sent or not optional. Returns `undefined` if zod has to decide. */
function readFields(
	{ byKey, required }: FieldTable,
	sent: Fields,
	isAbsent: ((name: string) => boolean) | undefined,
): Fields | undefined {
	const fields = [...required];
	for (const key in sent) {
		const field = byKey.get(key);
		if (field?.isOptional) fields.push(field);
	}
	if (fields.length > 1) fields.sort((one, other) => one.index - other.index);
	const output: Fields = {};
	for (const { key, inner, read, isOptional } of fields) {
		const value = sent[key];
		const isPresent = value === undefined ? key in sent : value !== null || !isAbsent?.(key);
		if (!isPresent && isOptional) continue;
		const result = isPresent && value !== undefined ? read(value) : readByZod(inner, undefined);
		if (result === UNDECIDED || (!isPresent && inner.optin === undefined)) return undefined;
		if (result !== undefined || isPresent || hasDefault(inner)) output[key] = result;
	}
	return output;
}

const hasDefault = ({ optin, optout }: Schema["_zod"]): boolean =>
	optin === "defaulted" && optout !== "optional";

function copyUnknown(sent: Fields, shape: z.ZodRawShape, output: Fields): void {
	for (const key in sent) if (key !== "__proto__" && !Object.hasOwn(shape, key)) output[key] = sent[key];
}
