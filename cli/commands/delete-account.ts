/** `ganglion accounts delete`: deletes all data of an account. */
import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import { CommandError, type ConnectionFlags, GatewayClient } from "../gateway-client.ts";
import { showLine } from "../progress-line.ts";
import { printJson } from "../table.ts";

export interface DeleteAccountFlags extends ConnectionFlags {
	yes?: boolean;
}

const POLL_MS = 500;
const Deletion = z.object({
	state: z.enum(["absent", "deleting", "present"]),
	deleted: z.record(z.string(), z.number()),
	waiting: z.array(z.string()),
});

/** Waits for the end. The gateway goes on without this command. */
export async function deleteAccount(id: string, flags: DeleteAccountFlags): Promise<number> {
	if (!flags.yes)
		throw new CommandError(`This deletes all data of the account ${id}, for ever. Add --yes to do it.`);
	const client = new GatewayClient({ ...flags, account: id });
	let { deleted, state, waiting } = await client.result("/ai/data", Deletion, { method: "DELETE" });
	let shown = "";
	while (state === "deleting") {
		const left = waiting.length > 0 ? `, waiting for ${waiting.join(", ")}` : "";
		if (process.stderr.isTTY) shown = showLine(`${total(deleted)} rows deleted${left}`, shown, false);
		await wait(POLL_MS);
		({ deleted, state, waiting } = await client.result("/ai/data", Deletion));
	}
	if (process.stderr.isTTY) showLine(`${total(deleted)} rows deleted`, shown, true);
	if (flags.json) printJson({ account: id, deleted });
	else console.log(`The data of the account ${id} are deleted: ${total(deleted)} rows and objects`);
	return 0;
}

const total = (deleted: Readonly<Record<string, number>>): number =>
	Object.values(deleted).reduce((sum, rows) => sum + rows, 0);
