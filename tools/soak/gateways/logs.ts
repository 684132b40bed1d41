/** The logs of a gateway, by its API. */
import { Gateway } from "../gateway.ts";

/** Fields that the audit reads. */
export interface LogRow {
	id: string;
	status_code: number;
	success: boolean;
	cached: boolean;
	step: number;
	model: string;
	tokens_in: number | null;
	tokens_out: number | null;
	/** US dollars. */
	cost?: number;
	metadata?: { request?: number };
}

const PER_PAGE = 50;

/** All rows, the oldest first. */
export async function logsOf(
	url: string,
	{ account, gateway }: { account: string; gateway: string },
): Promise<LogRow[]> {
	const rows: LogRow[] = [];
	for (let page = 1; ; page++) {
		const query = `page=${page}&per_page=${PER_PAGE}&order_by_direction=asc`;
		const response = await fetch(
			`${url}/client/v4/accounts/${account}/ai-gateway/gateways/${gateway}/logs?${query}`,
			{ headers: { authorization: Gateway.operator } },
		);
		if (!response.ok) throw new Error(`logs of ${account}/${gateway}: HTTP ${response.status}`);
		const { result } = (await response.json()) as { result: LogRow[] };
		rows.push(...result);
		if (result.length < PER_PAGE) return rows;
	}
}
