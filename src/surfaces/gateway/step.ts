/** A step of a request to a gateway, as the caller sent it: `{provider, endpoint, headers, query, config}`. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { mergedOptions, optionsInConfig, optionsInHeaders } from "../../gateways/options.ts";
import { endpointOf } from "../../gateways/providers/addresses.ts";
import type { Step } from "../../gateways/run/step.ts";
import { headersIn } from "../../http/request-options.ts";

const VISIBLE = /^[\x20-\x7e]*$/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~\w-]+$/;

const StepSchema = lazy(() =>
	z
		.object({
			provider: z.string(),
			endpoint: z.string(),
			headers: z.record(z.string(), z.unknown()).nullish(),
			query: z.unknown(),
			config: z.unknown().optional(),
			/** An older form of the header. */
			authorization: z.string().nullish(),
		})
		.transform(({ provider, endpoint, headers: record, query, config, authorization }): Step => {
			const headers = headersOf({ ...(authorization && { authorization }), ...record });
			if (!headers.has("content-type")) headers.set("content-type", "application/json");
			return {
				provider,
				endpoint: endpointOf(provider, endpoint, headers),
				options: mergedOptions(optionsInHeaders(headers), optionsInConfig(config)),
				headers: headersIn(record),
				inputs: { fields: query },
				sent: { method: "POST", headers, body: JSON.stringify(query) },
			};
		}),
);

/** Invalid names and values are ignored. A value may be a number, a boolean or an object. */
export function headersOf(record: Record<string, unknown>): Headers {
	const headers = new Headers();
	for (const [name, value] of Object.entries(record)) {
		const text = typeof value === "string" ? value : JSON.stringify(value);
		if (HEADER_NAME.test(name) && text !== undefined && VISIBLE.test(text)) headers.set(name, text);
	}
	return headers;
}

/** The product documents no limit. Without one, a single request could contain any number of runs. `retries.ts` bounds their attempts. */
const MAX_STEPS = 32;

export const Steps = lazy(() => z.array(StepSchema()).min(1).max(MAX_STEPS));

/** The body of a universal request. Throws 5006. */
export const readSteps = (body: unknown): Step[] => validate(Steps(), Array.isArray(body) ? body : [body]);
