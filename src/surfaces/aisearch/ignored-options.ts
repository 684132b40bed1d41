/**
 * Fields of a search or a chat that have no effect. The envelope of a search has sentences about them. A chat has OpenAI's format, without a
 * place for sentences, so a header has their names. The results of bindings have neither: a gateway for development writes them to its log.
 */
import type * as z from "zod";
import { ignoredFieldsIn, ignoredIn } from "../../schemas/ignored-fields.ts";
import type { AppServices } from "../services.ts";
import type { NotedResult } from "./lexical-scores.ts";

const ABOUT = "AI Search";
const DROPPED_HEADER = "x-ganglion-dropped";
/** Of the fields that the header can name: it has ASCII, and commas between the names. */
const NAMEABLE_PATH = /^[\w.[\]-]{1,128}$/;

interface HintedCall {
	services: Pick<AppServices, "hint">;
}

/** `sent`: the body, whose unknown fields the schema ignores. */
export function withIgnored<Result>(
	noted: NotedResult<Result>,
	schema: z.ZodType,
	sent: unknown,
	{ services }: HintedCall,
): NotedResult<Result> {
	const ignored = ignoredIn(schema, sent);
	services.hint?.(ABOUT, ignored);
	return { ...noted, notes: new Set([...ignored, ...(noted.notes ?? [])]) };
}

/** `isLoose`: the engine reads the unknown fields of the body. Its answer may have the header, too. */
export function withDropped(
	response: Response,
	schema: z.ZodType,
	sent: unknown,
	{ services, isLoose = false }: HintedCall & { isLoose?: boolean },
): Response {
	const ignored = ignoredFieldsIn(schema, sent, { isLoose });
	services.hint?.(
		ABOUT,
		ignored.map(({ note }) => note),
	);
	const names = ignored.map(({ path }) => path).filter((path) => NAMEABLE_PATH.test(path));
	const before = response.headers.get(DROPPED_HEADER);
	if (names.length > 0)
		response.headers.set(DROPPED_HEADER, [...(before === null ? [] : [before]), ...names].join(", "));
	return response;
}
