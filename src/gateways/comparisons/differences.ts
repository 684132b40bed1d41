/** The differences of two JSON values, by JSON path (RFC 9535). Items of lists are compared by their index. */
import diff from "microdiff";
import { isRecord } from "../../core/json.ts";
import type { Difference } from "./records.ts";

/** Further ones are left out. */
const MAX_DIFFERENCES = 100;
const MAX_VALUE_CHARACTERS = 300;
const MAX_PATH_CHARACTERS = 200;
const NAME = /^[A-Za-z_][\w]*$/;

/** `isComplete`: there are no further ones. `undefined`: the values are nested too deeply. */
export function differencesOf(
	before: unknown,
	after: unknown,
): { differences: Difference[]; isComplete: boolean } | undefined {
	try {
		// Below one name, so that values of different kinds are compared, too. JSON has no cycles.
		const found = diff(bare({ value: before }), bare({ value: after }), { cyclesFix: false });
		return {
			differences: found.slice(0, MAX_DIFFERENCES).map((difference) => ({
				path: short(pathOf(difference.path.slice(1)), MAX_PATH_CHARACTERS),
				...valuesOf(difference),
			})),
			isComplete: found.length <= MAX_DIFFERENCES,
		};
	} catch (error) {
		if (error instanceof RangeError) return undefined;
		throw error;
	}
}

/** Without prototypes, whose names `microdiff` would find in every object. */
function bare<Value>(value: Value): Value;
function bare(value: unknown): unknown {
	if (Array.isArray(value)) return value.map((item) => bare(item));
	if (!isRecord(value)) return value;
	const copy: Record<string, unknown> = Object.create(null);
	for (const [name, item] of Object.entries(value)) copy[name] = bare(item);
	return copy;
}

type Found = ReturnType<typeof diff>[number];

function valuesOf(difference: Found): Omit<Difference, "path"> {
	switch (difference.type) {
		case "CREATE":
			return { kind: "added", after: shown(difference.value) };
		case "REMOVE":
			return { kind: "removed", before: shown(difference.oldValue) };
		case "CHANGE":
			return { kind: "changed", before: shown(difference.oldValue), after: shown(difference.value) };
		default:
			return difference satisfies never;
	}
}

const shown = (value: unknown): string => short(JSON.stringify(value), MAX_VALUE_CHARACTERS);

const short = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}…`);

const pathOf = (names: readonly (string | number)[]): string =>
	names.reduce<string>((path, name) => {
		if (typeof name === "number") return `${path}[${name}]`;
		return NAME.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
	}, "$");
