/** The settings of hosted search tools, as callers of all formats send them. A value of another type is refused with its place. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { invalidInput } from "../../dialects/invalid-input.ts";

export const ContextSize = lazy(() => z.enum(["low", "medium", "high"]).nullish());

/** Host names, with or without a path. */
export const Domains = lazy(() => z.array(z.string().min(1)).nullish());

export const Location = lazy(() =>
	z
		.looseObject({
			country: z
				.string()
				.regex(/^(?:[A-Za-z]{2})?$/, "expected a country code of two letters")
				.nullish(),
			city: z.string().nullish(),
			region: z.string().nullish(),
			timezone: z.string().nullish(),
		})
		.nullish(),
);

/** The place of a setting that excludes another one. */
export function refuseBoth(at: string, one: unknown, other: unknown): void {
	if (Array.isArray(one) && one.length > 0 && Array.isArray(other) && other.length > 0)
		throw invalidInput(`${at}: expected allowed_domains or blocked_domains, found both`);
}
