import type { Api, Query } from "./client.ts";

const PER_PAGE = 50;

interface List {
	path: string;
	query?: Query;
	/** The rows of later pages are left out. */
	maxPages: number;
}

/** The rows of all pages of a list. */
export async function allRows<Row>(
	api: Api,
	{ path, query, maxPages }: List,
	signal?: AbortSignal,
): Promise<Row[]> {
	const rows: Row[] = [];
	for (let page = 1; page <= maxPages; page++) {
		const { result } = await api.get<Row[]>(path, { ...query, page, per_page: PER_PAGE }, signal);
		rows.push(...result);
		if (result.length < PER_PAGE) break;
	}
	return rows;
}
