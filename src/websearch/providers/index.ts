/** The search APIs, by their names in `WEB_SEARCH` and in requests. A new one is a file and a row. */
import type { SearchProvider } from "../provider.ts";
import { brave } from "./brave.ts";
import { ceramic } from "./ceramic.ts";
import { exa } from "./exa.ts";
import { linkup } from "./linkup.ts";
import { searxng } from "./searxng.ts";
import { tavily } from "./tavily.ts";

export const SEARCH_PROVIDERS = {
	ceramic,
	exa,
	linkup,
	brave,
	tavily,
	searxng,
} as const satisfies Record<string, SearchProvider>;

export type SearchKind = keyof typeof SEARCH_PROVIDERS;
export const SEARCH_KINDS = Object.keys(SEARCH_PROVIDERS) as SearchKind[];
