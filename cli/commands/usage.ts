/** `ganglion usage`: what the account used, and what it cost. */
import * as z from "zod";
import { type ConnectionFlags, GatewayClient, ifAllowed, queryText } from "../gateway-client.ts";
import { printJson, table } from "../table.ts";
import { allTokens } from "./token.ts";

export interface UsageFlags extends ConnectionFlags {
	/** `YYYY-MM-DD` */
	from?: string;
	to?: string;
	/** Comma-separated. */
	by: string;
}

const Row = z.record(z.string(), z.union([z.string(), z.number(), z.null()]));
const Usage = z.object({
	result: z.array(Row),
	result_info: z.looseObject({ from: z.string(), to: z.string(), totals: Row }),
});
const COUNTS = ["requests", "failed", "input_tokens", "cached_tokens", "output_tokens", "neurons"];

export async function usageCommand(flags: UsageFlags): Promise<number> {
	const query = queryText({ from: flags.from, to: flags.to, group_by: flags.by });
	const client = new GatewayClient(flags);
	const { result, result_info } = await client.envelope(`/ai/usage${query}`, Usage);
	if (flags.json) {
		printJson({ rows: result, ...result_info });
		return 0;
	}
	const { from, to, totals } = result_info;
	const groups = flags.by.split(",");
	const tokens = groups.includes("token") ? await ifAllowed(allTokens(client), []) : [];
	const names = new Map<unknown, string>(tokens.map(({ id, name }) => [id, name]));
	const groupText = (value: unknown): string => {
		const name = names.get(value);
		return name === undefined ? String(value ?? "") : `${name} (${value})`;
	};
	const cells = (row: z.output<typeof Row>): (string | number)[] => [
		...groups.map((group) => groupText(row[group])),
		...COUNTS.map((count) => row[count] ?? 0),
	];
	const total = cells({ ...totals, [groups[0] ?? ""]: "total" });
	console.log(`${from} to ${to} (UTC)\n`);
	console.log(
		table(
			[...groups, ...COUNTS].map((title) => title.replaceAll("_", " ").toUpperCase()),
			[...result.map(cells), total],
		),
	);
	return 0;
}
