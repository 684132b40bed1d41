/** The names of instances and namespaces. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { MAX_ID_CHARACTERS } from "./limits.ts";

export const Identifier = lazy(() =>
	z
		.string()
		.max(MAX_ID_CHARACTERS)
		.regex(/^[a-z0-9_]+(?:-[a-z0-9_]+)*$/, {
			error: `expected up to ${MAX_ID_CHARACTERS} lower-case letters, digits, "_", and single "-" between them`,
		}),
);
