/** What the handlers of AI Search's routes read of a request. */
import type { Context } from "hono";
import * as z from "zod";
import { FAILURES } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { parseFields, readAccountJson } from "../../http/account-request.ts";
import { envelope, failureEnvelope } from "../../http/envelope.ts";
import type { FailureFormat } from "../../http/failure-formats.ts";
import { pathParameter } from "../../http/route.ts";
import { DEFAULT_LISTED, MAX_LISTED } from "../../retrieval/search/limits.ts";
import { DEFAULT_NAMESPACE } from "../../retrieval/search/records.ts";
import { ACCOUNT, below } from "../bases.ts";
import type { AppCall } from "../route.ts";
import { pageJson } from "./json.ts";
import type { SearchedCall } from "./search-operations.ts";

const SEARCH = below(ACCOUNT, "/ai-search");
export const NAMESPACES = below(SEARCH, "/namespaces");
/** The instances of a namespace, and those of the namespace `default`. */
export const INSTANCES = [below(NAMESPACES, "/:namespace/instances"), below(SEARCH, "/instances")];
export const TOKENS = below(SEARCH, "/tokens");
export const TAG = "AI Search";
export const JSON_INPUT = { type: "application/json" } as const;

/** AI Search's failures have an empty object as `result`. Those of the product's edge have `null`. */
export const failure: FailureFormat = (error, requestId) =>
	failureEnvelope(error, requestId, error.code === FAILURES.authentication.code ? {} : { result: {} });

export const namespaceIn = (c: Context): string => pathParameter(c, "namespace") || DEFAULT_NAMESPACE;

/** Throws 7002. */
export async function instanceCall(c: Context, { caller, services }: AppCall): Promise<SearchedCall> {
	const id = pathParameter(c, "instance");
	const instance = await services.searchInstances.open(caller.account, namespaceIn(c), id);
	return { caller, instance, services, signal: c.req.raw.signal };
}

export const bodyOf = (c: Context, { services }: AppCall): Promise<unknown> =>
	readAccountJson(c.req.raw, services);

/** A whole number of a query. */
export const whole = (max: number, otherwise: number, min = 1) =>
	z
		.string()
		.regex(/^\d{1,9}$/, `expected a whole number from ${min} to ${max}`)
		.transform(Number)
		.pipe(z.number().min(min).max(max))
		.default(otherwise);

const MAX_PAGE = 1_000_000;

export const PageQuery = lazy(() =>
	z.object({ page: whole(MAX_PAGE, 1), per_page: whole(MAX_LISTED, DEFAULT_LISTED) }),
);

export const queryOf = <T>(schema: z.ZodType<T>, c: Context): T =>
	parseFields(schema, c.req.query(), "query");

/** A page with its `result_info`. */
export function pageEnvelope<Value>(...page: Parameters<typeof pageJson<Value>>): Response {
	const { result, result_info } = pageJson(...page);
	return envelope(result, { result_info });
}
