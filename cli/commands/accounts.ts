/** `ganglion accounts move`: moves accounts to the shards of the present settings, or one to an object of its own. */
import * as z from "zod";
import { CommandError, type ConnectionFlags, GatewayClient } from "../gateway-client.ts";
import { progressBar, showLine } from "../progress-line.ts";
import { printJson } from "../table.ts";

export interface MoveFlags extends ConnectionFlags {
	own?: boolean;
}

const Accounts = z.object({
	result: z.array(z.object({ id: z.string() })),
	result_info: z.object({ cursor: z.string().optional() }),
});
const Place = z.object({ place: z.string(), moved: z.boolean() });

/** Without `--account`: all accounts, one after the other. An account is served while it moves. */
export async function moveAccounts(flags: MoveFlags): Promise<number> {
	if (flags.own && flags.account === undefined)
		throw new CommandError("--own: name the account that gets an object of its own with --account");
	const accounts =
		flags.account === undefined ? await allAccounts(new GatewayClient(flags)) : [flags.account];
	const body = { object: flags.own ? "own" : "shard" };
	let moved = 0;
	let shown = "";
	for (const [i, account] of accounts.entries()) {
		const client = new GatewayClient({ ...flags, account });
		const { moved: hasMoved } = await client.result("/ai/place", Place, { method: "PUT", body });
		if (hasMoved) moved++;
		const done = i + 1;
		const line = `${progressBar(done, accounts.length)} ${done} of ${accounts.length}, ${moved} moved`;
		if (process.stderr.isTTY) shown = showLine(line, shown, done === accounts.length);
	}
	if (flags.json) printJson({ accounts: accounts.length, moved });
	else console.log(`${accounts.length} accounts, ${moved} moved`);
	return 0;
}

async function allAccounts(client: GatewayClient): Promise<string[]> {
	const accounts: string[] = [];
	let cursor: string | undefined;
	do {
		const query = cursor === undefined ? "" : `?cursor=${encodeURIComponent(cursor)}`;
		const page = await client.operatorEnvelope(`/accounts${query}`, Accounts);
		accounts.push(...page.result.map(({ id }) => id));
		({ cursor } = page.result_info);
	} while (cursor !== undefined);
	return accounts;
}
