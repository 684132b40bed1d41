import * as z from "zod";
import { parseRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";

/** What Llama Guard answers. `categories`: hazards, `S1` to `S14`; may be empty for an unsafe text. */
export interface Verdict {
	safe: boolean;
	categories: string[];
}

const Written = lazy(() => z.object({ safe: z.boolean(), categories: z.array(z.string()).default([]) }));

/** Reads the two lines of Llama Guard, or the JSON of a model that replaces it. `undefined`: the text is something else. */
export function verdictIn(text: string): Verdict | undefined {
	const [, verdict] = /^\s*(safe|unsafe)\b/i.exec(text) ?? [];
	if (!verdict) return Written().safeParse(parseRecord(text)).data;
	const safe = verdict.toLowerCase() === "safe";
	return { safe, categories: safe ? [] : (text.match(/\bS\d{1,2}\b/g) ?? []) };
}
