/** Bodies and queries of the routes that manage accounts. An invalid field is reported by its path, as 1001. */
import type * as z from "zod";
import { AiError } from "../core/errors.ts";
import { type FieldNote, fieldNotes, ignoredFields } from "../core/field-notes.ts";
import { isRecord } from "../core/json.ts";
import { shortened } from "../core/shortened.ts";
import { explain } from "../schemas/explain.ts";
import { ignoredIn } from "../schemas/ignored-fields.ts";
import { curableIssues } from "../schemas/misnamed.ts";
import { safeParse } from "../schemas/safe-parse.ts";
import { type BodyServices, readJson } from "./body.ts";
import { envelope } from "./envelope.ts";

/** These routes take short JSON only. */
const MAX_BODY_BYTES = 64 * 1024;

const MAX_REPORTED_ISSUES = 8;

/**
 * Throws 1001 with all invalid fields: `policies[0].effect: expected "allow" or "deny", found …; name: …`. An issue without a
 * field has `source` as its path. The message contains only names and numbers of the request (`src/schemas/explain.ts`).
 */
export function parseFields<T>(schema: z.ZodType<T>, fields: unknown, source: "body" | "query"): T {
	const result = safeParse(schema, fields, { error: explain });
	if (result.success) return result.data;
	// A long list may have an issue for each item.
	const first = result.error.issues.slice(0, MAX_REPORTED_ISSUES);
	const problems = curableIssues(first, schema, fields).flatMap((issue) => {
		if (issue.code !== "unrecognized_keys") return `${fieldOf(issue.path) || source}: ${issue.message}`;
		const lines = issue.message.split("\n");
		return issue.keys.map((key, index) => `${fieldOf([...issue.path, key])}: ${lines[index]}`);
	});
	throw new AiError("invalidRequest", problems.slice(0, MAX_REPORTED_ISSUES).join("; "));
}

const fieldOf = (path: readonly PropertyKey[]): string =>
	path
		.map((key) => (typeof key === "number" ? `[${key}]` : `.${shortened(String(key))}`))
		.join("")
		.replace(/^\./, "");

const readShortJson = (request: Request, { limits, startTimer }: BodyServices): Promise<unknown> =>
	readAccountJson(request, {
		limits: { ...limits, jsonBytes: Math.min(MAX_BODY_BYTES, limits.jsonBytes) },
		startTimer,
	});

/** The fields of the body. Throws 1001, as {@link parseFields}. */
export const readFields = async <Fields>(
	schema: z.ZodType<Fields>,
	request: Request,
	services: BodyServices,
): Promise<Fields> => parseFields(schema, await readShortJson(request, services), "body");

/** As `readJson`, for routes that are not of the inference plane: its failures become 1001. */
export async function readAccountJson(request: Request, services: BodyServices): Promise<unknown> {
	try {
		return await readJson(request, services);
	} catch (error) {
		if (error instanceof AiError && error.failure.plane === "inference" && error.status < 500)
			throw new AiError(
				error.key === "requestTooLarge" ? "fieldsTooLarge" : "invalidRequest",
				error.description.replace(/^Error: /, ""),
			);
		throw error;
	}
}

/** The body of a request that stores an object. */
export interface StoredFields<Fields> {
	fields: Fields;
	/** The fields of the body that are not stored. `shown`: the stored object, as the answer shows it. */
	notes(shown: object): FieldNote[];
	/** The answer, whose `messages` name these fields. */
	answer(shown: object): Response;
}

/** `schema`: of an object whose unknown fields are ignored, which the answer tells. Throws 1001 for invalid fields. */
export async function readStored<Fields>(
	schema: z.ZodType<Fields> & { shape: object },
	request: Request,
	services: BodyServices,
): Promise<StoredFields<Fields>> {
	const sent = await readShortJson(request, services);
	const fields = parseFields(schema, sent, "body");
	const known = Object.keys(schema.shape);
	const inner = isRecord(sent) ? Object.fromEntries(known.map((name) => [name, sent[name]])) : {};
	const notes = (shown: object): FieldNote[] => [
		...ignoredFields(sent, known, shown),
		...fieldNotes(ignoredIn(schema, inner, { shown })),
	];
	return { fields, notes, answer: (shown) => envelope(shown, { messages: notes(shown) }) };
}
