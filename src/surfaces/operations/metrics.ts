/**
 * `GET /metrics` for Prometheus. With a token: the account of the token. With the operator's credential: the accounts of
 * `?account=`, which may be repeated, or else the first 100 accounts, and the engines.
 *
 * Counters are sums over the days whose usage the account keeps. When the oldest day is deleted they decrease, which
 * Prometheus treats as a restart.
 */
import type { Context } from "hono";
import * as z from "zod";
import type { ReportedObject } from "../../accounts/used-objects.ts";
import { AiError, toAiError } from "../../core/errors.ts";
import { isObjectFailure } from "../../core/object-failure.ts";
import { present } from "../../core/present.ts";
import { ACCOUNT_ID } from "../../http/authenticate.ts";
import type { Bearer } from "../../http/credentials.ts";
import { limitStatusOf } from "../accounts/limits.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";
import { type AccountReport, metricsText } from "./metrics-text.ts";
import type { StorageReport, StoredReport } from "./storage-metrics.ts";
import { allReports, visible } from "./worker-reports.ts";

/** Each account costs three subrequests. A token, which has one account, costs one more for its verification. */
const MAX_ACCOUNTS = 100;

export const metricsRoutes: readonly AppRoute[] = defineRoutes({ bases: [{ path: "" }], tag: "Operations" }, [
	{
		method: "GET",
		path: "/metrics",
		summary: "Counters for Prometheus",
		query: () => z.object({ account: z.array(z.string()).optional() }),
		permission: "read",
		output: { type: "text/plain" },
		handler: metrics,
	},
]);

async function metrics(c: Context, { bearer, id, services }: AppCall): Promise<Response> {
	const { directory, log } = services;
	const requested = c.req.queries("account") ?? [];
	const isOperator = bearer.account === undefined;
	const accounts =
		isOperator && requested.length === 0
			? (await directory.list({ limit: MAX_ACCOUNTS })).accounts.map(({ id }) => id)
			: accountsFor(bearer, requested);
	const isListed = isOperator && requested.length === 0;
	const unreachable: string[] = [];
	const reports = accounts.map(async (account) => {
		// A report about all accounts leaves room for requests.
		if (isListed && !services.ledgers.of(account).mayReport) {
			unreachable.push(account);
			return [];
		}
		try {
			return [await reportOf(account, bearer, services)];
		} catch (thrown) {
			const error = toAiError(thrown);
			if (!isObjectFailure(error) && error.key !== "outOfCapacity") throw error;
			log(error, id);
			unreachable.push(account);
			return [];
		}
	});
	const available = (await Promise.all(reports)).flat();
	const reader = { isOperator, ...(!isListed && { accounts }) };
	const processes = visible(await allReports(services), reader);
	const storing = isListed ? [] : accounts.filter((account) => !unreachable.includes(account));
	const storage = await storageReport({ accounts, storing }, services);
	return new Response(metricsText({ accounts: available, unreachable, storage, ...processes }), {
		headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" },
	});
}

async function reportOf(
	account: string,
	{ credential }: Bearer,
	services: AppServices,
): Promise<AccountReport> {
	const ledger = services.ledgers.of(account);
	const [usage, refusals, status] = await Promise.all([
		ledger.usage({ by: ["model", "task", "backend"] }),
		ledger.refusals({ by: ["code", "task"] }),
		limitStatusOf({ account, credential }, services),
	]);
	return { account, usage, refusals, limits: status };
}

/**
 * What the storage of the accounts reports. `storing`: those whose stored objects, responses, files, vectors and AI Search are counted,
 * because a count opens up to five objects of an account.
 */
async function storageReport(
	{ accounts, storing }: { accounts: readonly string[]; storing: readonly string[] },
	services: AppServices,
): Promise<StorageReport> {
	const counts = await services.storage.queue.counts().catch((thrown: unknown): [] => {
		services.log(toAiError(thrown), "");
		return [];
	});
	const work = counts.filter(({ account }) => accounts.includes(account));
	const stored = storing.map((account) => storedReportOf(account, services));
	return { stored: await Promise.all(stored), work, now: Date.now() };
}

/** Opens only objects that the account uses, and leaves room for the objects of requests. */
async function storedReportOf(
	account: string,
	{ jobs, log, searchInstances, storage, storedResponses, usedObjects, vectorIndexes }: AppServices,
): Promise<StoredReport> {
	let isComplete = true;
	const failed = (thrown: unknown): undefined => {
		log(toAiError(thrown), "");
		isComplete = false;
	};
	const used = (await usedObjects.of(account).catch(failed)) ?? new Set<ReportedObject>();
	const read = async <T>(object: ReportedObject, usage: () => Promise<T>): Promise<T | undefined> => {
		if (!used.has(object)) return undefined;
		if (usedObjects.mayReport(account, object)) return usage().catch(failed);
		isComplete = false;
		return undefined;
	};
	const stores = (await read("BLOBS", () => storage.blobs(account).usage())) ?? [];
	const responses = await read("RESPONSE_STORE", () => storedResponses.usage(account));
	const files = await read("JOB_STORE", () => jobs.usage(account));
	const vectors = await read("VECTOR_REGISTRY", () => vectorIndexes.usage(account));
	const searches = await read("SEARCH_REGISTRY", () => searchInstances.usage(account));
	return { account, isComplete, stores, ...present({ responses, jobs: files, vectors, searches }) };
}

/** The accounts of the query. Without a query, the account of the token. Throws 403 for the account of another token. */
function accountsFor({ account: tokenAccount }: Bearer, requested: readonly string[]): string[] {
	const accounts = [
		...new Set(tokenAccount === undefined || requested.length > 0 ? requested : [tokenAccount]),
	];
	if (accounts.length > MAX_ACCOUNTS)
		throw new AiError("invalidRequest", `account: at most ${MAX_ACCOUNTS} accounts`);
	if (!accounts.every((account) => ACCOUNT_ID.test(account)))
		throw new AiError("invalidRequest", "account: not a valid account id");
	if (tokenAccount !== undefined && accounts.some((account) => account !== tokenAccount))
		throw new AiError("forbidden", "Authentication error: the token is for another account");
	return accounts;
}
