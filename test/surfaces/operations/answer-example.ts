/** Examples of answers: how they are recorded, and whether they still have the fields of the answers. */

type Fields = Record<string, unknown>;

/** Matches the text of a token, which tools would report as a secret in the repository. */
const SECRET = /^(?<head>glt_[a-z]+_)\w{20,}$/;
const MAX_ITEMS = 2;
const MAX_TEXT = 300;
/** Of a vector. */
const MAX_NUMBERS = 4;

const isRecord = (value: unknown): value is Fields =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** The answer without its later items, and without the ends of its texts. */
export function recorded(value: unknown): unknown {
	if (typeof value === "string")
		return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value.replace(SECRET, "$<head>…");
	if (Array.isArray(value)) {
		const items = value.every((each) => typeof each === "number") ? MAX_NUMBERS : MAX_ITEMS;
		return value.slice(0, items).map(recorded);
	}
	if (!isRecord(value)) return value;
	return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, recorded(field)]));
}

/** Whether the values have the same fields with the same types. `null` and an empty list have any type. */
export function sameFields(one: unknown, other: unknown): boolean {
	if (one === null || other === null) return one !== undefined && other !== undefined;
	if (Array.isArray(one) && Array.isArray(other))
		return one.length === 0 || other.length === 0 || sameFields(one[0], other[0]);
	if (!isRecord(one) || !isRecord(other)) return typeof one === typeof other && !isRecord(one);
	const names = fieldsOf(one);
	return (
		names.length === fieldsOf(other).length &&
		names.every((name) => name in other && sameFields(one[name], other[name]))
	);
}

/** A page has the cursor only if another one follows, and a report of usage has the others only if vectors were queried in its time. */
const SOMETIMES = new Set(["cursor", "vector_queries", "queried_dimensions", "stored_dimensions"]);
const fieldsOf = (value: Fields): string[] => Object.keys(value).filter((name) => !SOMETIMES.has(name));
