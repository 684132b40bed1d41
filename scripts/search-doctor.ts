/** `ganglion doctor`: whether the search providers of `WEB_SEARCH` can be reached. Sends one GET request to each, without its key, and no search. */
import type { Config } from "../src/config/index.ts";
import { SIMULATOR } from "../src/websearch/simulated-search.ts";
import { causeOf, type Finding, TIMEOUT_MS } from "./engines/doctor.ts";

export function examineSearch({ webSearch }: Pick<Config, "webSearch">, fetcher = fetch): Promise<Finding[]> {
	const providers = [...(webSearch?.providers.values() ?? [])].filter(({ kind }) => kind !== SIMULATOR);
	return Promise.all(
		providers.map(async ({ name, url }): Promise<Finding> => {
			const found = { backend: `WEB_SEARCH.${name}`, url, check: "reachable" } as const;
			try {
				const answer = await fetcher(url, { redirect: "manual", signal: AbortSignal.timeout(TIMEOUT_MS) });
				await answer.body?.cancel();
				return { ...found, result: "ok", detail: `HTTP ${answer.status}` };
			} catch (error) {
				return { ...found, result: "failed", detail: `no answer: ${causeOf(error)}` };
			}
		}),
	);
}
